"""Which of the user's variables a solution would replace if it ran now, and which of these its task treats as given.

Asked by a page before a solution's cell runs, by the result card at the end of a run, and before a cell with a solution
runs that no page asked about, as in front ends without our pages. What an earlier run of the same solution has bound is
not the user's, until another cell binds it anew.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from IPython.core.interactiveshell import InteractiveShell

from exploracoder_jupyter.core.run_state import RunState
from exploracoder_jupyter.core.types import Task
from exploracoder_jupyter.ipython_extension.calling_cell import find_caller
from exploracoder_jupyter.ipython_extension.mentioned_variables import MAX_NAMES, bound_names, find_replaced
from exploracoder_jupyter.protocol.browser_messages import FindReplaced, Replaced, ReplacedVariable

if TYPE_CHECKING:
    from exploracoder_jupyter.ipython_extension.running.followed_run import Run
    from exploracoder_jupyter.ipython_extension.running.kernel_runs import Runs

_RUN_AS_IS = re.compile(r"\s*%%(?:time|capture)\b.*\n")
"""The line of a magic that runs the rest of the cell in the user's namespace."""


class ReplacedVariables:
    """Follows the cells of one shell, so that it can tell the user's variables from those that a solution made."""

    def __init__(self, shell: InteractiveShell, runs: Runs) -> None:
        self._shell = shell
        self._kernel = getattr(shell, "kernel", None)
        self._runs = runs
        self._made: dict[str, dict[str, int]] = {}
        """The variables that a solution has bound, with the identity of their values, by its cell and by its code."""
        self._asked: set[tuple[str, str]] = set()
        """The cells, with their code, that a page has asked about and that have not run since."""
        self._before: dict[str, int] | None = None
        """If a solution is running, the identities of the values that it may replace."""
        shell.events.register("pre_run_cell", self._begin_cell)
        shell.events.register("post_run_cell", self._end_cell)

    def release(self) -> None:
        """Stop following the cells."""
        for event, callback in (("pre_run_cell", self._begin_cell), ("post_run_cell", self._end_cell)):
            with suppress(ValueError):
                self._shell.events.unregister(event, callback)

    def answer(self, message: FindReplaced) -> Replaced:
        """Answer a page; a run that this kernel does not know may have been made by an earlier one."""
        self._asked.add((message.cell, message.code))
        run = self._runs.find(message.run)
        task = run.state.task if run else None
        variables = self._find(message.code, task, cell=message.cell, given=message.given)
        return Replaced(request=message.request, variables=variables)

    def of_run(self, state: RunState) -> list[ReplacedVariable]:
        """Return what the solution of a run would replace."""
        is_program = state.offered_solution is not None and not state.patch
        return self._find(state.offered_solution or "", state.task) if is_program else []

    def _find(
        self, code: str, task: Task | None, *, cell: str = "", given: Collection[str] = ()
    ) -> list[ReplacedVariable]:
        """Return what the code would replace, the given variables first, without those that the task asks it to set."""
        namespace = dict(self._shell.user_ns)
        named = task.variables if task else ()
        inputs = {*given, *(variable.name for variable in named if variable.given)}
        results = {variable.name for variable in named} - inputs
        made = self._made_by(cell, code)
        found = [
            ReplacedVariable(name=name, kind=_kind(namespace[name]), given=name in inputs)
            for name in find_replaced(self._as_python(code), namespace, hidden=self._shell.user_ns_hidden)
            if name not in results and made.get(name) != id(namespace[name])
        ]
        return sorted(found, key=lambda variable: not variable.given)[:MAX_NAMES]

    def _as_python(self, code: str) -> str:
        plain = _RUN_AS_IS.sub("", code, count=1) if _RUN_AS_IS.match(code) else code
        try:
            return str(self._shell.transform_cell(plain))  # type: ignore[no-untyped-call]
        except SyntaxError:
            return plain

    # ---- the cells that run

    def _begin_cell(self, info: Any) -> None:
        """Remember what a solution may replace, and warn of a given variable that no page asked about."""
        self._before = None
        if getattr(self._shell, "kernel", None) is not self._kernel:  # a fork, where candidates run
            return self.release()
        with suppress(Exception):  # an error would be shown in the user's cell
            caller = find_caller(self._shell)
            cell, code, run = caller.cell or "", info.raw_cell, self._run_of(info.raw_cell, caller.metadata)
            if run is None and caller.metadata.get("role") != "solution":
                return
            self._before = self._identities(bound_names(self._as_python(code)))
            if (cell, code) in self._asked:
                self._asked.discard((cell, code))
            else:
                task = run.state.task if run else None
                variables = self._find(code, task, cell=cell, given=given_names(caller.metadata))
                if given := [variable for variable in variables if variable.given]:
                    sys.stdout.write(f"This cell replaces your data {name_variables(given)}.\n")

    def _end_cell(self, result: Any) -> None:
        """Note what a solution has bound, and that anything else that this cell has bound is the user's again."""
        before, self._before = self._before, None
        if before is None and not self._made:
            return
        with suppress(Exception):
            code, cell = result.info.raw_cell, find_caller(self._shell).cell
            names = bound_names(self._as_python(code))
            earlier = self._made_by(cell, code)
            self._forget(names)
            if before is not None:
                now = self._identities(names)
                if not result.success:  # it may not have come to all of its names
                    now = {name: value for name, value in now.items() if value != before.get(name)}
                    now |= {name: value for name, value in earlier.items() if self._identities([name]) == {name: value}}
                self._made |= {key: {**self._made.get(key, {}), **now} for key in (cell, code) if key}

    def _made_by(self, cell: str | None, code: str) -> dict[str, int]:
        return {**self._made.get(code, {}), **(self._made.get(cell, {}) if cell else {})}

    def _forget(self, rebound: Collection[str]) -> None:
        """Forget that a solution made these variables, and those whose value is another one by now."""
        for key, made in self._made.items():
            now = self._identities(made)
            self._made[key] = {
                name: value for name, value in made.items() if name not in rebound and now.get(name) == value
            }

    def _run_of(self, code: str, metadata: Mapping[str, Any]) -> Run | None:
        """Return the run whose solution this is: by the mark of its cell, or by its code."""
        same = (run for run in reversed(self._runs.all) if run.state.offered_solution == code and not run.state.patch)
        marked = self._runs.find(str(metadata.get("run_id", ""))) if metadata.get("role") == "solution" else None
        return marked or next(same, None)

    def _identities(self, names: Iterable[str]) -> dict[str, int]:
        namespace = self._shell.user_ns
        return {name: id(namespace[name]) for name in names if name in namespace}


def given_names(metadata: Mapping[str, Any]) -> list[str]:
    """Return the given variables that the mark of a solution's cell names."""
    names = metadata.get("given")
    return [name for name in names if isinstance(name, str)] if isinstance(names, list) else []


def describe_replacement(variables: Iterable[ReplacedVariable]) -> tuple[str, str]:
    """Return the warning about given variables and the sentence about others, each empty if there are none."""
    rows = [*variables]
    given, others = [one for one in rows if one.given], [one for one in rows if not one.given]
    warning = f"Careful: running the solution replaces your data {name_variables(given)}." if given else ""
    begin = "It also replaces your" if given else "Running the solution replaces your"
    return warning, f"{begin} {name_variables(others)}." if others else ""


def name_variables(variables: Iterable[ReplacedVariable]) -> str:
    """Return the names with the kinds of their values."""
    return ", ".join(f"`{one.name}` ({one.kind})" if one.kind else f"`{one.name}`" for one in variables)


def _kind(value: object) -> str:
    """Return the type of a value and how large it is, without its data: `pandas.DataFrame, 3 rows x 2 columns`."""
    from exploracoder_jupyter.kernel_agent.summaries import summarizer_registry, value_text

    with suppress(Exception):  # a value may be anything
        structure = value_text.describe_structure(value)
        if value_text.is_one_of(type(value), (*value_text.COLLECTIONS, *value_text.MAPPINGS)):
            return structure
        entry = summarizer_registry.find(value)
        size = entry.shape(value) if entry and entry.can_describe(value, in_fork=False) else ""
        return ", ".join(filter(None, [structure, size.partition(" of ")[0]]))
    return ""

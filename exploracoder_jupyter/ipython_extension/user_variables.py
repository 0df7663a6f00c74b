"""The user's variables: which a task mentions and which a solution would replace; and files that a solution wrote."""

from __future__ import annotations

import ast
import re
import shutil
import sys
import types
from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from operator import attrgetter
from pathlib import Path, PurePath
from symtable import Symbol, symtable
from typing import TYPE_CHECKING, Any

from IPython.core.interactiveshell import InteractiveShell

from exploracoder_jupyter.core.events import FilesKept
from exploracoder_jupyter.core.run_state import RunState
from exploracoder_jupyter.core.task import classify_mention
from exploracoder_jupyter.core.types import Task, UserVariable
from exploracoder_jupyter.ipython_extension.magic_line import find_caller
from exploracoder_jupyter.kernel_agent.reporting.notebook_names import type_path
from exploracoder_jupyter.protocol.browser_messages import FindReplaced, Replaced, ReplacedVariable

if TYPE_CHECKING:
    from exploracoder_jupyter.ipython_extension.running.runs import Run, Runs


# Finds the variables of this kernel that a task mentions, or that a solution would replace.
#
# They are found in prose and in code. Private names, IPython's own names and imported objects are left out: a
# program imports the latter itself.

MAX_NAMES = 20
_IDENTIFIER = re.compile(r"(?<![\w.])[^\W\d]\w*")
"""A whole identifier that is not an attribute."""
_module_of_class = type.__dict__["__module__"].__get__
"""Bypasses a metaclass that overrides `__module__`."""
_module_of_function = attrgetter("__module__")
_FUNCTIONS = (types.FunctionType, types.BuiltinFunctionType)


def find_mentioned(
    task: str, check: str | None, namespace: Mapping[str, object], *, hidden: Mapping[str, object]
) -> list[str]:
    """Return the names of variables in the task or in the code of its check, in the order of the text, at most 20.

    `hidden` is what IPython itself has put into the namespace. No method of a value is called.
    """
    found = dict.fromkeys([*_IDENTIFIER.findall(task), *_names_in_check(check or "")])
    return [name for name in found if name in namespace and _is_users(name, namespace[name], hidden)][:MAX_NAMES]


def describe_variables(
    task: str, check: str | None, uses: Iterable[str], namespace: Mapping[str, object], *, hidden: Mapping[str, object]
) -> list[UserVariable]:
    """Return the variables that the user names with `--use`, and those that the task or its check mention.

    A bare word that may be plain English counts as given only if its value is not a built-in one: data, most likely.
    """
    mentioned = find_mentioned(task, None, namespace, hidden=hidden)
    uses = [name for name in uses if name in namespace]
    names = dict.fromkeys([*uses, *mentioned, *find_mentioned("", check, namespace, hidden=hidden)])
    return [
        UserVariable(name, type_path(namespace[name]), _is_given(task, name, namespace[name], name in mentioned, uses))
        for name in names
    ]


def _is_given(task: str, name: str, value: object, mentioned: bool, uses: Collection[str]) -> bool:
    if not mentioned:
        return name in uses
    mention, is_data = classify_mention(task, name), _module_of_class(type(value)) != "builtins"
    return mention == "given" or (mention == "perhaps" and (name in uses or is_data))


def find_replaced(code: str, namespace: Mapping[str, object], *, hidden: Mapping[str, object]) -> list[str]:
    """Return the names of the user's variables that the code would bind anew at its top level, in alphabetical order.

    Empty if the code is not plain Python. No method of a value is called.
    """
    return sorted(name for name in bound_names(code) if name in namespace and _is_users(name, namespace[name], hidden))


def bound_names(code: str) -> set[str]:
    """Return the global names that the code binds or deletes, also in a function by `global`.

    Empty if the code is not plain Python.
    """
    try:
        module = symtable(code, "solution", "exec")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return set()
    found = {one.get_name() for one in module.get_symbols() if _is_bound(one)}
    inner = [*module.get_children()]
    while inner:
        table = inner.pop()
        inner += table.get_children()
        found |= {one.get_name() for one in table.get_symbols() if one.is_global() and _is_bound(one)}
    return found


def _is_bound(symbol: Symbol) -> bool:
    return symbol.is_assigned() or symbol.is_imported() or symbol.is_namespace()


def _names_in_check(check: str) -> Iterable[str]:
    """Return the names that the check reads and does not bind itself; every identifier if it is not Python."""
    try:
        tree = ast.parse(check)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return _IDENTIFIER.findall(check)
    names = [node for node in ast.walk(tree) if isinstance(node, ast.Name)]
    bound = {node.id for node in names if not isinstance(node.ctx, ast.Load)}
    return [node.id for node in names if node.id not in bound]


def _is_users(name: str, value: object, hidden: Mapping[str, object]) -> bool:
    if name.startswith("_") or (name in hidden and hidden[name] is value):
        return False
    kind = type(value)
    if issubclass(kind, types.ModuleType):
        return False
    if kind in _FUNCTIONS or issubclass(kind, type):
        get_module = _module_of_class if issubclass(kind, type) else _module_of_function
        return bool(get_module(value) == "__main__")
    return True


# Which of the user's variables a solution would replace if it ran now, and which of these its task treats as given.
#
# Asked by a page before a solution's cell runs, by the result card at the end of a run, and before a cell with a
# solution runs that no page asked about, as in front ends without our pages. What an earlier run of the same
# solution has bound is not the user's, until another cell binds it anew.

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


# The files that a solution wrote in its branch and that were kept: lists them and copies them elsewhere.


def describe_files(kept: FilesKept) -> str:
    """List the kept files, one per line, and the command that copies them."""
    if not kept.files:
        return "The solution wrote no files."
    names = "\n".join(f"  {name}" for name in kept.files)
    return f"In {kept.folder}:\n{names}\n%explora files --copy copies them into the working directory."


def copy_files(kept: FilesKept, into: Path) -> str:
    """Copy the kept files into the folder, never over an existing file; return a message about the result."""
    copied, skipped = [], []
    for name in kept.files:
        leaves = PurePath(name).is_absolute() or ".." in PurePath(name).parts
        reason = "is outside the folder" if leaves else _copy(Path(kept.folder, name), into / name)
        skipped.append(f"  {name}: {reason}") if reason else copied.append(f"  {name}")
    lines = [f"Copied into {into}:", *copied] if copied else ["Nothing was copied."]
    return "\n".join([*lines, *(["Not copied:", *skipped] if skipped else [])])


def _copy(source: Path, target: Path) -> str:
    try:
        if source.is_symlink():
            return "is a link"
        target.parent.mkdir(parents=True, exist_ok=True)
        with source.open("rb") as original, target.open("xb") as copy:
            shutil.copyfileobj(original, copy)
    except FileExistsError:
        return "already exists"
    except OSError as error:
        return error.strerror or str(error)
    return ""

"""Finds names that a check reads but the task does not mention: a solution would bind them only by chance."""

from __future__ import annotations

import ast
import re
import sys
from contextlib import suppress

from exploracoder_jupyter.core.errors import UsageError
from exploracoder_jupyter.core.python_code import parse_python
from exploracoder_jupyter.core.types import Task
from exploracoder_jupyter.pipeline.exploring.dependency_slice import ALWAYS_DEFINED, names_in
from exploracoder_jupyter.pipeline.solving.user_check import check_source

_IDENTIFIER = re.compile(r"[^\W\d]\w*")
_ALIASES = {"np", "pd", "plt", "nx", "pl", "xr", "sns", "tf", "torch", "scipy", "numpy", "pandas", "pytest"}


def unmentioned_names(task: Task) -> tuple[str, ...]:
    """Return names that the task's check reads, but that neither the check binds nor the task mentions.

    Excludes the user's variables that the task may use, the function that the solution defines, builtins and modules.
    Empty if there is no check, or none that can be parsed.
    """
    with suppress(UsageError):
        code = check_source(task)
        libraries = (name for one in task.libraries for name in (one, one.replace("-", "_"), one.partition(".")[0]))
        mentioned = {*_IDENTIFIER.findall(task.text), *task.uses, task.solution_name, *libraries}
        names = names_in(code)
        tree = parse_python(code)
        declared = {name for node in ast.walk(tree) if isinstance(node, ast.Global) for name in node.names}
        free = names.read - names.bound - declared - ALWAYS_DEFINED - mentioned
        uses = [
            (child.lineno, child.col_offset, child.id, isinstance(node, ast.Attribute))
            for node in ast.walk(tree)
            for child in ast.iter_child_nodes(node)
            if isinstance(child, ast.Name) and isinstance(child.ctx, ast.Load)
        ]
        plain = {name for *_, name, dotted in uses if not dotted}
        modules = {*sys.stdlib_module_names, *_ALIASES} - plain  # well-known modules that are used like ones
        return tuple(dict.fromkeys(name for *_, name, _ in sorted(uses) if name in free - modules))
    return ()


def missing_names_notice(task: Task) -> str:
    """Return a notice about these names and how to fix the task; empty if there are none."""
    names = [f"`{name}`" for name in unmentioned_names(task)]
    if not names:
        return ""
    which = f"the name {names[0]}" if len(names) == 1 else f"the names {', '.join(names[:-1])} and {names[-1]}"
    return (
        f"The check uses {which}, which the task does not mention: the model is only given the name"
        f"{'' if len(names) == 1 else 's'}, so a solution may pass only by chance. Say in the task what belongs there,"
        f" for example: “store it in {names[0]}”."
    )

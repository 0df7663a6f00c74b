"""Makes documented examples runnable by adding omitted imports, and sorts them by usefulness."""

from __future__ import annotations

import ast
import builtins
import sys

from exploracoder_jupyter.core.types import ApiDoc
from exploracoder_jupyter.llm.offline.inputs.code_names import called_names, loaded_names
from exploracoder_jupyter.pipeline.ports import Knowledge

_ALIASES = {"np": "numpy", "pd": "pandas", "plt": "matplotlib.pyplot", "dt": "datetime"}
"""Conventional abbreviations in examples that omit their imports."""
_BUILTINS = frozenset(dir(builtins))


def runnable_examples(api: ApiDoc, knowledge: Knowledge) -> tuple[str, ...]:
    """Return the examples of an API with their imports; first those that are complete and call the API."""
    completed = [_complete(code, api, knowledge) for code in api.examples]
    return tuple(dict.fromkeys(code for *_, code in sorted(completed, key=lambda one: one[:2])))


def _complete(code: str, api: ApiDoc, knowledge: Knowledge) -> tuple[bool, bool, str]:
    """Return whether a name is undefined, whether the API is not called, and the code with its imports."""
    try:
        tree = ast.parse(code)
    except (SyntaxError, ValueError):  # from foreign documents: returned unchanged
        return True, True, code
    imports = [_import_for(name, api, knowledge) for name in sorted(_free_names(tree))]
    lines = [*dict.fromkeys(line for line in imports if line)]
    gap = [] if not lines or isinstance(tree.body[0], ast.Import | ast.ImportFrom) else [""]
    names = {path.rpartition(".")[2] for path in (api.path, *api.aliases)}
    return None in imports, names.isdisjoint(called_names(tree)), "\n".join([*lines, *gap, code])


def _free_names(tree: ast.Module) -> set[str]:
    """Return the names that the code reads but does not define."""
    return {name for name in loaded_names(tree) - _BUILTINS if not name.startswith("_")} - _bound_names(tree)


def _bound_names(tree: ast.Module) -> set[str]:
    nodes = list(ast.walk(tree))
    names = {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    names |= {node.name for node in nodes if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)}
    aliases = (alias for node in nodes if isinstance(node, ast.Import | ast.ImportFrom) for alias in node.names)
    return names | {alias.asname or alias.name.partition(".")[0] for alias in aliases}


def _import_for(name: str, near: ApiDoc, knowledge: Knowledge) -> str | None:
    """Return the import that defines a name which an example uses without importing it."""
    parents = _parent_paths(near.path)
    for parent in parents:
        found = knowledge.lookup(f"{parent}.{name}")
        if found is not None:
            module, _, attribute = found.path.rpartition(".")
            return f"from {module} import {attribute}" + (f" as {name}" if attribute != name else "")
    for library in dict.fromkeys([near.library.partition(".")[0], near.library]):
        if name == library:
            return f"import {name}"
    if name in _ALIASES:
        return f"import {_ALIASES[name]} as {name}"
    if any(parent.rpartition(".")[2] == name for parent in parents):
        module = next(parent for parent in parents if parent.rpartition(".")[2] == name).rpartition(".")[0]
        return f"from {module} import {name}"
    return f"import {name}" if name in sys.stdlib_module_names else _import_abbreviation(name, near)


def _import_abbreviation(name: str, near: ApiDoc) -> str | None:
    """Return an import under an abbreviation of the library's name, such as `nx` for networkx."""
    library = near.library
    letters_only = library.replace("_", "").lower()
    remaining = iter(letters_only)
    return (
        f"import {library} as {name}"
        if 1 < len(name) <= 3 and name[0] == letters_only[0] and all(c in remaining for c in name)
        else None
    )


def _parent_paths(path: str) -> list[str]:
    found = []
    while "." in path:
        path = path.rpartition(".")[0]
        found.append(path)
    return found

"""Makes documented examples runnable by adding omitted imports, and sorts them by usefulness."""

from __future__ import annotations

import ast
import builtins

from exploracoder_jupyter.core.types import ApiDoc
from exploracoder_jupyter.llm.offline.inputs.documentation_pool import DocumentationPool
from exploracoder_jupyter.llm.offline.inputs.example_slices import called_names, loaded_names
from exploracoder_jupyter.pipeline.ports import Knowledge

_BUILTINS = frozenset(dir(builtins))


def runnable_examples(api: ApiDoc, knowledge: Knowledge) -> tuple[str, ...]:
    """Return the examples of an API with their imports; first those that are complete and call the API."""
    completed = [_complete(code, api, DocumentationPool(knowledge)) for code in api.examples]
    return tuple(dict.fromkeys(code for *_, code in sorted(completed, key=lambda one: one[:2])))


def _complete(code: str, api: ApiDoc, pool: DocumentationPool) -> tuple[bool, bool, str]:
    """Return whether a name is undefined, whether the API is not called, and the code with its imports."""
    try:
        tree = ast.parse(code)
    except (SyntaxError, ValueError):  # from foreign documents: returned unchanged
        return True, True, code
    imports = [pool.import_for(name, api) for name in sorted(_free_names(tree))]
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

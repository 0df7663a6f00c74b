"""Finds the documented APIs that a snippet actually calls.

Names rooted in imports are resolved exactly. A method call is resolved through the type of its variable if an
observation recorded one, else through the recommended methods of that name. The analysis is cheap and syntactic; calls
that cannot be resolved are not counted.
"""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Iterable, Mapping

from exploracoder_jupyter.core.python_code import parse_python
from exploracoder_jupyter.core.types import ApiDoc, Experience
from exploracoder_jupyter.pipeline.guarded_heuristics import heuristic
from exploracoder_jupyter.pipeline.ports import Knowledge


@heuristic("looking for the APIs that code calls", lambda *args, **kwargs: ())
def find_called_apis(
    code: str,
    knowledge: Knowledge,
    *,
    recommended: Iterable[ApiDoc] = (),
    types: Mapping[str, str] | None = None,
    before: Iterable[str] = (),
) -> tuple[str, ...]:
    """Return the paths of the APIs that the code calls, in order of first appearance.

    `types` maps variables to observed type paths (`{"G": "networkx.classes.graph.Graph"}`); `before` is the code that
    ran earlier in the session, whose imports are still valid.
    """
    tree = parse_python(code)
    trees = (*map(parse_python, before), tree)
    aliases = {name: path for cell in trees for name, path in import_aliases(cell).items()}
    methods = {api.name: api.path for api in reversed(list(recommended)) if api.kind in ("method", "property")}
    found: dict[str, None] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and (path := _resolve(node.func, aliases, types or {}, methods, knowledge)):
            found[path] = None
    return tuple(found)


@heuristic("looking for the APIs that code calls", lambda code: ())
def find_called_names(code: str) -> tuple[str, ...]:
    """Return the names that the code calls, in order of first appearance.

    Names rooted in imports are given as paths; of method calls only the last part is given.
    """
    tree = parse_python(code)
    if not tree.body:
        return tuple(dict.fromkeys(re.findall(r"\b([A-Za-z_]\w*)\(", re.sub(r"#.*", "", code))))
    aliases, names = import_aliases(tree), dict[str, None]()
    for func in (node.func for node in ast.walk(tree) if isinstance(node, ast.Call)):
        chain = attribute_chain(func)
        if chain and chain[0] in aliases:
            name = ".".join([aliases[chain[0]], *chain[1:]])
        else:
            name = func.attr if isinstance(func, ast.Attribute) else "".join(chain[-1:])
        if name and not hasattr(builtins, name):
            names[name] = None
    return tuple(names)


def known_types(experience: Iterable[Experience]) -> dict[str, str]:
    """Return variables with their observed types; those of failed candidates are gone with their branch."""
    return {name: kind for item in experience if item.observation.ran for name, kind in item.observation.names}


def import_aliases(tree: ast.AST) -> dict[str, str]:
    """Return the names that the code imports, each with the path that it stands for: `{"pd": "pandas"}`."""
    aliases: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for name in node.names:
                aliases[name.asname or name.name.partition(".")[0]] = (
                    name.name if name.asname else name.name.partition(".")[0]
                )
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            aliases.update({name.asname or name.name: f"{node.module}.{name.name}" for name in node.names})
    return aliases


def _resolve(
    func: ast.expr,
    aliases: Mapping[str, str],
    types: Mapping[str, str],
    methods: Mapping[str, str],
    knowledge: Knowledge,
) -> str | None:
    chain = attribute_chain(func)
    if chain and chain[0] in aliases:
        api = knowledge.lookup(".".join([aliases[chain[0]], *chain[1:]]))
        return api.path if api else None
    if len(chain) == 2 and chain[0] in types and (api := knowledge.lookup(f"{types[chain[0]]}.{chain[1]}")):
        return api.path
    return methods.get(func.attr) if isinstance(func, ast.Attribute) else None


def attribute_chain(node: ast.expr) -> list[str]:
    """Split `a.b.c` into its parts; empty if it is not rooted in a name."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    return [node.id, *reversed(parts)] if isinstance(node, ast.Name) else []

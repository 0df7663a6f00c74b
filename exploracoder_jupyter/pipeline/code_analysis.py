"""What code calls, and which earlier cells a cell needs."""

from __future__ import annotations

import ast
import builtins
import re
import symtable
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Final, NamedTuple

from exploracoder_jupyter.core.python_code import parse_python
from exploracoder_jupyter.core.types import ApiDoc, Experience
from exploracoder_jupyter.pipeline.context import heuristic
from exploracoder_jupyter.pipeline.ports import Knowledge

# Finds the documented APIs that a snippet actually calls.
#
# Names rooted in imports are resolved exactly. A method call is resolved through the type of its variable if an
# observation recorded one, else through the recommended methods of that name. The analysis is cheap and syntactic;
# calls that cannot be resolved are not counted.


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


# Finds the earlier cells that a cell needs to run in a fresh session, and the names that would be missing.
#
# Syntactic: a name that a cell reads is looked up in the earlier cells that bind it or were observed to change it.

ALWAYS_DEFINED: Final = frozenset({*dir(builtins), "display", "get_ipython", "__name__", "__file__"})
_UNREADABLE = (SyntaxError, ValueError, RecursionError, MemoryError)


class Names(NamedTuple):
    """Names at module level."""

    read: frozenset[str]
    bound: frozenset[str]


def slice_dependencies(cells: Sequence[Experience]) -> str:
    """Return the code of the last cell preceded by that of the cells it needs, in order, without repeated imports."""
    last = cells[-1].candidate.code
    included, missing = [last], set(unbound_names(last) or ())
    for item in reversed(cells[:-1]):
        code = item.candidate.code
        if missing & {*names_in(code).bound, *(change.name for change in item.observation.changes)}:
            missing |= unbound_names(code) or set()
            included = [code, *(other for other in included if other != code)]
    return "\n\n".join(_drop_repeated_imports(included))


def join_cells(cells: Sequence[Experience]) -> str:
    """Return the code of all cells that ran as one program, without repeated imports."""
    return "\n\n".join(_drop_repeated_imports([item.candidate.code for item in cells if item.observation.ran]))


def unbound_names(code: str) -> set[str] | None:
    """Return the names that the code reads before binding them; `None` if it cannot be parsed."""
    try:
        body = [(statement, names_in(ast.unparse(statement))) for statement in ast.parse(code).body]
    except _UNREADABLE:
        return None
    known, missing = set(ALWAYS_DEFINED), set[str]()
    for statement, names in body:
        reads_first = isinstance(statement, (ast.Assign, ast.AnnAssign, ast.AugAssign))
        missing |= names.read - known - (set() if reads_first else names.bound)
        known |= names.bound
    return missing


def same_statements(code: str, other: str) -> bool:
    """Whether both codes have the same statements, in any order."""
    with suppress(ValueError, RecursionError):  # a number with too many digits, or code that is nested too deeply
        one, another = ({ast.dump(node) for node in parse_python(text).body} for text in (code, other))
        return bool(one) and one == another
    return False


def names_in(code: str) -> Names:
    """Return the names that the code reads and binds at module level; none if it cannot be parsed."""
    try:
        table = symtable.symtable(code, "cell", "exec")
    except _UNREADABLE:
        return Names(frozenset(), frozenset())
    bound = {one.get_name() for one in table.get_symbols() if one.is_assigned() or one.is_imported()}
    changed = {node.target for node in ast.walk(ast.parse(code)) if isinstance(node, ast.AugAssign)}
    added = {target.id for target in changed if isinstance(target, ast.Name)} & bound
    return Names(frozenset({*_read_names(table), *added}), frozenset(bound))


def _read_names(table: symtable.SymbolTable) -> Iterator[str]:
    top = table.get_type() == "module"
    yield from (one.get_name() for one in table.get_symbols() if one.is_referenced() and (top or one.is_global()))
    for inner in table.get_children():
        yield from _read_names(inner)


def _drop_repeated_imports(codes: Iterable[str]) -> Iterator[str]:
    """Yield the codes without top-level imports that an earlier one contains."""
    seen: set[str] = set()
    for code in codes:
        lines, body = code.splitlines(), parse_python(code).body
        used = [line for node in body for line in range(node.lineno, (node.end_lineno or node.lineno) + 1)]
        for node in (node for node in body if isinstance(node, (ast.Import, ast.ImportFrom))):
            if ast.dump(node) in seen and used.count(node.lineno) == 1:  # it has its lines to itself
                lines[node.lineno - 1 : node.end_lineno] = [""] * ((node.end_lineno or node.lineno) - node.lineno + 1)
            seen.add(ast.dump(node))
        if text := "\n".join(lines).strip("\n"):
            yield text

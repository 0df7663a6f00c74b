"""Which APIs of the libraries a solution uses: those that do not exist, and those that a problem is known to need.

Names are resolved by importing them where the solution ran, so that an API that the index lacks does not count as
missing. Attributes of objects are missing if running the solution raised an AttributeError for a class of the
libraries.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Collection, Iterable, Mapping, Sequence

from exploracoder_jupyter.core.python_code import parse_python
from exploracoder_jupyter.core.types import ErrorInfo
from exploracoder_jupyter.pipeline.exploring.called_apis import (
    attribute_chain,
    find_called_apis,
    find_called_names,
    import_aliases,
)
from exploracoder_jupyter.pipeline.ports import Branch, Knowledge

_PROBE = """
def _explora_missing(paths, members, roots):
    import importlib, json, sys
    def exists(path):
        names = path.split(".")
        for end in range(len(names), 0, -1):
            try:
                value = importlib.import_module(".".join(names[:end]))
            except ModuleNotFoundError:
                continue
            except Exception:
                return True
            try:
                for name in names[end:]:
                    value = getattr(value, name)
            except AttributeError:
                return False
            except Exception:
                return True
            return True
        return False
    def owns(kind):
        modules = [module for name, module in list(sys.modules.items()) if name.partition(".")[0] in roots]
        return any(isinstance(vars(module).get(kind), type) for module in modules)
    found = [path for path in paths if not exists(path)]
    found += [f"{kind}.{name}" for kind, name in members if owns(kind)]
    print(json.dumps(found))
_explora_missing(
    PATHS, MEMBERS, ROOTS)
"""
_MEMBER = re.compile(r"^(?:type object )?'(\w+)' (?:object )?has no attribute '(\w+)'")
_COMMON_METHODS = frozenset(
    name for kind in (str, bytes, list, tuple, dict, set, int, float) for name in dir(kind) if name[0] != "_"
)
"""Methods of built-in types; a call of one on an unknown object is not counted as a call of a library."""


async def find_missing_apis(
    start: Branch, code: str, roots: Collection[str], *, setup: str = "", errors: Iterable[ErrorInfo], timeout: float
) -> tuple[str, ...]:
    """Return the names that the code accesses on the libraries and that do not exist there, in order of appearance.

    `start` is the state before the solution, and stays unchanged; `roots` are the import names of the libraries;
    imports of the `setup` are valid in the solution, whose exceptions are `errors`.
    """
    paths = _accessed_paths(code, setup, roots)
    members = [found.groups() for error in errors if (found := _MEMBER.match(error.message))]
    if not (paths or members):
        return ()
    [branch] = await start.fork(1)
    try:
        arguments = {"PATHS": paths, "MEMBERS": members, "ROOTS": sorted(roots)}
        probe = re.sub("PATHS|MEMBERS|ROOTS", lambda found: repr(arguments[found[0]]), _PROBE)
        observation = await branch.run(probe, timeout=timeout)
    finally:
        await branch.close()
    printed = "".join(str(output.get("text", "")) for output in observation.outputs)
    try:
        return tuple(json.loads(printed.strip().splitlines()[-1]))
    except (ValueError, IndexError):  # the probe did not run
        return ()


def measure_gold_apis(
    code: str, gold: Sequence[Sequence[str]], knowledge: Knowledge, *, setup: str = "", types: Mapping[str, str]
) -> tuple[float | None, float | None]:
    """Return recall and precision of the gold APIs among those of the libraries that the code calls.

    Either is `None` if it is undefined: without gold APIs, and precision also if no API of the libraries is called.
    Each gold API has several names of which one suffices: paths, or ends of paths. `types` has the variables of the
    solution with the paths of their types.
    """
    if not gold:
        return None, None
    wanted = [{known.path if (known := knowledge.lookup(name)) else name for name in names} for names in gold]
    called = _called(code, knowledge, setup, types)
    hits = [any(_is_same(api, name) for api in called for name in names) for names in wanted]
    right = [any(_is_same(api, name) for names in wanted for name in names) for api in called]
    return sum(hits) / len(hits), sum(right) / len(right) if right else None


def _called(code: str, knowledge: Knowledge, setup: str, types: Mapping[str, str]) -> list[str]:
    """Return the APIs called: paths, and of methods of objects of unknown type the names."""
    paths = find_called_apis(code, knowledge, types=types, before=(setup,))
    resolved = {path.rpartition(".")[2] for path in paths}
    methods = {api.name for api in knowledge.apis if api.kind == "method"} - resolved - _COMMON_METHODS
    return [*paths, *(name for name in find_called_names(code) if name in methods)]


def _is_same(called: str, wanted: str) -> bool:
    return called == wanted or called.endswith(f".{wanted}") or wanted.endswith(f".{called}")


def _accessed_paths(code: str, setup: str, roots: Collection[str]) -> list[str]:
    """Return the paths that the code imports from the libraries, or accesses through names of imports."""
    trees = [parse_python(text) for text in (setup, code)]
    nodes = [node for tree in trees for node in ast.walk(tree)]
    bound = {node.id for node in nodes if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load)}
    aliases = {name: path for tree in trees for name, path in import_aliases(tree).items() if name not in bound}
    inner = {id(node.value) for node in nodes if isinstance(node, ast.Attribute)}
    found: list[str] = []
    for node in ast.walk(trees[-1]):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found += [f"{node.module}.{alias.name}" for alias in node.names if alias.name != "*"]
        elif isinstance(node, ast.Attribute) and id(node) not in inner:  # `a.b.c`, and not also `a.b`
            chain = attribute_chain(node)
            if chain and chain[0] in aliases:
                found.append(".".join([aliases[chain[0]], *chain[1:]]))
    return [path for path in dict.fromkeys(found) if path.partition(".")[0] in roots]

"""Finds installed libraries and what is shipped about them, without importing them.

A program: `main(["scikit-learn"])` prints for each library one line of JSON, `{"library": {"name", "distribution",
"version", "interpreter", "stamp", "beside", "rests"}}`, or `{"error": "unknown", "library", "near": [...]}` and exit
status 3. With `--documents` the line also holds `readme` and `programs` (example files of the distribution).

A library may be named by distribution or by import name, in any spelling that packaging tools accept; submodules and
the standard library count. `stamp` changes when the code does, where the version does not say so: whatever was not
installed from a wheel. The answer holds for as long as each path in `rests` has the state that is told there
(`evidence`); where there is none, nobody can know for how long.
"""

from __future__ import annotations

import argparse
import difflib
import importlib.machinery
import importlib.metadata
import importlib.util
import json
import os
import re
import sys
from functools import cache

from exploracoder_jupyter.kernel_agent.introspection.file_fingerprints import TREE, states, surroundings
from exploracoder_jupyter.kernel_agent.introspection.module_locations import STUBS, find_spec, is_namespace
from exploracoder_jupyter.kernel_agent.introspection.stub_walk import stub_place

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

MOST_PROGRAMS = 40
LONGEST_PROGRAM = 12_000
LONGEST_README = 60_000
EXAMPLE = re.compile(
    r"(^|/)(examples?|gallery|demos?|tutorials?)/(?!setup\.py|conf\.py)[^_/][^/]*(/[^/_]+)?\.py$", re.IGNORECASE
)
NOISE = re.compile(r"^(__editable__.*|.*__mypyc|_.*|tests?|docs?|examples?|setup|licenses?)$")


def normal(name: str) -> str:
    """A distribution name as packaging tools compare it."""
    return re.sub(r"[-_.]+", "-", name).lower()


@cache
def owners() -> dict[str, list[str]]:
    """Import name to the distributions that provide it. Reads the record of each: seldom asked for."""
    found = importlib.metadata.packages_distributions()
    return {name: list(dict.fromkeys(owners)) for name, owners in found.items()}


def exists(module: str) -> bool:
    """Whether a module, dotted or not, can be found; parents are looked into, never imported."""
    path: list[str] | None = None
    parts = module.split(".")
    for at, part in enumerate(parts):
        if at == 0 and part in sys.builtin_module_names:
            return len(parts) == 1
        whole = ".".join(parts[: at + 1])
        spec = find_spec(whole, path)
        if spec is None:
            return _reached_by_attribute(parts[:at], whole)
        path = list(spec.submodule_search_locations or [])
    return True


def _by_hooks(name: str) -> importlib.machinery.ModuleSpec | None:
    """Finders of editable installations, frozen modules."""
    try:
        return importlib.util.find_spec(name) if name else None
    except (ImportError, ValueError):
        return None


def _reached_by_attribute(parents: list[str], whole: str) -> bool:
    return ".".join(parents) in sys.modules and whole in sys.modules  # e.g. os.path


def resolve(name: str) -> str | None:
    """The import name that a user's name means; None when nothing of that name is installed."""
    plain = name.removesuffix(STUBS)
    if re.fullmatch(r"\w+(\.\w+)*", plain) and (exists(plain) or stub_place(plain)):
        return plain
    owned = owners()
    modules = [module for module, dists in owned.items() if normal(name) in map(normal, dists)]
    modules = [inner.removesuffix(STUBS) for module in modules for inner in _of_distribution(module, name)]
    public = [module for module in modules if not NOISE.match(module)] or modules
    if public:
        return min(public, key=lambda module: (normal(module) != normal(name), len(module), module))
    folded = {module.lower(): module for module in owned}
    return folded.get(name.lower().replace("-", "_"))


def _of_distribution(top: str, name: str) -> list[str]:
    """What a distribution provides below a top-level name: its own packages where that is a namespace of several."""
    spec = _by_hooks(top)
    dist = _installed(name) if spec and is_namespace(spec) else None
    packages = sorted(_packages(dist, top)) if dist else []
    return packages or [top]


def near(name: str) -> list[str]:
    """Installed names that look like a mistyped one."""
    head, _, rest = name.rpartition(".")
    if head and exists(head):
        spec = importlib.util.find_spec(head.partition(".")[0])
        inner = _children(head, spec)
        return [f"{head}.{child}" for child in difflib.get_close_matches(rest, inner, 3, 0.7)]
    owned = owners()
    known = {n for n in owned if not NOISE.match(n)} | {n for n in sys.stdlib_module_names if n[0] != "_"}
    known |= {dist for dists in owned.values() for dist in dists}
    folded = {candidate.lower(): candidate for candidate in sorted(known)}
    return [folded[match] for match in difflib.get_close_matches(name.lower(), list(folded), 3, 0.7)]


def _children(head: str, spec: importlib.machinery.ModuleSpec | None) -> list[str]:
    below = head.split(".")[1:]
    roots = spec.submodule_search_locations if spec else None
    folders = [os.path.join(root, *below) for root in roots or ()]
    names = {entry.partition(".")[0] for folder in folders if os.path.isdir(folder) for entry in os.listdir(folder)}
    return sorted(names)


@cache
def distribution(module: str) -> importlib.metadata.Distribution | None:
    """The distribution that provides a module; the namesake where several do. A namespace has none."""
    top = module.partition(".")[0]
    if top in sys.stdlib_module_names:
        return None
    spec = _by_hooks(top)
    if spec and is_namespace(spec):
        return _in_namespace(module)
    namesake = _installed(top)
    if namesake and any(file.parts[0] in (top, f"{top}.py") for file in namesake.files or ()):
        return namesake
    having = owners().get(top) or owners().get(top + STUBS) or []
    names = sorted(having, key=lambda name: (normal(name) != normal(top), name))
    return _installed(names[0]) if names else namesake


def _in_namespace(module: str) -> importlib.metadata.Distribution | None:
    """The distribution that alone provides a module or package below a namespace."""
    top, path = module.partition(".")[0], module.replace(".", "/")
    dists = [dist for name in owners().get(top, ()) if (dist := _installed(name))]
    inner = (f"{path}/", f"{path}.")
    having = [dist for dist in dists if any(file.as_posix().startswith(inner) for file in dist.files or ())]
    if not having and len(dists) == 1:  # an editable one does not list its code
        return dists[0]
    return having[0] if len(having) == 1 else None


def _installed(name: str) -> importlib.metadata.Distribution | None:
    try:
        return importlib.metadata.distribution(name)
    except importlib.metadata.PackageNotFoundError:
        return None


def describe(module: str, around: Mapping[str, str]) -> dict[str, Any]:
    """Name, distribution, version, interpreter and stamp of a module that exists.

    `around`: the surroundings, in the state that they had before the module was looked for.
    """
    dist = distribution(module)
    top = module.partition(".")[0]
    python = sys.version.split()[0]
    standard = dist is None and top in sys.stdlib_module_names
    spec = _by_hooks(top)
    code = [] if standard or (dist and _from_wheel(dist)) else _code(spec) if spec else _stubs(module)
    stamps = states(code)
    return {
        "name": module,
        "distribution": dist.metadata["Name"] if dist else ("python" if standard else top),
        "version": dist.version if dist else (python if standard else ""),
        "interpreter": f"{sys.implementation.name} {python} {sys.executable}",
        "stamp": " ".join(stamps.values()),
        "beside": sorted(_beside(dist, module)) if dist else [],
        "rests": {**around, **stamps, **states(_told_by(dist))} if _is_traceable(top, dist) else {},
    }


def _beside(dist: importlib.metadata.Distribution, module: str) -> set[str]:
    """The other packages of a distribution."""
    top = module.partition(".")[0]
    spec = _by_hooks(top)
    inner = _packages(dist, top) - {module} if spec and is_namespace(spec) else set()
    return (_modules(dist) - {top}) | inner


def _packages(dist: importlib.metadata.Distribution, top: str) -> set[str]:
    """The outermost packages of a distribution below a namespace, as dotted names."""
    files = [file.parts for file in dist.files or () if file.parts[0] == top]
    marked = {parts[:-1] for parts in files if parts[-1] == "__init__.py"}
    outer = {parts for parts in marked if not any(parts[:at] in marked for at in range(1, len(parts)))}
    return {".".join(parts) for parts in outer}


def _modules(dist: importlib.metadata.Distribution) -> set[str]:
    """Top-level packages of a distribution."""
    names = {file.parts[0] for file in dist.files or () if file.parts[1:] == ("__init__.py",)}
    return {name for name in names if name.isidentifier() and not NOISE.match(name)}


def _from_wheel(dist: importlib.metadata.Distribution) -> bool:
    """Whether its code is what its version says: not an editable installation, nor one that left no record."""
    return bool(dist.read_text("RECORD")) and not _editable(dist)


def _editable(dist: importlib.metadata.Distribution) -> bool:
    origin = dist.read_text("direct_url.json")
    return bool(origin and json.loads(origin).get("dir_info", {}).get("editable"))


def _code(spec: importlib.machinery.ModuleSpec) -> list[str]:
    """Where all its code is."""
    if spec.submodule_search_locations:
        return [root + TREE for root in spec.submodule_search_locations]
    return [spec.origin] if spec.origin and os.path.exists(spec.origin) else []


def _stubs(module: str) -> list[str]:
    """Where all stubs of a module without code are."""
    place = stub_place(module)
    return [place if place.endswith(".pyi") else place + TREE] if place else []


def _told_by(dist: importlib.metadata.Distribution | None) -> list[str]:
    """Files that say what the distribution is."""
    folder = str(getattr(dist, "_path", "")) if dist else ""
    files = [os.path.join(folder, name) for name in ("METADATA", "PKG-INFO", "RECORD", "direct_url.json")]
    return [folder, *files] if folder else []


def _is_traceable(top: str, dist: importlib.metadata.Distribution | None) -> bool:
    """Whether it is known what leads to the module: it is found on the path, comes with Python, or is editable."""
    if top in sys.builtin_module_names or stub_place(top) or importlib.machinery.PathFinder.find_spec(top):
        return True
    return top in sys.stdlib_module_names or bool(dist and _editable(dist))


def documents(module: str) -> dict[str, Any]:
    """README text and example programs of the distribution that provides the module."""
    dist = distribution(module)
    if dist is None:
        return {"readme": "", "programs": []}
    readme = dist.metadata.get("Description") or dist.metadata.get_payload() or ""  # type: ignore[attr-defined]
    shipped = [path for path in dist.files or () if EXAMPLE.search(str(path))]
    texts = [_read(str(dist.locate_file(path))) for path in sorted(shipped, key=str)[: 3 * MOST_PROGRAMS]]
    programs = [text for text in texts if text and len(text) <= LONGEST_PROGRAM]
    return {"readme": str(readme)[:LONGEST_README], "programs": programs[:MOST_PROGRAMS]}


def _read(path: str) -> str:
    try:
        with open(path, encoding="utf-8") as stream:
            return stream.read(LONGEST_PROGRAM + 1)
    except (OSError, ValueError):
        return ""


def main(argv: Sequence[str] | None = None) -> int:
    """Describe each library; exit status 3 when one is unknown."""
    parser = argparse.ArgumentParser(description="Find libraries by distribution or import name.")
    parser.add_argument("libraries", nargs="+")
    parser.add_argument("--documents", action="store_true", help="also README and example programs")
    asked = parser.parse_args(argv)
    unknown = 0
    around = states(surroundings())
    for name in asked.libraries:
        module = resolve(name.strip())
        if module is None:
            unknown += 1
            print(json.dumps({"error": "unknown", "library": name, "near": near(name.strip())}), flush=True)
            continue
        more = documents(module) if asked.documents else {}
        print(json.dumps({"library": {**describe(module, around), **more}}), flush=True)
    return 3 if unknown else 0


if __name__ == "__main__":
    sys.exit(main())

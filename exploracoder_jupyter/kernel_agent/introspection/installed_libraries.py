"""Finds installed libraries and the documentation shipped with them, without importing them.

As a program, `main(["scikit-learn"])` prints one line of JSON per library: `{"library": {"name", "origin",
"distribution", "version", "interpreter", "stamp", "beside", "rests"}}`, or `{"error": "unknown", "library", "near":
[...]}` with exit status 3. With `--documents` the line also has `readme`, `programs` (example files of the
distribution) and `guides`.

A library may be named by distribution or by import name, in any spelling that packaging tools accept; submodules and
the standard library are included. `stamp` changes with the code of libraries that are not installed from a wheel.
The answer stays valid while each path in `rests` has the state given there (`locations`); if `rests` is empty,
the validity is unknown.
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
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from exploracoder_jupyter.kernel_agent.introspection.api_walk import stub_path
from exploracoder_jupyter.kernel_agent.introspection.locations import (
    STUBS,
    TREE,
    find_spec,
    fingerprints,
    import_environment,
    is_namespace,
    module_origin,
    shipped_documents,
)

NOT_LIBRARIES = re.compile(r"^(__editable__.*|.*__mypyc|_.*|tests?|docs?|examples?|setup|licenses?)$")


def normalize_name(name: str) -> str:
    """Normalize a distribution name as packaging tools compare it."""
    return re.sub(r"[-_.]+", "-", name).lower()


@cache
def distributions_by_module() -> dict[str, list[str]]:
    """Map import names to the distributions that provide them. Slow: reads the record of each distribution."""
    found = importlib.metadata.packages_distributions()
    return {name: list(dict.fromkeys(owners)) for name, owners in found.items()}


def exists(module: str) -> bool:
    """Return whether a module, dotted or not, can be found; parents are inspected but never imported."""
    path: list[str] | None = None
    parts = module.split(".")
    for index, part in enumerate(parts):
        if index == 0 and part in sys.builtin_module_names:
            return len(parts) == 1
        full_name = ".".join(parts[: index + 1])
        spec = find_spec(full_name, path)
        if spec is None:
            return ".".join(parts[:index]) in sys.modules and full_name in sys.modules  # e.g. os.path
        path = list(spec.submodule_search_locations or [])
    return True


def _find_top_level_spec(name: str) -> importlib.machinery.ModuleSpec | None:
    """Find a module through all finders, including those of editable installations and frozen modules."""
    try:
        return importlib.util.find_spec(name) if name else None
    except (ImportError, ValueError):
        return None


def resolve_import_name(name: str) -> str | None:
    """Return the import name that a user's name refers to; None if nothing of that name is installed."""
    plain = name.removesuffix(STUBS)
    if re.fullmatch(r"\w+(\.\w+)*", plain) and (exists(plain) or stub_path(plain)):
        return plain
    distributions = distributions_by_module()
    normalized, modules = normalize_name(name), []
    for top, owners in distributions.items():
        if normalized in map(normalize_name, owners):  # in a shared namespace, only what is its own
            dist = _installed(name) if _is_namespace(top) else None
            modules += [module.removesuffix(STUBS) for module in (dist and sorted(_packages(dist, top))) or [top]]
    public = [module for module in modules if not NOT_LIBRARIES.match(module)] or modules
    if public:
        return min(public, key=lambda module: (normalize_name(module) != normalized, len(module), module))
    lowercase = {module.lower(): module for module in distributions}
    return lowercase.get(name.lower().replace("-", "_"))


def _is_namespace(top: str) -> bool:
    spec = _find_top_level_spec(top)
    return spec is not None and is_namespace(spec)


def similar_names(name: str) -> list[str]:
    """Return installed names similar to a mistyped one."""
    head, _, rest = name.rpartition(".")
    if head and exists(head):
        top, *subfolders = head.split(".")
        spec = _find_top_level_spec(top)
        roots = (spec and spec.submodule_search_locations) or ()
        folders = filter(os.path.isdir, (os.path.join(root, *subfolders) for root in roots))
        inner = sorted({entry.partition(".")[0] for folder in folders for entry in os.listdir(folder)})
        return [f"{head}.{child}" for child in difflib.get_close_matches(rest, inner, 3, 0.7)]
    distributions = distributions_by_module()
    known = {name for name in (*distributions, *sys.stdlib_module_names) if not NOT_LIBRARIES.match(name)}
    known |= {dist for dists in distributions.values() for dist in dists}
    lowercase = {candidate.lower(): candidate for candidate in sorted(known)}
    return [lowercase[match] for match in difflib.get_close_matches(name.lower(), list(lowercase), 3, 0.7)]


@cache
def distribution(module: str) -> importlib.metadata.Distribution | None:
    """Return the distribution that provides a module, preferably of the same name. A namespace has none."""
    top = module.partition(".")[0]
    if top in sys.stdlib_module_names:
        return None
    if _is_namespace(top):
        return _in_namespace(module)
    same_name = _installed(top)
    if same_name and any(file.parts[0] in (top, f"{top}.py") for file in same_name.files or ()):
        return same_name
    providers = distributions_by_module().get(top) or distributions_by_module().get(top + STUBS) or []
    names = sorted(providers, key=lambda name: (normalize_name(name) != normalize_name(top), name))
    return _installed(names[0]) if names else same_name


def _in_namespace(module: str) -> importlib.metadata.Distribution | None:
    """Return the only distribution that provides a module or package below a namespace, or None."""
    top, path = module.partition(".")[0], module.replace(".", "/")
    dists = [dist for name in distributions_by_module().get(top, ()) if (dist := _installed(name))]
    inner = (f"{path}/", f"{path}.")
    providers = [dist for dist in dists if any(file.as_posix().startswith(inner) for file in dist.files or ())]
    if not providers and len(dists) == 1:  # an editable installation does not list its code
        return dists[0]
    return providers[0] if len(providers) == 1 else None


def _installed(name: str) -> importlib.metadata.Distribution | None:
    try:
        return importlib.metadata.distribution(name)
    except importlib.metadata.PackageNotFoundError:
        return None


def metadata_field(distribution: importlib.metadata.Distribution, name: str) -> str:
    """Return a field of the metadata; empty if it is missing.

    Indexing the metadata raises then, once `importlib_metadata` is imported: it replaces the finder of distributions.
    """
    return str((distribution.metadata.get_all(name) or [""])[0])


def describe(module: str, environment_states: Mapping[str, str]) -> dict[str, Any]:
    """Describe an existing module: name, distribution, version, interpreter, stamp and more.

    `environment_states`: the states of `import_environment` from before the module was located.
    """
    dist = distribution(module)
    top = module.partition(".")[0]
    python = sys.version.split()[0]
    standard = dist is None and top in sys.stdlib_module_names
    spec = _find_top_level_spec(top)
    stamps = {} if standard else _library_stamps(module, dist, spec)
    return {
        "name": module,
        "origin": module_origin(top),
        "distribution": metadata_field(dist, "Name") if dist else ("python" if standard else top),
        "version": metadata_field(dist, "Version") if dist else (python if standard else ""),
        "interpreter": f"{sys.implementation.name} {python} {sys.executable}",
        "stamp": " ".join(stamps.values()),
        "beside": _other_packages(dist, module) if dist else [],
        "rests": {**environment_states, **stamps, **_metadata_states(dist)} if _is_traceable(top, dist) else {},
    }


def _other_packages(dist: importlib.metadata.Distribution, module: str) -> list[str]:
    top = module.partition(".")[0]
    packages = {file.parts[0] for file in dist.files or () if file.parts[1:] == ("__init__.py",)}
    others = {name for name in packages if name.isidentifier() and not NOT_LIBRARIES.match(name)} - {top}
    return sorted(others | (_packages(dist, top) - {module} if _is_namespace(top) else set()))


def _packages(dist: importlib.metadata.Distribution, top: str) -> set[str]:
    """Return the outermost packages of a distribution below a namespace, as dotted names."""
    files = [file.parts for file in dist.files or () if file.parts[0] == top]
    marked = {parts[:-1] for parts in files if parts[-1] == "__init__.py"}
    outer = {parts for parts in marked if not any(parts[:index] in marked for index in range(1, len(parts)))}
    return {".".join(parts) for parts in outer}


def _library_stamps(
    module: str, dist: importlib.metadata.Distribution | None, spec: importlib.machinery.ModuleSpec | None
) -> dict[str, str]:
    """Return the states of the library's code, by path; empty if its version identifies its code."""
    if dist and dist.read_text("RECORD") and not _is_editable(dist):
        return {}
    if spec is None:
        path = stub_path(module)
        return fingerprints([path if path.endswith(".pyi") else path + TREE] if path else [])
    if spec.submodule_search_locations:
        return fingerprints(root + TREE for root in spec.submodule_search_locations)
    return fingerprints([spec.origin] if spec.origin and os.path.exists(spec.origin) else [])


def _is_editable(dist: importlib.metadata.Distribution) -> bool:
    origin = dist.read_text("direct_url.json")
    return bool(origin and json.loads(origin).get("dir_info", {}).get("editable"))


def _metadata_states(dist: importlib.metadata.Distribution | None) -> dict[str, str]:
    """Return the states of the files that describe the distribution, by path."""
    folder = str(getattr(dist, "_path", "")) if dist else ""
    files = [os.path.join(folder, name) for name in ("METADATA", "PKG-INFO", "RECORD", "direct_url.json")]
    return fingerprints([folder, *files] if folder else [])


def _is_traceable(top: str, dist: importlib.metadata.Distribution | None) -> bool:
    """Whether all that determines the module's location is known: it is on the path, in Python itself, or editable."""
    if top in sys.builtin_module_names or stub_path(top) or importlib.machinery.PathFinder.find_spec(top):
        return True
    return top in sys.stdlib_module_names or bool(dist and _is_editable(dist))


def main(argv: Sequence[str] | None = None) -> int:
    """Describe each library; returns exit status 3 if one is unknown."""
    parser = argparse.ArgumentParser(description="Find libraries by distribution or import name.")
    parser.add_argument("libraries", nargs="+")
    parser.add_argument("--documents", action="store_true", help="also README and example programs")
    options = parser.parse_args(argv)
    status = 0
    environment_states = fingerprints(import_environment())
    for name in options.libraries:
        module = resolve_import_name(name.strip())
        if module is None:
            status = 3
            print(json.dumps({"error": "unknown", "library": name, "near": similar_names(name.strip())}), flush=True)
            continue
        library = describe(module, environment_states)
        if options.documents:
            spec = _find_top_level_spec(module.partition(".")[0])
            library.update(shipped_documents(distribution(module), spec))
        print(json.dumps({"library": library}), flush=True)
    return status


if __name__ == "__main__":
    sys.exit(main())

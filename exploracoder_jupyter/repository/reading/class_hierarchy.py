"""The members of a class with those that it inherits, in the repository by the index and elsewhere by jedi.

Jedi reads the sources and stubs of installed packages; it imports none of the repository.
"""

from __future__ import annotations

import builtins
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from threading import Lock, Thread
from typing import TYPE_CHECKING, Final

from exploracoder_jupyter.core.time_limits import scale_limit
from exploracoder_jupyter.pipeline.guarded_heuristics import heuristic
from exploracoder_jupyter.repository.reading.repository_index import RepositoryIndex
from exploracoder_jupyter.repository.reading.source_file import Definition, DefinitionKind, SourceFile

if TYPE_CHECKING:
    from jedi import Project

_MAX_BASES: Final = 40
"""Classes that are followed from one class."""
_PARAMETERS: Final = re.compile(r"\w\s*\(([^()]*)\)(?:\s*throws [\w., ]+)?$")
_jedi_lock = Lock()


@dataclass(frozen=True, slots=True)
class Member:
    """A member of a class, its own or inherited."""

    definition: Definition
    origin: str
    """Dotted path of the class that defines it; empty for the class itself."""


@dataclass(frozen=True, slots=True)
class ExternalBase:
    """A base class that the repository does not define."""

    name: str
    """As written: `dict`, `abc.ABC`, `models.Model`."""
    statement: str
    """The import statement that binds its first part; empty for a builtin."""
    file: str
    """The file that names it."""


_known: dict[tuple[Path, str, ExternalBase], tuple[Definition, ...] | None] = {}
_NOT_INHERITED: Final = ("builtins.type.", "typing._")
"""Beginnings of the paths of what jedi offers for a class without instances having it: metaclass, aliases."""


def lineage(index: RepositoryIndex, owner: Definition) -> tuple[list[Definition], list[ExternalBase]]:
    """Return a class with its bases in the repository, breadth first, each once, and its other bases."""
    classes, external = [owner], dict[ExternalBase, None]()
    for current in classes:  # grows while it is iterated
        file = index.by_path[current.file]
        for name in current.bases:
            base = _resolve_class(index, file, name)
            if base is None:
                first = name.partition(".")[0]
                statement = next((item.statement for item in file.imports if item.name == first), "")
                external[ExternalBase(name, statement, file.path)] = None
            elif base not in classes and len(classes) < _MAX_BASES:
                classes.append(base)
    return classes, list(external)


def inherited_members(index: RepositoryIndex, owner: Definition) -> Iterator[Member]:
    """Yield the members of a class in the repository; an overridden one only where it is overridden last."""
    seen: set[tuple[str, str]] = set()
    for place, current in enumerate(lineage(index, owner)[0]):
        origin = index.path_of(current) if place else ""
        own = [item for item in index.members(current) if not place or item.name != current.name]
        yield from (Member(item, origin) for item in own if _overridden_as(item) not in seen)
        seen |= {_overridden_as(item) for item in own}


def _overridden_as(item: Definition) -> tuple[str, str]:
    """Return what two members have in common of which one overrides the other: in Java also the parameters."""
    parameters = _PARAMETERS.search(item.signature) if item.file.endswith(".java") else None
    return item.name, parameters[1] if parameters else ""


def _resolve_class(index: RepositoryIndex, file: SourceFile, name: str) -> Definition | None:
    """Return the class of the repository that a name means in a file; `None` if it is defined elsewhere."""
    first, last = name.partition(".")[0], name.rpartition(".")[2]
    found = [item for item in index.definitions.get(last, ()) if item.kind == "class"]
    if own := [item for item in found if item.file == file.path]:
        return own[0]
    modules = [item.module for item in file.imports if item.name == first]
    if file.language == "java":
        modules.append(file.module)
    for item in found:
        # the imported module, or one below it: a package re-exports what its modules define
        if any(f"{index.by_path[item.file].module}.".startswith(f"{module}.") for module in modules):
            return item
    is_foreign = all(module.partition(".")[0] not in index.roots for module in modules)
    return found[0] if len(found) == 1 and not is_foreign else None


def external_members(
    root: Path, base: ExternalBase, *, seconds: float, python: str = ""
) -> tuple[Definition, ...] | None:
    """Return the public members of a class that is installed; `None` if jedi finds no such class, or not in time.

    `python` is the interpreter where it is installed; by default the one that runs this. Reading a large package for
    the first time may take jedi much longer than a look-up may last: later look-ups find it.
    """
    if not base.file.endswith(".py"):
        return ()
    reader = Thread(target=_read_external, args=(root, base, python), daemon=True)
    reader.start()
    reader.join(scale_limit(seconds))
    return _known.get((root, python, base))


@heuristic("reading an external class", lambda root, base, python: None)
def _read_external(root: Path, base: ExternalBase, python: str) -> None:
    import jedi  # takes a third of a second and is rarely needed

    with _jedi_lock:
        if (root, python, base) in _known:
            return
        try:
            project = _project(root, python)
        except jedi.InvalidPythonEnvironment:  # of another machine
            return
        script = jedi.Script(f"{base.statement}\n{base.name}.", path=root / base.file, project=project)
        found = []
        for item in script.complete():
            if not item.name.startswith("_") and not (item.full_name or "").startswith(_NOT_INHERITED):
                signatures = item.get_signatures() if item.type == "function" else []
                signature = f"def {signatures[0].to_string()}" if signatures else item.name
                kind: DefinitionKind = "method" if item.type == "function" else "attribute"
                found.append(Definition(kind, item.name, base.name, "", 0, 0, signature))
        exists = found or script.infer(2, len(base.name) - 1)
        _known[root, python, base] = tuple(found) if exists else None


@cache
def _project(root: Path, python: str) -> Project:
    """Return jedi's project, which keeps a process of another interpreter; an error of jedi's if it has none."""
    import jedi

    source = [str(root / "src")]
    project = jedi.Project(root, environment_path=python or None, added_sys_path=source, load_unsafe_extensions=False)
    project.get_environment()
    return project


def external_class(index: RepositoryIndex, name: str) -> ExternalBase | None:
    """Return a class of another package that files of the repository import, or a builtin one, by its name."""
    first = name.partition(".")[0]
    for file, item in index.imports.get(first, ()):
        if item.module.partition(".")[0] not in index.roots:
            return ExternalBase(name, item.statement, file.path)
    if first != name:  # a dotted path
        return ExternalBase(name, f"import {name.rpartition('.')[0]}", "x.py")
    return ExternalBase(name, "", "x.py") if isinstance(getattr(builtins, name, None), type) else None

"""Reads the public surface of an installed library in the environment where it is installed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass

import anyio
from pydantic import TypeAdapter

from exploracoder_jupyter.core.errors import KernelError
from exploracoder_jupyter.core.required_libraries import not_installed
from exploracoder_jupyter.core.types import ApiDoc, LibraryInfo
from exploracoder_jupyter.kernel_agent.introspection.locations import fingerprint
from exploracoder_jupyter.knowledge.extraction import docstrings, library_walk
from exploracoder_jupyter.knowledge.extraction.library_walk import (
    WALKER_VERSION,
    About,
    Advance,
    Row,
    read_lines,
    read_shipped_documents,
    unreadable_library,
    walk_library,
)
from exploracoder_jupyter.knowledge.extraction.library_walk import Inspect as Inspect
from exploracoder_jupyter.knowledge.knowledge_cache import KnowledgeCache, digest, parse_stored

# Resolves names as written in documentation to API paths.


def is_public(path: str) -> bool:
    """Return whether no part of a dotted path is marked as private."""
    return not path.startswith("_") and "._" not in path


def resolve_names(names: Sequence[str], near: str, *, library: str, known: Mapping[str, str]) -> tuple[str, ...]:
    """Resolve these names as the documentation of `near` means them; unknown names stay as written.

    `known` maps every path of the library to the path of the API that it leads to.
    """
    found = {}
    for name in names:
        paths = (known.get(candidate) for candidate in _candidates(name, near, library))
        found[next(filter(None, paths), name)] = True
    return tuple(path for path in found if path != near)


def _candidates(name: str, near: str, library: str) -> Iterator[str]:
    """Yield possible paths, nearest first.

    The order: below the API itself, next to it and further out, in the library, with an alias such as `np` replaced.
    """
    yield name if name.startswith(f"{library}.") else f"{near}.{name}"
    around = near
    while "." in around:
        around = around.rpartition(".")[0]
        yield f"{around}.{name}"
    _, dot, rest = name.partition(".")
    if dot:
        yield f"{library}.{rest}"  # `np.sum`


# Caches which library a name refers to, for as long as the files that determine the answer stay unchanged.
#
# Asking the target's interpreter means starting it in a sandbox, which takes longer than everything else in
# reopening an index.

_ABOUT: TypeAdapter[About] = TypeAdapter(About)


@dataclass(frozen=True, slots=True)
class LibraryNameCache:
    """Cached answers for one environment."""

    store: KnowledgeCache
    environment: str
    """Everything that determines which interpreter answers and where it looks for libraries."""

    def get(self, names: Sequence[str]) -> dict[str, About]:
        """Return the cached answers for these names. Blocks.

        Names without an answer, or whose answer may be out of date, are left out.
        """
        bodies = self.store.get_many("library", map(self._key, names))
        cached = {name: parse_stored(_ABOUT, bodies.get(self._key(name))) for name in names}
        return {name: about for name, about in cached.items() if about and _is_current(about)}

    def put(self, answers: Mapping[str, About]) -> None:
        """Cache the answers for these names. Blocks.

        An answer is skipped if its files look different from here: the interpreter may see other files.
        """
        bodies = {self._key(name): _ABOUT.dump_json(about) for name, about in answers.items() if _is_current(about)}
        self.store.put_many("library", bodies)

    def _key(self, name: str) -> str:
        return digest(str(WALKER_VERSION), self.environment, name)


def _is_current(about: About) -> bool:
    return bool(about.rests) and all(fingerprint(path) == recorded for path, recorded in about.rests.items())


# Reads the public surface of an installed library in the environment where its code will run.
#
# Two programs of `kernel_agent` run in the target's interpreter: `installed_libraries` finds libraries by name and
# reads the files shipped with the code; `api_walk` imports a library and lists its API. Here their rows become
# `ApiDoc`s: docstrings are parsed (`docstrings`, `docstrings`) and combined with the parameters and
# results that the code itself declares (`docstrings`).

STDLIB_DISTRIBUTION = "python"
"""Name of the standard library's distribution in `installed_libraries`."""

MAX_ALIASES = 20
"""How many other public paths are listed for one API; `Surface.aliases` contains all of them."""
_CALLABLE_KINDS = ("function", "method", "class")


@dataclass(frozen=True, slots=True)
class Surface:
    """Everything that was read about one library."""

    info: LibraryInfo
    apis: tuple[ApiDoc, ...]
    aliases: dict[str, str]
    """Maps other public paths to the path in `apis`."""
    introduction: str
    programs: tuple[str, ...]
    """Example programs from the README and the module docstring, then from files shipped with the library."""
    cut: bool = False
    """Whether the time limit ended the walk early."""
    unimported: tuple[tuple[str, str], ...] = ()
    """Submodules that cannot be imported, and why."""
    guides: tuple[tuple[str, str], ...] = ()
    """Name and text of the README and of the documents shipped with the code, as they are."""
    stubs: bool = False
    """Whether it was read from type stubs because the code itself is missing."""


async def find_libraries(
    libraries: Sequence[str], *, inspect: Inspect, remembered: LibraryNameCache | None = None
) -> list[About]:
    """Find the libraries of these names, each once, in the order given. Raises UsageError if a library is not
    installed; the remedy suggests similar names; KernelError if the target's interpreter cannot be started.
    """
    known = await anyio.to_thread.run_sync(remembered.get, libraries, abandon_on_cancel=True) if remembered else {}
    if unknown := [name for name in dict.fromkeys(libraries) if name not in known]:
        answers = dict(zip(unknown, await _query_interpreter(unknown, inspect), strict=True))
        if remembered:
            await anyio.to_thread.run_sync(remembered.put, answers)
        known |= answers
    return list({known[name].key: known[name] for name in libraries}.values())


async def _query_interpreter(names: Sequence[str], inspect: Inspect) -> list[About]:
    found: list[About] = []
    async with aclosing(read_lines(inspect, "introspection.installed_libraries", ["--", *names])) as stream:
        async for line in stream:
            if line.error:
                raise not_installed(names[len(found)], line.near)
            if isinstance(about := line.library, About):
                found.append(about)
    if len(found) != len(names):
        raise KernelError("The target's environment could not be read.", remedy="Run `jupyter explora doctor`.")
    return found


async def read_surface(found: About, *, inspect: Inspect, advance: Advance, seconds: float = 180.0) -> Surface:
    """Read the surface of a library.

    `seconds` limits the walk; what was found until then is returned.

    Raises MissingRequirement if the library cannot be imported, or importing it crashes or hangs the interpreter.
    """
    try:
        with anyio.fail_after(seconds + 30):
            about, rows = await walk_library(
                found.name, beside=found.beside, inspect=inspect, advance=advance, seconds=seconds
            )
            documents = await read_shipped_documents(found.name, inspect=inspect)
    except TimeoutError:
        raise unreadable_library(found.name, f"it took longer than {seconds:.0f} s") from None
    except KernelError as error:
        raise unreadable_library(found.name, f"the interpreter ended ({error.message.rstrip('.')})") from error
    return await anyio.to_thread.run_sync(_build_surface, found, about, rows, documents, abandon_on_cancel=True)


def _build_surface(found: About, about: About, rows: list[Row], documents: About) -> Surface:
    info = LibraryInfo(found.name, found.distribution, found.version or about.version)
    rows.sort(key=lambda row: row.path)
    bare = [row.path for row in rows if not row.signature and row.kind in _CALLABLE_KINDS]
    is_standard = found.distribution == STDLIB_DISTRIBUTION
    stubbed = library_walk.stub_signatures(bare, module=found.name) if is_standard and bare else {}
    aliases = {alias: row.path for row in rows for alias in row.internal_paths}
    aliases |= {alias: row.path for row in rows for alias in row.aliases}
    known = {row.path: row.path for row in rows} | aliases
    members = _class_members(rows)
    apis = tuple(_build_api(row, info, stubbed, known, members) for row in rows)
    programs = (
        *docstrings.extract_examples(documents.readme),
        *docstrings.extract_examples(about.doc),
        *documents.programs,
    )
    return Surface(
        info=info,
        apis=apis,
        aliases=aliases,
        introduction="\n\n".join(filter(None, (docstrings.strip_markup(documents.readme), about.doc))),
        programs=tuple(dict.fromkeys(programs)),
        cut=about.cut,
        unimported=about.unimported,
        guides=((("README.md", documents.readme),) if documents.readme.strip() else ()) + documents.guides,
        stubs=about.stubs,
    )


def _class_members(rows: Sequence[Row]) -> dict[str, tuple[str, ...]]:
    """Return the names of the members of each class, without those that it inherits from other libraries."""
    found: dict[str, dict[str, None]] = {row.path: {} for row in rows if row.kind == "class"}
    for row in rows:
        for path in (row.path, *row.aliases) if row.kind in ("method", "property") and not row.foreign else ():
            owner, _, name = path.rpartition(".")
            if owner in found and not row.deprecated:
                found[owner][name] = None
    return {path: tuple(sorted(names)) for path, names in found.items()}


def _build_api(
    row: Row,
    info: LibraryInfo,
    stubbed: Mapping[str, str],
    known: Mapping[str, str],
    members: Mapping[str, tuple[str, ...]],
) -> ApiDoc:
    doc = docstrings.strip_compiled_signatures(row.doc)
    documented = docstrings.parse_docstring(doc)
    signature = row.signature or stubbed.get(row.path, "")
    return ApiDoc(
        path=row.path,
        kind=row.kind,
        signature=signature,
        description=doc,
        library=info.name,
        version=info.version,
        examples=docstrings.extract_examples(doc)[: docstrings.MAX_EXAMPLES],
        deprecated=row.deprecated or docstrings.find_deprecation(doc),
        parameters=docstrings.merge_parameters(row.parameters, signature, documented.parameters)
        if row.kind in _CALLABLE_KINDS
        else (),
        returns=docstrings.merge_returns(row.returns, documented.returns) if row.kind != "class" else "",
        notes=documented.notes,
        see_also=resolve_names(documented.see_also, row.path, library=info.name, known=known),
        aliases=tuple(sorted(filter(is_public, row.aliases), key=lambda path: (path.count("."), path))[:MAX_ALIASES]),
        members=row.values or members.get(row.path, ()),
        foreign=row.foreign,
    )

"""The public surface of an installed library, read where its code will run.

Two programs of `inside` do the reading in the target's interpreter: `docs_walk` finds libraries by name and reads what
is shipped beside the code, `api_walk` imports one and lists its API (`walked`). Here their rows become `ApiDoc`s:
docstrings are read (`docstring`, `docs`), with the code's own account of parameters and results (`calls`).
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass

import anyio

from exploracoder_jupyter.core.errors import KernelError
from exploracoder_jupyter.core.library_check import not_installed
from exploracoder_jupyter.core.types import ApiDoc, LibraryInfo
from exploracoder_jupyter.knowledge.extraction import (
    api_parameters,
    docstring_examples,
    docstring_sections,
    stdlib_stubs,
)
from exploracoder_jupyter.knowledge.extraction.library_name_cache import Remembered
from exploracoder_jupyter.knowledge.extraction.walk_rows import (
    WALKER,
    About,
    Advance,
    Row,
    lines,
    shipped,
    unreadable,
    walk,
)
from exploracoder_jupyter.knowledge.extraction.walk_rows import Inspect as Inspect
from exploracoder_jupyter.knowledge.extraction.written_paths import Paths, is_public

STANDARD = "python"
"""What `docs_walk` calls the distribution of the standard library."""

MOST_ALIASES = 20
"""Other public paths told of one API; all of them are found by `Surface.aliases`."""
_CALLED = ("function", "method", "class")


@dataclass(frozen=True, slots=True)
class Found:
    """A library that exists in the target's environment."""

    name: str
    """Import name, dotted for a submodule."""
    distribution: str
    version: str
    interpreter: str
    stamp: str = ""
    """Changes when the code does where the version does not say so."""
    beside: tuple[str, ...] = ()
    """Other top-level modules of the distribution: what it takes from them is its own (`attrs` from `attr`)."""

    @property
    def key(self) -> str:
        """What its surface is kept under."""
        return "|".join((self.name, self.distribution, self.version, self.interpreter, self.stamp, str(WALKER)))


@dataclass(frozen=True, slots=True)
class Surface:
    """Everything read of one library."""

    info: LibraryInfo
    apis: tuple[ApiDoc, ...]
    aliases: dict[str, str]
    """Other public paths, to the path in `apis`."""
    introduction: str
    """README and module docstring, as prose."""
    programs: tuple[str, ...]
    """Example programs: of README and module docstring, then files shipped with the library."""
    seconds: float
    cut: bool = False
    """Whether the time limit ended the walk early."""
    stubs: bool = False
    """Whether it was read from type stubs, and there is no code of it."""


async def find(libraries: Sequence[str], *, inspect: Inspect, remembered: Remembered | None = None) -> list[Found]:
    """The libraries of these names, each once, in the order given.

    Raises:
        UsageError: one is not installed; near names are in the remedy.
        KernelError: the target's interpreter could not be started.
    """
    known = await anyio.to_thread.run_sync(remembered.get, libraries, abandon_on_cancel=True) if remembered else {}
    if unknown := [name for name in dict.fromkeys(libraries) if name not in known]:
        answers = dict(zip(unknown, await _asked(unknown, inspect), strict=True))
        if remembered:
            await anyio.to_thread.run_sync(remembered.keep, answers)
        known |= answers
    return list(dict.fromkeys(_found(known[name]) for name in libraries))


async def _asked(names: Sequence[str], inspect: Inspect) -> list[About]:
    found: list[About] = []
    async with aclosing(lines(inspect, "introspection.documentation_walk", ["--", *names])) as said:
        async for line in said:
            if line.error:
                raise not_installed(names[len(found)], line.near)
            if isinstance(about := line.library, About):
                found.append(about)
    if len(found) != len(names):
        raise KernelError("The target's environment could not be read.", remedy="Run `jupyter explora doctor`.")
    return found


async def read(found: Found, *, inspect: Inspect, advance: Advance, seconds: float = 180.0) -> Surface:
    """The surface of a library; `seconds` limits the walk, what was found until then is kept.

    Raises:
        MissingMeans: it cannot be imported, or importing it ends or hangs the interpreter.
    """
    began = time.monotonic()
    try:
        with anyio.fail_after(seconds + 30):
            about, rows = await walk(found.name, beside=found.beside, inspect=inspect, advance=advance, seconds=seconds)
            documents = await shipped(found.name, inspect=inspect)
    except TimeoutError:
        raise unreadable(found.name, f"it took longer than {seconds:.0f} s") from None
    except KernelError as error:
        raise unreadable(found.name, f"the interpreter ended ({error.message.rstrip('.')})") from error
    return await anyio.to_thread.run_sync(_surface, found, about, rows, documents, began, abandon_on_cancel=True)


def _found(about: About) -> Found:
    return Found(
        about.name, about.distribution, about.version, about.interpreter, stamp=about.stamp, beside=about.beside
    )


def _surface(found: Found, about: About, rows: list[Row], documents: About, began: float) -> Surface:
    info = LibraryInfo(found.name, found.distribution, found.version or about.version)
    rows.sort(key=lambda row: row.path)
    bare = [row.path for row in rows if not row.signature and row.kind in _CALLED]
    stubbed = stdlib_stubs.signatures(bare, module=found.name) if found.distribution == STANDARD and bare else {}
    aliases = {alias: row.path for row in rows for alias in row.held}
    aliases |= {alias: row.path for row in rows for alias in row.aliases}
    known = Paths({row.path: row.path for row in rows} | aliases, info.name)
    apis = tuple(_api(row, info, stubbed, known) for row in rows)
    programs = (
        *docstring_examples.examples(documents.readme),
        *docstring_examples.examples(about.doc),
        *documents.programs,
    )
    return Surface(
        info=info,
        apis=apis,
        aliases=aliases,
        introduction="\n\n".join(filter(None, (docstring_examples.prose(documents.readme), about.doc))),
        programs=tuple(dict.fromkeys(programs)),
        seconds=time.monotonic() - began,
        cut=about.cut,
        stubs=about.stubs,
    )


def _api(row: Row, info: LibraryInfo, stubbed: Mapping[str, str], known: Paths) -> ApiDoc:
    said = docstring_sections.read(row.doc)
    signature = row.signature or stubbed.get(row.path, "")
    return ApiDoc(
        path=row.path,
        kind=row.kind,
        signature=signature,
        description=row.doc,
        library=info.name,
        version=info.version,
        examples=docstring_examples.examples(row.doc)[: docstring_examples.MOST_EXAMPLES],
        deprecated=row.deprecated or docstring_examples.deprecation(row.doc),
        parameters=api_parameters.parameters(row.parameters, signature, said.parameters) if row.kind in _CALLED else (),
        returns=api_parameters.returns(row.returns, said.returns) if row.kind != "class" else "",
        notes=said.notes,
        see_also=known.resolve(said.see_also, row.path),
        aliases=tuple(sorted(filter(is_public, row.aliases), key=lambda path: (path.count("."), path))[:MOST_ALIASES]),
    )

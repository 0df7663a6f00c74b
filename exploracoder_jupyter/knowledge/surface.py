"""The public surface of an installed library, read where its code will run.

Two programs of `inside` do the reading in the target's interpreter: `docs_walk` finds libraries by name and reads what
is shipped beside the code, `api_walk` imports one and lists its API. How they are started is the caller's affair: an
`Inspect` takes the module's name and its arguments and yields the lines that it prints.
"""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field

import anyio
from pydantic import TypeAdapter

from exploracoder_jupyter.errors import KernelError, MissingMeans, UsageError
from exploracoder_jupyter.knowledge import docs, stubs
from exploracoder_jupyter.types import ApiDoc, ApiKind, LibraryInfo

WALKER = 3
"""Version of what the walkers give; a new one makes kept surfaces void."""

Inspect = Callable[[str, Sequence[str]], AsyncIterator[str]]
"""Runs a module of `inside` with arguments in the target's interpreter; yields its lines. Raises KernelError."""

Advance = Callable[[int], None]
"""Is told how many APIs have been found so far."""

STANDARD = "python"
"""What `docs_walk` calls the distribution of the standard library."""

MOST_EXAMPLES = 6
"""Examples kept for one API."""


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


@dataclass(frozen=True, slots=True)
class _Api:
    path: str
    kind: ApiKind
    signature: str
    doc: str
    aliases: tuple[str, ...] = ()
    deprecated: str | None = None


@dataclass(frozen=True, slots=True)
class _About:
    name: str
    doc: str = ""
    version: str = ""
    distribution: str = ""
    interpreter: str = ""
    stamp: str = ""
    beside: tuple[str, ...] = ()
    readme: str = ""
    programs: tuple[str, ...] = ()
    skipped: int = 0
    cut: bool = False


@dataclass(frozen=True, slots=True)
class _Line:
    """One line of either program: progress, an API, a library, or an error about the library of that name."""

    progress: int | None = None
    api: _Api | None = None
    library: _About | str | None = None
    error: str | None = None
    near: tuple[str, ...] = ()
    detail: str = ""


@dataclass(slots=True)
class _Walked:
    apis: list[_Api] = field(default_factory=list)
    about: _About | None = None


_LINE: TypeAdapter[_Line] = TypeAdapter(_Line)


async def find(libraries: Sequence[str], *, inspect: Inspect) -> list[Found]:
    """The libraries of these names, each once, in the order given.

    Raises:
        UsageError: one is not installed; near names are in the remedy.
    """
    asked = list(libraries)
    found: list[Found] = []
    async with aclosing(_lines(inspect, "docs_walk", ["--", *asked])) as lines:
        async for line in lines:
            if line.error:
                raise _unknown(asked[len(found)], line.near)
            if isinstance(about := line.library, _About):
                found.append(_found(about))
    if len(found) != len(asked):
        raise KernelError("The target's environment could not be read.", remedy="Run `jupyter explora doctor`.")
    return list(dict.fromkeys(found))


async def read(found: Found, *, inspect: Inspect, advance: Advance, seconds: float = 180.0) -> Surface:
    """The surface of a library; `seconds` limits the walk, what was found until then is kept.

    Raises:
        MissingMeans: it cannot be imported, or importing it ends or hangs the interpreter.
    """
    began = time.monotonic()
    try:
        with anyio.fail_after(seconds + 30):
            walked = await _walk(found, inspect=inspect, advance=advance, seconds=seconds)
            shipped = await _shipped(found, inspect=inspect)
    except TimeoutError:
        raise _unreadable(found, f"it took longer than {seconds:.0f} s") from None
    except KernelError as error:
        raise _unreadable(found, f"the interpreter ended ({error.message.rstrip('.')})") from error
    return await anyio.to_thread.run_sync(_surface, found, walked, shipped, began)


def _found(about: _About) -> Found:
    return Found(
        about.name, about.distribution, about.version, about.interpreter, stamp=about.stamp, beside=about.beside
    )


async def _walk(found: Found, *, inspect: Inspect, advance: Advance, seconds: float) -> _Walked:
    walked = _Walked()
    beside = [argument for name in found.beside for argument in ("--beside", name)]
    arguments = ["--seconds", str(seconds), *beside, "--", found.name]
    async with aclosing(_lines(inspect, "api_walk", arguments)) as lines:
        async for line in lines:
            if line.error:
                raise _unreadable(found, line.detail)
            if line.api:
                walked.apis.append(line.api)
            advance(line.progress or len(walked.apis))
            if isinstance(line.library, _About):
                walked.about = line.library
    if walked.about is None:
        raise _unreadable(found, "the interpreter ended while it was imported")
    return walked


async def _shipped(found: Found, *, inspect: Inspect) -> _About:
    async with aclosing(_lines(inspect, "docs_walk", ["--documents", "--", found.name])) as lines:
        async for line in lines:
            if isinstance(line.library, _About):
                return line.library
    return _About(found.name)


async def _lines(inspect: Inspect, module: str, args: Sequence[str]) -> AsyncGenerator[_Line, None]:
    stream = inspect(module, args)
    try:
        async for text in stream:
            if text.strip():
                yield _LINE.validate_json(text)
    finally:
        if isinstance(stream, AsyncGenerator):
            with anyio.CancelScope(shield=True):
                await stream.aclose()


def _surface(found: Found, walked: _Walked, shipped: _About, began: float) -> Surface:
    about = walked.about or _About(found.name)
    info = LibraryInfo(found.name, found.distribution, found.version or about.version)
    rows = sorted(walked.apis, key=lambda row: row.path)
    bare = [row.path for row in rows if not row.signature and row.kind in ("function", "method", "class")]
    stubbed = stubs.signatures(bare, module=found.name) if found.distribution == STANDARD and bare else {}
    apis = tuple(_api(row, info, stubbed) for row in rows)
    programs = (*docs.examples(shipped.readme), *docs.examples(about.doc), *shipped.programs)
    return Surface(
        info=info,
        apis=apis,
        aliases={alias: row.path for row in walked.apis for alias in row.aliases},
        introduction="\n\n".join(filter(None, (docs.prose(shipped.readme), about.doc))),
        programs=tuple(dict.fromkeys(programs)),
        seconds=time.monotonic() - began,
        cut=about.cut,
    )


def _api(row: _Api, info: LibraryInfo, stubbed: Mapping[str, str]) -> ApiDoc:
    return ApiDoc(
        path=row.path,
        kind=row.kind,
        signature=row.signature or stubbed.get(row.path, ""),
        description=row.doc,
        library=info.name,
        version=info.version,
        examples=docs.examples(row.doc)[:MOST_EXAMPLES],
        deprecated=row.deprecated or docs.deprecation(row.doc),
    )


def _unknown(name: str, near: Sequence[str]) -> UsageError:
    meant = " or ".join(repr(other) for other in near[:2])
    return UsageError(
        f"Library {name!r} is not installed in this kernel's environment.",
        remedy=f"Did you mean {meant}? Otherwise install it there." if near else "Install it there, or check its name.",
    )


def _unreadable(found: Found, why: str) -> MissingMeans:
    return MissingMeans(
        f"Library {found.name!r} is installed but cannot be imported: {why.rstrip('.')}.",
        remedy=f"Make `import {found.name}` work in this kernel first.",
    )

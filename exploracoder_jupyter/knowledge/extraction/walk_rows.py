"""What the programs of `inside` say when they read a library, line by line, and the walk that they say it of.

How the programs are started is the caller's affair: an `Inspect` takes the module's name and its arguments and yields
the lines that it prints.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field

import anyio
from pydantic import TypeAdapter

from exploracoder_jupyter.core.errors import KernelError, MissingMeans
from exploracoder_jupyter.core.types import ApiKind

Inspect = Callable[[str, Sequence[str]], AsyncIterator[str]]
"""Runs a module of `inside` with arguments in the target's interpreter; yields its lines. Raises KernelError."""

WALKER = 7
"""Version of what the programs say; a new one makes void what was kept of it."""

Advance = Callable[[int], None]
"""Is told how many APIs have been found so far."""

_MOST_DEADLY = 5
"""Submodules that may end the interpreter before the library is given up."""


@dataclass(frozen=True, slots=True)
class Row:
    """One public object, as the walk prints it."""

    path: str
    kind: ApiKind
    signature: str
    doc: str
    aliases: tuple[str, ...] = ()
    """Other paths by which users may know it."""
    held: tuple[str, ...] = ()
    """Paths by which other modules hold it for their own use."""
    deprecated: str | None = None
    parameters: tuple[tuple[str, str, str], ...] = ()
    """Name with its stars, type and default, where the code tells them."""
    returns: str = ""


@dataclass(frozen=True, slots=True)
class About:
    """A library, as far as the program that was asked knows it."""

    name: str
    doc: str = ""
    version: str = ""
    distribution: str = ""
    interpreter: str = ""
    stamp: str = ""
    beside: tuple[str, ...] = ()
    rests: dict[str, str] = field(default_factory=dict)
    """Files and folders on which the answer rests, with their state (`kernel_agent.introspection.file_fingerprints`);
    none where nobody knows."""
    readme: str = ""
    programs: tuple[str, ...] = ()
    skipped: int = 0
    """Submodules that could not be imported."""
    cut: bool = False
    stubs: bool = False
    """Whether only type stubs of it are installed."""


@dataclass(frozen=True, slots=True)
class Line:
    """One line of either program."""

    progress: int | None = None
    loading: str | None = None
    """The submodule that is being imported; empty when that is over."""
    api: Row | None = None
    library: About | str | None = None
    """What is known of it, or the name of which `error` speaks."""
    error: str | None = None
    near: tuple[str, ...] = ()
    detail: str = ""


@dataclass(slots=True)
class Walked:
    """What has come of a walk so far."""

    rows: list[Row] = field(default_factory=list)
    about: About | None = None
    """Comes last."""
    loading: str = ""


_LINE: TypeAdapter[Line] = TypeAdapter(Line)


async def walk(
    name: str, *, beside: Sequence[str], inspect: Inspect, advance: Advance, seconds: float
) -> tuple[About, list[Row]]:
    """Walk a library; a submodule whose import ends the interpreter is left out, in another try.

    Raises:
        MissingMeans: it cannot be imported.
        KernelError: the interpreter ended otherwise.
    """
    options = ["--seconds", str(seconds), *(word for module in beside for word in ("--beside", module))]
    for _ in range(_MOST_DEADLY):
        walked = Walked()
        ended: KernelError | None = None
        try:
            await _walk(name, options, walked, inspect=inspect, advance=advance)
        except KernelError as error:
            ended = error
        if walked.about:
            return walked.about, walked.rows
        if not walked.loading:
            raise ended or unreadable(name, "the interpreter ended while it was imported")
        options += ["--without", walked.loading]
    raise unreadable(name, "several of its modules end the interpreter")


async def _walk(name: str, options: Sequence[str], walked: Walked, *, inspect: Inspect, advance: Advance) -> None:
    async with aclosing(lines(inspect, "introspection.api_walk", [*options, "--", name])) as said:
        async for line in said:
            if line.error:
                raise unreadable(name, line.detail)
            if line.api:
                walked.rows.append(line.api)
            if line.loading is not None:
                walked.loading = line.loading
            advance(line.progress or len(walked.rows))
            if isinstance(line.library, About):
                walked.about = line.library


async def shipped(name: str, *, inspect: Inspect) -> About:
    """README and example programs of a library."""
    async with aclosing(lines(inspect, "introspection.documentation_walk", ["--documents", "--", name])) as said:
        async for line in said:
            if isinstance(line.library, About):
                return line.library
    return About(name)


async def lines(inspect: Inspect, module: str, args: Sequence[str]) -> AsyncGenerator[Line, None]:
    """What a program says. Raises KernelError when it fails."""
    stream = inspect(module, args)
    try:
        async for text in stream:
            if text.strip():
                yield _LINE.validate_json(text)
    finally:
        if isinstance(stream, AsyncGenerator):
            with anyio.CancelScope(shield=True):
                await stream.aclose()


def unreadable(name: str, why: str) -> MissingMeans:
    """The error that says why a library cannot be read."""
    return MissingMeans(
        f"Library {name!r} is installed but cannot be imported: {why.rstrip('.')}.",
        remedy=f"Make `import {name}` work in this kernel first, or describe the library with --docs.",
    )

"""Runs the programs that read a library, parses the lines they print, and collects the rows of a walk.

Starting the programs is up to the caller: an `Inspect` takes the module's name and its arguments and yields the lines
that it prints.
"""

from __future__ import annotations

import errno
import json
import math
import os
import re
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator, Sequence
from contextlib import aclosing, contextmanager
from dataclasses import dataclass, field
from tempfile import TemporaryDirectory
from typing import Any

import anyio
from pydantic import TypeAdapter

from exploracoder_jupyter.core.errors import KernelError, MissingRequirement
from exploracoder_jupyter.core.platforms import system
from exploracoder_jupyter.core.types import ApiKind

# Signatures from type stubs, for compiled parts of the standard library, which often cannot be inspected.
#
# jedi ships the stubs (typeshed) and reads them without running anything. For other libraries jedi would import
# their compiled modules in this process, outside of any sandbox, so their signatures stay as the walk found them.

_SECONDS = 10.0
_MAX_APIS = 300
_SELF_PARAMETER = re.compile(r"^\((?:self|cls)(?:, /)?(?:, )?")


def stub_signatures(paths: Sequence[str], *, module: str) -> dict[str, str]:
    """Look up the stub signatures of these standard-library APIs, such as `(x, base=...)`, for at most `_SECONDS`."""
    import jedi  # takes a third of a second and is rarely needed

    deadline = time.monotonic() + _SECONDS
    found: dict[str, str] = {}
    with _private_cache(jedi.settings):
        for path in paths[:_MAX_APIS]:
            if time.monotonic() > deadline:
                break
            script = jedi.Script(f"import {module}\n{path}(", environment=jedi.InterpreterEnvironment())
            for signature in script.get_signatures()[:1]:
                text = signature.to_string()
                found[path] = _SELF_PARAMETER.sub("(", text[text.index("(") :].partition(" -> ")[0])
    return found


@contextmanager
def _private_cache(settings: Any) -> Iterator[None]:
    """Let jedi keep parsed stubs in a folder of this process while the block runs; what it has in memory stays.

    In the folder that jedi shares between processes, one can read a file that another has begun to write. The folder
    goes at once, because a process of ours may be killed instead of ending.
    """
    shared = settings.cache_directory
    with TemporaryDirectory(prefix="stubs-") as folder:
        settings.cache_directory = folder
        try:
            yield
        finally:
            settings.cache_directory = shared


Inspect = Callable[[str, Sequence[str]], AsyncIterator[str]]
"""Runs a module of `kernel_agent` in the target's interpreter and yields the lines it prints. Raises KernelError."""

WALKER_VERSION = 10
"""Version of the programs' output; incrementing it invalidates everything cached from older output."""

Advance = Callable[[int], None]

IMPORT_SECONDS = 120.0
"""How long the import of a library itself may take."""
_GRACE = 10.0
"""Seconds after which an import that does not heed its limit is ended from outside."""
_MAX_PATHS = 12
_MAX_CRASHES = 5
"""How many submodules may crash the interpreter before reading the library fails."""


@dataclass(frozen=True, slots=True)
class Row:
    """One public object, as printed by the walk."""

    path: str
    kind: ApiKind
    signature: str
    doc: str
    aliases: tuple[str, ...] = ()
    """Other paths by which users may know it."""
    internal_paths: tuple[str, ...] = ()
    """Paths under which other modules import it for their own use."""
    deprecated: str | None = None
    parameters: tuple[tuple[str, str, str], ...] = ()
    """Name with its stars, type and default, if the code declares them."""
    returns: str = ""
    foreign: bool = False
    """Whether it is a member that a class inherits from another library."""
    values: tuple[str, ...] = ()
    """Names of the values of an enum."""


@dataclass(frozen=True, slots=True)
class About:
    """What is known about a library."""

    name: str
    """Import name, dotted for a submodule."""
    doc: str = ""
    version: str = ""
    distribution: str = ""
    origin: str = ""
    """The file that experiments import, unless something in their folder shadows it; see `module_origin`."""
    interpreter: str = ""
    stamp: str = ""
    """Changes when the code changes but the version does not."""
    beside: tuple[str, ...] = ()
    """Other top-level modules of the distribution; imports from them belong to the library (`attrs` from `attr`)."""
    rests: dict[str, str] = field(default_factory=dict)
    """Files and folders that determine the answer, with their state (`kernel_agent.introspection.locations`);
    empty if unknown."""
    readme: str = ""
    programs: tuple[str, ...] = ()
    guides: tuple[tuple[str, str], ...] = ()
    """Name and text of each document in the folder of the code."""
    unimported: tuple[tuple[str, str], ...] = ()
    """Submodules that cannot be imported, and why."""
    cut: bool = False
    stubs: bool = False
    """Whether only its type stubs are installed."""

    @property
    def key(self) -> str:
        """Cache key of the library's surface."""
        return "|".join((self.name, self.distribution, self.version, self.interpreter, self.stamp, str(WALKER_VERSION)))


@dataclass(frozen=True, slots=True)
class Line:
    """One line printed by either program."""

    imported: bool = False
    """Whether the library itself has been imported."""
    progress: int | None = None
    loading: str | None = None
    """The submodule that is being imported; empty when the import is done."""
    api: Row | None = None
    library: About | str | None = None
    """The library, or the name that `error` refers to."""
    error: str | None = None
    near: tuple[str, ...] = ()
    detail: str = ""
    missing: tuple[str, ...] = ()
    """Paths that the error names and that the program does not see."""


@dataclass(slots=True)
class WalkState:
    """The state of a walk in progress."""

    rows: list[Row] = field(default_factory=list)
    about: About | None = None
    """Arrives last."""
    loading: str = ""
    found: int = 0


_LINE: TypeAdapter[Line] = TypeAdapter(Line)


async def walk_library(
    name: str, *, beside: Sequence[str], inspect: Inspect, advance: Advance, seconds: float
) -> tuple[About, list[Row]]:
    """Walk a library; a submodule whose import crashes the interpreter is left out in another attempt. Raises
    MissingRequirement if the library cannot be imported; KernelError if the interpreter ended for another reason.
    """
    limit = min(seconds, IMPORT_SECONDS)
    options = ["--seconds", str(seconds), "--import-seconds", str(limit)]
    options += [word for module in beside for word in ("--beside", module)]
    for _ in range(_MAX_CRASHES):
        state = WalkState()
        ended: KernelError | None = None
        try:
            with anyio.fail_after(limit + _GRACE) as import_scope:
                await _walk_once(name, options, state, import_scope, inspect=inspect, advance=advance)
        except TimeoutError:
            raise unreadable_library(name, f"its import did not end within {limit:g} s") from None
        except KernelError as error:
            ended = error
        if state.about:
            return state.about, state.rows
        if not state.loading:
            raise ended or unreadable_library(name, "the interpreter ended while importing it")
        options += ["--without", state.loading]
    raise unreadable_library(name, "several of its modules crash the interpreter")


async def _walk_once(
    name: str,
    options: Sequence[str],
    state: WalkState,
    import_scope: anyio.CancelScope,
    *,
    inspect: Inspect,
    advance: Advance,
) -> None:
    """Walk a library; `import_scope` has a deadline until the library itself is imported."""
    async with aclosing(read_lines(inspect, "introspection.api_walk", [*options, "--", name])) as stream:
        async for line in stream:
            if line.error:
                raise unreadable_library(name, line.detail, missing=line.missing)
            if line.imported:
                import_scope.deadline = math.inf
            if line.api:
                state.rows.append(line.api)
            if line.loading is not None:
                state.loading = line.loading
            if (found := line.progress or len(state.rows)) > state.found:  # never back to nothing while a module loads
                state.found = found
                advance(found)
            if isinstance(line.library, About):
                state.about = line.library


async def read_shipped_documents(name: str, *, inspect: Inspect) -> About:
    """Read the README and example programs of a library."""
    async with aclosing(
        read_lines(inspect, "introspection.installed_libraries", ["--documents", "--", name])
    ) as stream:
        async for line in stream:
            if isinstance(line.library, About):
                return line.library
    return About(name)


async def read_lines(inspect: Inspect, module: str, args: Sequence[str]) -> AsyncGenerator[Line, None]:
    """Run a program and parse the lines that it prints. Raises KernelError if it fails."""
    stream = inspect(module, args)
    try:
        async for text in stream:
            if text.strip():
                yield _LINE.validate_json(text)
    finally:
        if isinstance(stream, AsyncGenerator):
            with anyio.CancelScope(shield=True):
                await stream.aclose()


async def read_source(paths: Sequence[str], *, inspect: Inspect) -> str:
    """Return the source at the first of these paths that has one; empty if there is none or it cannot be read."""
    try:
        lines = [line async for line in inspect("introspection.source_code", paths[:_MAX_PATHS])]
        found = json.loads("".join(lines))
    except (KernelError, ValueError):
        return ""
    source = found.get("source") if isinstance(found, dict) else None
    return source if isinstance(source, str) else ""


def unreadable_library(name: str, why: str, *, missing: Sequence[str] = ()) -> MissingRequirement:
    """Return the error that explains why a library cannot be read; `missing` are paths that its import did not find."""
    remedy = f"Make `import {name}` work in this kernel first, or describe the library with --docs."
    hidden = [path for path in missing if os.access(path, os.F_OK)]
    if hidden:
        remedy = (
            f"{hidden[0]} exists, but experiments cannot see it: show it with --allow-read {system.quote(hidden[0])}."
        )
    elif os.strerror(errno.EROFS) in why:
        remedy = "Its import writes where experiments may not write; describe the library with --docs."
    return MissingRequirement(
        f"Library {name!r} is installed but cannot be imported: {why.rstrip('.')}.", remedy=remedy
    )

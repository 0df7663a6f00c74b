"""Runs a module of `kernel_agent` as a program in the siblings' interpreter and yields its output line by line.

For inspection that must happen where the code will run but is not part of an exploration: the API of a library, the
installed packages. The program is confined like a sibling. What a library writes at its import, into the home folder
or the working directory, is thrown away; what is there is shown read-only.
"""

from __future__ import annotations

import codecs
import json
import os
import socket
from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator, Callable, Collection, Sequence
from contextlib import AsyncExitStack, aclosing
from itertools import count, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import anyio

from exploracoder_jupyter.core.configuration.sandbox_settings import Sandbox
from exploracoder_jupyter.core.errors import KernelError

if TYPE_CHECKING:
    from exploracoder_jupyter.kernels.launcher import Launcher

Inspect = Callable[[str, Sequence[str]], AsyncIterator[str]]
"""Runs the module of `kernel_agent` with that name and these arguments; yields the lines it prints, without line ends.

Ending the iteration early ends the program. Raises KernelError, with the last line of the log, when the program fails.
"""

_MAX_ENTRIES: Final = 100
_MAX_HOME_ENTRIES: Final = 300
"""Limits on the mounts that show a working directory; the greater number takes a third of a second."""
_serial = count()


def choose_inspector(sandbox: Sandbox) -> Inspect:
    """Return an `Inspect` for the environment that siblings with these settings would have, without starting any."""
    if not sandbox.gateway:
        return local_inspector(sandbox)
    # Imported late: it imports the kernel clients, which are seldom needed.
    from exploracoder_jupyter.kernels.remote.remote_siblings import remote_inspector

    return remote_inspector(sandbox)


async def read_interpreter_facts(inspect: Inspect) -> dict[str, Any]:
    """Return the facts about the interpreter and its packages, by the field names of `Environment`. Raises KernelError:
    the interpreter could not be inspected."""
    found = json.loads("".join([line async for line in inspect("introspection.environment_report", ())]))
    return {name: tuple(value) if isinstance(value, list) else value for name, value in found.items()}


def local_inspector(sandbox: Sandbox, *, workdir: Path | None = None) -> Inspect:
    """Return an `Inspect` that needs no siblings: each call opens its own launcher and removes it afterwards.

    The iteration raises MissingRequirement when the kernel named in the settings cannot be used.
    """

    async def run(module: str, arguments: Sequence[str]) -> AsyncGenerator[str, None]:
        # Imported late: a search in what was read before starts no program.
        from exploracoder_jupyter.kernels.launcher import open_launcher
        from exploracoder_jupyter.kernels.sandbox.workdir_snapshot import copyable_workdir

        async with AsyncExitStack() as stack:
            folder = copyable_workdir(workdir or Path.cwd(), stack)
            launcher = await stack.enter_async_context(open_launcher(sandbox, workdir=folder, kernels=False))
            lines = inspect(launcher, module, arguments, workdir=folder)
            async for line in await stack.enter_async_context(aclosing(lines)):
                yield line

    return run


async def inspect(
    launcher: Launcher, module: str, arguments: Sequence[str], *, workdir: Path
) -> AsyncGenerator[str, None]:
    """Yield the lines printed by a module of `kernel_agent`; see `Inspect`. Raises KernelError: the program could not
    be started, or failed."""
    from exploracoder_jupyter.kernels.processes.process_tree import ProcessTree
    from exploracoder_jupyter.kernels.sandbox.file_mounts import FileView
    from exploracoder_jupyter.kernels.sandbox.hidden_credentials import maskable_paths

    private = launcher.folder / f"i{next(_serial)}"
    (private / "tmp").mkdir(parents=True)
    (private / "work").mkdir()
    entries = _shown_entries(workdir, frozenset(launcher.files.hidden))
    view = FileView(
        workdir=workdir,
        copy=None if entries is None else private / "work",
        borrowed=entries or (),
        temporary=private / "tmp",
        writable=(private,),
        readable=launcher.readable,
        hidden=maskable_paths((*launcher.files.hidden, *launcher.files.private)),
        covered=launcher.files.covered,
        private=launcher.all_runs,
    )
    theirs, ours = socket.socketpair()  # the program ends with this process: `confinement.exit_with_starter`
    with (private / "log").open("wb") as log, theirs, ours:
        try:
            process = await anyio.open_process(
                launcher.command("confinement.exit_with_starter", [module, *arguments], view),
                stdin=theirs.fileno(),
                stderr=log,
                cwd=workdir,
                env=launcher.environ(private),
                start_new_session=True,
            )
        except OSError as error:
            raise KernelError(f"{module} could not be started: {error}.") from error
        try:
            assert process.stdout is not None
            async with aclosing(split_lines(process.stdout)) as lines:
                async for line in lines:
                    yield line
            if await process.wait() != 0:
                lines_of_log = (private / "log").read_text(errors="replace").strip().splitlines()
                why = lines_of_log[-1] if lines_of_log else "no reason was given."
                raise KernelError(f"Reading the environment failed ({module}): {why}")
        finally:
            with anyio.CancelScope(shield=True):
                if process.returncode is None:
                    await ProcessTree(process.pid).end(root_follows=launcher.isolation.mounts)
                await process.aclose()


def _shown_entries(workdir: Path, hidden: Collection[Path]) -> tuple[Path, ...] | None:
    """Return what is shown of the working directory within an empty folder; `None` if it is to be shown as it is,
    because each of its entries would take a mount. Of a home folder, only so many entries are shown."""
    from exploracoder_jupyter.kernels.sandbox.hidden_credentials import home_folders

    is_home = workdir in home_folders(os.environ)
    most = _MAX_HOME_ENTRIES if is_home else _MAX_ENTRIES
    try:
        with os.scandir(workdir) as found:
            shown = (entry for entry in found if not (is_home and entry.name.startswith(".")))
            paths = (Path(entry.path) for entry in shown if entry.is_dir() or entry.is_file())
            entries = tuple(islice((path for path in paths if path not in hidden), most + 1))
    except OSError:
        return None
    return entries[:most] if is_home or len(entries) <= most else None


async def split_lines(chunks: AsyncIterable[bytes]) -> AsyncGenerator[str, None]:
    """Yield the lines of a text that arrives in chunks, without line ends."""
    decoder, rest = codecs.getincrementaldecoder("utf-8")(errors="replace"), ""
    async for chunk in chunks:
        *whole, rest = (rest + decoder.decode(chunk)).split("\n")
        for line in whole:
            yield line
    if rest:
        yield rest

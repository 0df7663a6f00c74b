"""Builds the archive that a remote kernel needs: the package `kernel_agent`, the working directory, the variables; and
unpacks the archive of what the kernel wrote.

The archive is sent within execute requests, in pieces far below the ten megabytes at which servers reject a message.
`_UNPACK` extracts it into a fresh folder on the other machine and leaves the rest to `kernel_agent.adopted_kernel`;
none of its names stays in the kernel's namespace. The cleanup watchdog is started first: a kernel may be deleted at any
moment, and would leave its folder behind.
"""

from __future__ import annotations

import base64
import inspect
import os
import tarfile
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path, PurePosixPath
from typing import Any, Final

from exploracoder_jupyter.core.configuration.sections import Sandbox
from exploracoder_jupyter.kernel_agent.confinement import remote_cleanup
from exploracoder_jupyter.kernels.agent import write_agent_archive
from exploracoder_jupyter.kernels.sandbox.views import hidden_paths, named_paths
from exploracoder_jupyter.kernels.sandbox.working_directory import take_snapshot

MAX_MB: Final = 20
"""Limit on the working directory, even where more may be copied locally: each sibling receives it over a network."""

_CHUNK_BYTES: Final = 750_000
_MEGABYTE: Final = 1 << 20
_SHELL: Final = "__import__('IPython').get_ipython()"

_OPEN: Final = f"{_SHELL}.explora_payload = __import__('tempfile').TemporaryFile()"
"""Code that prepares the kernel for receiving an archive."""

_UNPACK: Final = """
def _explora_unpack(shell, options):
    import importlib, os, secrets, subprocess, sys, tarfile, tempfile
    payload = shell.__dict__.pop("explora_payload")
    payload.seek(0)
    mark = secrets.token_hex(8)
    folder = os.path.join(tempfile.gettempdir(), "xplora-" + mark)
    if os.name == "posix":
        nothing = subprocess.DEVNULL
        leads = str(int(os.getsid(0) == os.getpid()))
        subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", {watchdog!r}, str(os.getpid()), folder, mark, leads],
            stdin=nothing, stdout=nothing, stderr=nothing, cwd="/", start_new_session=True,
        )
        os.environ[{mark!r}] = mark  # set afterwards: the watchdog must not count itself among the cells' processes
    os.mkdir(folder, 0o700)
    with payload, tarfile.open(fileobj=payload) as archive:
        if hasattr(tarfile, "data_filter"):
            archive.extractall(folder, filter="fully_trusted")
        else:
            archive.extractall(folder)
    sys.path.insert(0, os.path.join(folder, "kernel_agent.zip"))
    importlib.import_module("exploracoder_jupyter.kernel_agent.adopted_kernel").adopt(shell, folder, options)


try:
    _explora_unpack(__import__("IPython").get_ipython(), {options!r})
finally:
    del _explora_unpack
"""


@dataclass(frozen=True, slots=True)
class Payload:
    """An archive ready to be sent, and the options for using it."""

    content: bytes
    options: dict[str, Any]
    """The options of `kernel_agent.adopted_kernel.adopt`."""
    note: str
    """What is missing from the working directory, for the user; empty if nothing is."""

    def code(self) -> Iterator[str]:
        """Yield the code to execute in a fresh kernel, in this order."""
        yield _OPEN
        for start in range(0, len(self.content), _CHUNK_BYTES):
            chunk = base64.b64encode(self.content[start : start + _CHUNK_BYTES]).decode()
            yield f"{_SHELL}.explora_payload.write(__import__('base64').b64decode('{chunk}'))"
        watchdog, mark = inspect.getsource(remote_cleanup), remote_cleanup.MARK_VARIABLE
        yield _UNPACK.format(options=self.options, watchdog=watchdog, mark=mark)


def build_payload(
    workdir: Path | None, sandbox: Sandbox, *, variables: Path | None = None, silence_limit: float
) -> Payload:
    """Pack the working directory as it is now (`None` for an empty one) and the folder of variables; blocks.

    `silence_limit`: seconds of silence after which the kernel ends itself.
    """
    buffer = BytesIO()
    with tempfile.TemporaryDirectory(prefix="xplora-payload-") as name:
        folder = Path(name)
        write_agent_archive(folder / "kernel_agent.zip")
        note = ""
        if workdir is None:
            (folder / "work").mkdir()
        else:
            most_mb, named = min(sandbox.copy_mb, MAX_MB), named_paths(workdir, sandbox.allow_read)
            hidden = set(hidden_paths(os.environ)) - named
            note = take_snapshot(
                workdir, folder / "work", most_mb=most_mb, hidden=hidden, named=named, borrow=False
            ).note
        with tarfile.open(fileobj=buffer, mode="w:gz", compresslevel=1) as archive:
            for part in ("kernel_agent.zip", "work"):
                archive.add(folder / part, part, filter=_without_owner)
            if variables is not None:
                archive.add(variables, "variables", filter=_without_owner)
    options = {
        "output": sandbox.output_kb * 1000,
        "limits": {
            "memory": sandbox.memory_mb * _MEGABYTE,
            "cpu": sandbox.cpu_seconds,
            "file": sandbox.file_mb * _MEGABYTE,
        },
        "seconds": silence_limit,
        "variables": variables is not None,
        "pickled": sandbox.pickle,
    }
    return Payload(buffer.getvalue(), options, note)


def unpack_written(archive: bytes, folder: Path, *, max_bytes: int) -> tuple[str, ...]:
    """Write the regular files of an untrusted archive into the folder, at most `max_bytes` bytes; return their relative
    paths, sorted. Raises OSError: the folder cannot be written."""
    copied: set[str] = set()
    with (
        suppress(tarfile.TarError, EOFError, zlib.error),
        tarfile.open(fileobj=BytesIO(archive), mode="r|gz") as packed,
    ):
        for entry in packed:
            path = PurePosixPath(entry.name)
            inside = not path.is_absolute() and ".." not in path.parts
            taken = (folder / path).exists() or any((folder / parent).is_file() for parent in path.parents)
            if entry.isreg() and inside and entry.size <= max_bytes and not taken:
                content = packed.extractfile(entry)
                assert content is not None
                (folder / path).parent.mkdir(parents=True, exist_ok=True)
                (folder / path).write_bytes(content.read())
                max_bytes -= entry.size
                copied.add(path.as_posix())
    return tuple(sorted(copied))


def _without_owner(entry: tarfile.TarInfo) -> tarfile.TarInfo:
    """Remove the owner, whose ids belong to other users on the other machine."""
    entry.uid = entry.gid = 0
    entry.uname = entry.gname = ""
    return entry

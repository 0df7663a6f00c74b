"""What a remote kernel needs of ours, as one archive: the code of `inside`, the working directory, the variables; and
the archive of what it wrote, which comes back.

It travels within execute requests, in pieces that are far smaller than the ten megabytes at which servers refuse a
message. `UNPACK` puts it into a fresh folder over there and lets `kernel_agent.adopted_kernel` do the rest; no name
of it stays in
the kernel's namespace. The `warden` is started first: a kernel may be deleted at any moment, and a folder that nobody
knows would stay behind.
"""

from __future__ import annotations

import base64
import inspect
import json
import os
import tarfile
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path, PurePosixPath
from typing import Final

from exploracoder_jupyter.core.settings import Sandbox
from exploracoder_jupyter.kernel_agent.confinement import cleanup_watchdog
from exploracoder_jupyter.kernels.interpreter import write_inside
from exploracoder_jupyter.kernels.sandbox.environment_variables import hidden_paths
from exploracoder_jupyter.kernels.sandbox.scratch_folder import Snapshot, take_snapshot

MOST_MB: Final = 20
"""Of the working directory, however much may be copied on this machine: it goes to each sibling, over a network."""

_PIECE: Final = 750_000
_MEGABYTE: Final = 1 << 20
_SHELL: Final = "__import__('IPython').get_ipython()"

OPEN: Final = f"{_SHELL}.explora_parcel = __import__('tempfile').TemporaryFile()"
"""Code that begins to take a parcel."""

_UNPACK: Final = """
def _explora_unpack(shell, options):
    import importlib, os, secrets, subprocess, sys, tarfile, tempfile
    parcel = shell.__dict__.pop("explora_parcel")
    parcel.seek(0)
    mark = secrets.token_hex(8)
    folder = os.path.join(tempfile.gettempdir(), "xplora-" + mark)
    if os.name == "posix":
        nothing = subprocess.DEVNULL
        leads = str(int(os.getsid(0) == os.getpid()))
        subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", {warden!r}, str(os.getpid()), folder, mark, leads],
            stdin=nothing, stdout=nothing, stderr=nothing, cwd="/", start_new_session=True,
        )
        os.environ[{mark!r}] = mark  # after it: the warden must not take itself for one of the cells' processes
    os.mkdir(folder, 0o700)
    with parcel, tarfile.open(fileobj=parcel) as archive:
        if hasattr(tarfile, "data_filter"):
            archive.extractall(folder, filter="fully_trusted")
        else:
            archive.extractall(folder)
    sys.path.insert(0, os.path.join(folder, "inside.zip"))
    importlib.import_module("exploracoder_jupyter.kernel_agent.adopted_kernel").settle(shell, folder, options)


try:
    _explora_unpack(__import__("IPython").get_ipython(), {options!r})
finally:
    del _explora_unpack
"""


@dataclass(frozen=True, slots=True)
class Parcel:
    """An archive, ready to be sent, and how it is to be used."""

    content: bytes
    options: str
    """JSON: the options of `kernel_agent.adopted_kernel.settle`."""
    note: str
    """What of the working directory is not in it, for people; empty when that is nothing."""

    def code(self) -> Iterator[str]:
        """The code to execute in a fresh kernel, in this order."""
        yield OPEN
        for start in range(0, len(self.content), _PIECE):
            piece = base64.b64encode(self.content[start : start + _PIECE]).decode()
            yield f"{_SHELL}.explora_parcel.write(__import__('base64').b64decode('{piece}'))"
        values = {
            "options": json.loads(self.options),
            "warden": inspect.getsource(cleanup_watchdog),
            "mark": cleanup_watchdog.MARK,
        }
        yield _UNPACK.format(**values)


def pack(workdir: Path | None, sandbox: Sandbox, *, variables: Path | None = None, patience: float) -> Parcel:
    """Pack the working directory as it is now, or none of it, and the folder of variables; blocks.

    `patience`: seconds of silence after which the kernel ends itself.
    """
    buffer = BytesIO()
    with tempfile.TemporaryDirectory(prefix="xplora-parcel-") as name:
        folder = Path(name)
        write_inside(folder / "inside.zip")
        note = ""
        if workdir is None:
            (folder / "work").mkdir()
        else:
            note = _snapshot(workdir, folder / "work", sandbox.copy_mb).note
        with tarfile.open(fileobj=buffer, mode="w:gz", compresslevel=1) as archive:
            for part in ("inside.zip", "work"):
                archive.add(folder / part, part, filter=_anonymous)
            if variables is not None:
                archive.add(variables, "variables", filter=_anonymous)
    return Parcel(buffer.getvalue(), _options(sandbox, variables is not None, patience), note)


def unpack_written(archive: bytes, folder: Path, *, most: int) -> tuple[str, ...]:
    """Write the regular files of an archive that nobody vouches for into the folder, at most so many bytes.

    Returns:
        Their relative paths, sorted.

    Raises:
        OSError: the folder cannot be written.
    """
    copied: set[str] = set()
    with (
        suppress(tarfile.TarError, EOFError, zlib.error),
        tarfile.open(fileobj=BytesIO(archive), mode="r|gz") as packed,
    ):
        for entry in packed:
            path = PurePosixPath(entry.name)
            inside = not path.is_absolute() and ".." not in path.parts
            if entry.isreg() and inside and entry.size <= most and not _is_taken(folder, path):
                content = packed.extractfile(entry)
                assert content is not None
                (folder / path).parent.mkdir(parents=True, exist_ok=True)
                (folder / path).write_bytes(content.read())
                most -= entry.size
                copied.add(path.as_posix())
    return tuple(sorted(copied))


def _is_taken(folder: Path, path: PurePosixPath) -> bool:
    """Whether there is something already at this path, or a file above it."""
    return (folder / path).exists() or any((folder / parent).is_file() for parent in path.parents)


def _snapshot(workdir: Path, folder: Path, copy_mb: int) -> Snapshot:
    return take_snapshot(workdir, folder, most_mb=min(copy_mb, MOST_MB), hidden=hidden_paths(os.environ), borrow=False)


def _options(sandbox: Sandbox, variables: bool, patience: float) -> str:
    limits = {
        "memory": sandbox.memory_mb * _MEGABYTE,
        "cpu": sandbox.cpu_seconds,
        "file": sandbox.file_mb * _MEGABYTE,
    }
    options = {
        "output": sandbox.output_kb * 1000,
        "limits": limits,
        "seconds": patience,
        "variables": variables,
        "pickled": sandbox.pickle,
    }
    return json.dumps(options)


def _anonymous(entry: tarfile.TarInfo) -> tarfile.TarInfo:
    """Without the owner: over there it is somebody else."""
    entry.uid = entry.gid = 0
    entry.uname = entry.gname = ""
    return entry

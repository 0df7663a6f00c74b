"""Forks of a kernel that runs somewhere else on this machine, for runs and for variants.

The kernel forks itself at the request of a Jupyter message, which its main thread answers when it is idle. What is
forked, and how the fork is confined, is the business of the package `kernels`.
"""

from __future__ import annotations

import inspect
import os
import shutil
import sys
import tempfile
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Final

from platformdirs import user_cache_path
from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

from exploracoder_jupyter.agent_tools import kernel_program
from exploracoder_jupyter.core.errors import KernelError
from exploracoder_jupyter.core.platforms import system
from exploracoder_jupyter.core.time_limits import scale_limit
from exploracoder_jupyter.core.version import __version__
from exploracoder_jupyter.kernels.agent import write_agent_archive
from exploracoder_jupyter.kernels.live_kernel import LiveKernel
from exploracoder_jupyter.protocol.messages import Hazard
from exploracoder_jupyter.provisioner.fork_provisioner import evaluate

_ALSO_SENT: Final = (
    "core/__init__.py",
    "core/secrets",
    "ipython_extension/__init__.py",
    "ipython_extension/running/__init__.py",
    "ipython_extension/running/credential_variables.py",
)
"""What a kernel needs besides `kernel_agent` to say which of its variables look like credentials."""
_MEGABYTE: Final = 1_000_000
_SEND_SECONDS: Final = 60.0
_PROBLEMS: Final = TypeAdapter(dict[str, str])


class _Description(BaseModel):
    """What a kernel says of itself. It may be false: any code may have run in it."""

    model_config = ConfigDict(extra="ignore")
    refused: str = ""
    folder: str = ""
    python: str = ""
    version: str = ""
    hazards: list[Hazard] = []
    variables: dict[str, str] = {}
    secretive: list[str] = []
    paths: list[str] = []


@dataclass(frozen=True, slots=True)
class OfferedKernel:
    """A running kernel that has described itself."""

    live: LiveKernel
    folder: Path
    """Its working directory."""
    python: str
    """Path of its interpreter."""
    variables: Mapping[str, str]
    """Type paths of its variables, by name."""

    @property
    def refused(self) -> str:
        """Why it must not be forked, as a clause; empty if it may be."""
        return next((hazard.what for hazard in self.live.hazards if hazard.kind == "refuse"), "")

    @property
    def other_python(self) -> str | None:
        """Its interpreter, if that is not the one of this process."""
        return None if self.python == sys.executable else self.python


async def ask_kernel(connection_file: Path) -> OfferedKernel:
    """Let the kernel with this connection file describe itself.

    Raises KernelError: it does not answer, is busy, or can never be forked.
    """
    archive = str(_archive())
    answer = await evaluate(connection_file, _expression("describe", archive))
    try:
        found = _Description.model_validate_json(answer)
    except ValidationError as error:
        raise KernelError("The kernel's description of itself cannot be read.") from error
    if found.refused:
        raise KernelError(f"The kernel cannot be forked: {found.refused}.")
    if found.version and found.version != __version__:
        raise KernelError(
            f"The kernel's environment has exploracoder_jupyter {found.version}, this server has {__version__}.",
            remedy="Install the same version in both, or start the server from the kernel's environment.",
        )
    live = LiveKernel(
        partial(_request_fork, connection_file, archive),
        tuple(found.hazards),
        tuple(found.secretive),
        tuple(found.paths),
    )
    return OfferedKernel(live, Path(found.folder), found.python, found.variables)


async def send_variables(
    connection_file: Path, names: Sequence[str], most_megabytes: int
) -> tuple[Path, Mapping[str, str]]:
    """Let a kernel that cannot be forked write variables to a new private folder, which the caller removes.

    Returns the folder, and why a variable is not there, as a sentence by its name. Nothing is pickled, and what looks
    like a credential stays. Raises KernelError: the kernel does not answer.
    """
    folder = Path(tempfile.mkdtemp(prefix="explora-"))
    expression = _expression("send", str(_archive()), str(folder), list(names), most_megabytes * _MEGABYTE)
    try:
        return folder, _PROBLEMS.validate_json(await evaluate(connection_file, expression, scale_limit(_SEND_SECONDS)))
    except BaseException as error:
        shutil.rmtree(folder, ignore_errors=True)
        if isinstance(error, ValidationError):
            raise KernelError("What the kernel says of its variables cannot be read.") from error
        raise


async def _request_fork(connection_file: Path, archive: str, address: str) -> None:
    await evaluate(connection_file, _expression("fork", archive, address))


def _expression(function: str, *arguments: object) -> str:
    """Return an expression that calls the function of `kernel_program` and leaves no name behind."""
    given = ", ".join(map(repr, arguments))
    program = f"{inspect.getsource(kernel_program)}\n_answer = {function}({given})\n"
    return (
        f"(lambda space: (__import__('builtins').exec({program!r}, space), space['_answer'])[1])"
        "({'__name__': 'explora_kernel_program'})"
    )


@cache
def _archive() -> Path:
    """Write the archive of the code that a kernel without this package imports; return its path.

    It lies in the cache folder, because forks of the kernel still import from it after this process has ended.
    """
    folder = user_cache_path("exploracoder_jupyter") / "agent"
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    path = folder / f"kernel_agent-{__version__}.zip"
    temporary = folder / f"{path.name}.{os.getpid()}"
    write_agent_archive(temporary)
    _add_files(temporary)
    system.replace(temporary, path)
    return path


def _add_files(archive: Path) -> None:
    package = Path(__file__).parents[1]
    with zipfile.ZipFile(archive, "a") as target:
        for name in _ALSO_SENT:
            given = package / name
            for file in sorted(given.rglob("*.py")) if given.is_dir() else [given]:
                target.writestr(f"{package.name}/{file.relative_to(package).as_posix()}", file.read_bytes())

"""What this kernel offers to a run: to be forked, or the variables that the task uses, in files."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import cache, partial
from pathlib import Path
from typing import Any, Final

from IPython.core.interactiveshell import InteractiveShell

from exploracoder_jupyter.core.configuration.sections import Sandbox
from exploracoder_jupyter.core.errors import UsageError
from exploracoder_jupyter.core.time_limits import scale_limit
from exploracoder_jupyter.core.types import UserVariable
from exploracoder_jupyter.ipython_extension.running.credential_variables import find_credential_variables
from exploracoder_jupyter.kernel_agent.variable_encoding import dump_each
from exploracoder_jupyter.protocol.messages import Hazard, LiveOffer

# This kernel's offer to a run to be forked, with the hazards that speak against it.
#
# The kernel inspects itself when the start message is built, in the main thread between two statements of the
# user's. It forks itself whenever the engine asks, in the thread that receives the request. Only an ipykernel on
# Linux can be forked; elsewhere none of the modules for it are imported. The engine decides whether it forks the
# kernel; this module predicts that decision from the same facts.

_PROBE_SECONDS = 5.0
_MAX_NAMES = 3
_USEFUL_LANDLOCK = 3
"""As in `kernels.sandbox.fork_sandbox`."""

Fork = Callable[[str], None]
"""Forks this kernel; the child connects to the engine's socket at the address. Raises OSError or RuntimeError."""


def make_offer(shell: InteractiveShell) -> LiveOffer | None:
    """Describe this kernel to the engine. Returns `None` if the kernel cannot be forked."""
    if not can_fork(shell):
        return None
    from exploracoder_jupyter.kernel_agent.forking import fork_hazards

    try:
        found = [Hazard.model_validate(hazard) for hazard in fork_hazards.find_hazards(shell.user_ns)]
        paths = [os.path.abspath(path) for path in sys.path if isinstance(path, str) and path]  # noqa: PTH100
        return LiveOffer(hazards=found, secretive=find_credential_variables(shell.user_ns), paths=paths)
    except Exception as error:  # a namespace may contain anything; unknown hazards are a reason not to fork
        what = f"the kernel could not be inspected ({type(error).__name__}: {error})"
        return LiveOffer(hazards=[Hazard(kind="refuse", what=what)])


def can_fork(shell: InteractiveShell) -> bool:
    """Whether this is an ipykernel on Linux; the event loop and sockets of others would not survive in the child."""
    loaded: Any = sys.modules.get("ipykernel.ipkernel")
    kernel = getattr(shell, "kernel", None)
    return sys.platform == "linux" and loaded is not None and isinstance(kernel, loaded.IPythonKernel)


def reason_not_forked(offered: LiveOffer | None, sandbox: Sandbox) -> str:
    """Return why experiments will not start from a fork of this kernel, as far as can be predicted, as a clause.

    Empty if they will. Takes about 0.1 s once if it depends on what this machine allows.
    """
    if sandbox.state == "fresh" or sandbox.branching == "rerun" or sandbox.kernel or sandbox.gateway:
        return "as requested"
    if offered is None:
        return "this kernel cannot be forked"
    if refused := [hazard.what for hazard in offered.hazards if hazard.kind == "refuse"]:
        return refused[0]
    if sandbox.state == "live":
        return ""
    if offered.secretive:
        return f"variables look like credentials: {', '.join(offered.secretive[:_MAX_NAMES])}"
    return "" if _can_confine(sandbox.network) else "forks cannot be confined well here; --state live forks anyway"


@cache
def _can_confine(network: bool) -> bool:
    """Whether no kernel that is started would be confined better than a fork here; probed in separate processes."""
    # Not with `-m`: only this process may have the package on its import path.
    module, path = "exploracoder_jupyter.kernel_agent.confinement.sandbox_probe", str(Path(__file__).parents[3])
    program = f"import runpy, sys; sys.path.append({path!r}); runpy.run_module({module!r}, run_name='__main__')"
    probe = [sys.executable, "-P", "-c", program]
    try:
        found = json.loads(_output_of(probe))
    except (OSError, subprocess.SubprocessError, ValueError):
        return False
    if not found["namespaces"]:
        return True
    net = () if network else ("--unshare-net",)
    try:
        _output_of(["bwrap", "--unshare-pid", *net, "--ro-bind", "/", "/", "--", "true"])
    except (OSError, subprocess.SubprocessError):
        return bool(found.get("landlock", 0) >= _USEFUL_LANDLOCK)
    return False


def _output_of(command: list[str]) -> str:
    seconds = scale_limit(_PROBE_SECONDS)
    return subprocess.run(
        command, capture_output=True, encoding="utf-8", timeout=seconds, stdin=subprocess.DEVNULL, check=True
    ).stdout


def fork_function(shell: InteractiveShell) -> Fork:
    """Return the function that forks this kernel."""
    from exploracoder_jupyter.kernel_agent.forking import kernel_fork

    kernel_fork.track_context(shell)
    return partial(kernel_fork.fork, shell)


# Writes the variables that a task uses to a private folder, for siblings that are not forks of this kernel.
#
# If experiments will start from a fork of this kernel, nothing is written: that takes seconds of the user's time
# for a large table, and nothing would read it. What can only be pickled is sent if the user agrees, who is asked
# before the engine starts; a task is not explored without a variable that it treats as given.

_MEGABYTE: Final = 1_000_000
_MAX_REMOTE_MB: Final = 100
"""Limit where another machine runs the experiments: every sibling receives the variables over a network."""
_MAKE: Final = "Give --setup code that makes what is missing."
_PICKLE: Final = f"Use --pickle to send a pickle. {_MAKE}"


@dataclass(frozen=True, slots=True)
class Sending:
    """What was sent."""

    folder: str | None = None
    """A private folder that exists as long as the run; `None` if nothing was to be sent."""
    problems: Mapping[str, str] = field(default_factory=dict)
    """Why a variable is not in it, by name; sentences."""
    pickled: bool = False
    """Whether it may contain pickles."""


def send_variables(
    names: Sequence[str],
    namespace: Mapping[str, object],
    resources: ExitStack,
    sandbox: Sandbox,
    *,
    withheld: Collection[str] = (),
) -> Sending:
    """Write the variables, as far as possible, to a folder that `resources` removes."""
    if not names:
        return Sending()
    folder = resources.enter_context(tempfile.TemporaryDirectory(prefix="explora-"))
    return Sending(folder, _write(folder, names, namespace, sandbox, withheld), sandbox.pickle)


def send_with_consent(
    variables: Sequence[UserVariable],
    required: Collection[str],
    namespace: Mapping[str, object],
    resources: ExitStack,
    sandbox: Sandbox,
    *,
    withheld: Collection[str],
    why: str,
) -> Sending:
    """Write the variables; what is required and can only be pickled is pickled if the user agrees.

    `why` is the reason why this kernel is not forked, as a clause. Raises UsageError: experiments would lack a required
    variable.
    """
    sent = send_variables([one.name for one in variables], namespace, resources, sandbox, withheld=withheld)
    lacking = [one for one in variables if one.name in required and one.name in sent.problems]
    if not lacking:
        return sent
    names = [one.name for one in lacking]
    allowed = replace(sandbox, pickle=True)
    problems = _write(sent.folder or "", names, namespace, allowed, withheld) if not sandbox.pickle else sent.problems
    if not problems and _agrees(lacking, sent.folder or "", why):
        return Sending(sent.folder, {name: sent.problems[name] for name in sent.problems if name not in names}, True)
    resources.close()
    what = " ".join((problems or sent.problems)[name] for name in names if name in (problems or sent.problems))
    raise UsageError(f"Experiments start in a new kernel ({why}). {what}", remedy=_MAKE if problems else _PICKLE)


def _agrees(lacking: Sequence[UserVariable], folder: str, why: str) -> bool:
    """Ask the user whether pickles of these variables may be sent; False if this front end cannot ask."""
    from IPython.core.error import StdinNotImplementedError

    listed = ", ".join(f"{one.name} (a {one.type})" for one in lacking)
    size = sum(path.stat().st_size for one in lacking for path in Path(folder).glob(f"{one.name}.*"))
    question = (
        f"Experiments start in a new kernel ({why}), which can get {listed} only as a pickle ({size:,} bytes). "
        "Send it? [y/n] "
    )
    try:
        return input(question).strip().lower() in ("y", "yes")
    except (StdinNotImplementedError, EOFError, OSError):  # no front end, or no terminal
        return False


def _write(
    folder: str, names: Iterable[str], namespace: Mapping[str, object], sandbox: Sandbox, withheld: Collection[str]
) -> dict[str, str]:
    """Write variables with what they need; return why one is not in the folder, as a sentence by its name."""
    most = min(sandbox.variables_mb, _MAX_REMOTE_MB) if sandbox.gateway else sandbox.variables_mb
    problems = dump_each(
        names, namespace, folder, pickled=sandbox.pickle, most_bytes=most * _MEGABYTE, withheld=withheld
    )
    return {name: f"{why[:-1]}; --use {name} sends it." if name in withheld else why for name, why in problems.items()}

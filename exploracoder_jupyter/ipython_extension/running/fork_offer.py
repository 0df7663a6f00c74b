"""This kernel's offer to a run to be forked, with the hazards that speak against it.

The kernel inspects itself when the start message is built, in the main thread between two statements of the user's. It
forks itself whenever the engine asks, in the thread that receives the request. Only an ipykernel on Linux can be
forked; elsewhere none of the modules for it are imported. The engine decides whether it forks the kernel; this module
predicts that decision from the same facts.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from functools import cache, partial
from typing import Any

from IPython.core.interactiveshell import InteractiveShell

from exploracoder_jupyter.core.configuration.sandbox_settings import Sandbox
from exploracoder_jupyter.core.time_limits import scale_limit
from exploracoder_jupyter.ipython_extension.running.credential_variables import find_credential_variables
from exploracoder_jupyter.protocol.engine_messages import Hazard, LiveOffer

_PROBE_SECONDS = 5.0
_MAX_NAMES = 3
_USEFUL_LANDLOCK = 3
"""As in `kernels.sandbox.fork_sandbox_level`."""

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
    probe = [sys.executable, "-P", "-m", "exploracoder_jupyter.kernel_agent.confinement.sandbox_probe"]
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
        command, capture_output=True, text=True, timeout=seconds, stdin=subprocess.DEVNULL, check=True
    ).stdout


def fork_function(shell: InteractiveShell) -> Fork:
    """Return the function that forks this kernel."""
    from exploracoder_jupyter.kernel_agent.forking import kernel_fork

    kernel_fork.track_context(shell)
    return partial(kernel_fork.fork, shell)

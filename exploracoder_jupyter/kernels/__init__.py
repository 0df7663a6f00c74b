"""Sibling kernels: candidates run in them, sandboxed, in branches of a common state.

`open_siblings` returns the implementation of the `Branch` port: forking (`fork`), re-running (`rerun`), or another
machine (`remote`), whichever is the safest that the machine, the settings and the caller's live kernel allow.
`choose_inspector` runs our own inspection code (API walks) in the same interpreter; `find_isolation` reports how far
this
machine can isolate spawned kernels.

Names are imported lazily: reading a library does not need the code that talks to kernels.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from exploracoder_jupyter.core.lazy_imports import lazy_getattr

if TYPE_CHECKING:
    from exploracoder_jupyter.kernels.agent_programs import Inspect, choose_inspector, local_inspector
    from exploracoder_jupyter.kernels.branching.rerun_branch import RerunBranch, RerunSiblings
    from exploracoder_jupyter.kernels.live_kernel import Hazard, LiveKernel
    from exploracoder_jupyter.kernels.remote.gateway import gateway_token
    from exploracoder_jupyter.kernels.sandbox.fork_sandbox_level import SandboxLevel
    from exploracoder_jupyter.kernels.sandbox.spawn_isolation import find_isolation
    from exploracoder_jupyter.kernels.sibling_choice import choose_siblings, open_siblings
    from exploracoder_jupyter.kernels.siblings import Siblings

__all__ = [
    "Hazard",
    "Inspect",
    "LiveKernel",
    "RerunBranch",
    "RerunSiblings",
    "SandboxLevel",
    "Siblings",
    "choose_inspector",
    "choose_siblings",
    "find_isolation",
    "gateway_token",
    "local_inspector",
    "open_siblings",
]

if not TYPE_CHECKING:  # so that a type checker accepts these names and no others
    __getattr__ = lazy_getattr(
        __name__,
        {
            "Hazard": "live_kernel",
            "Inspect": "agent_programs",
            "SandboxLevel": "sandbox.fork_sandbox_level",
            "LiveKernel": "live_kernel",
            "RerunBranch": "branching.rerun_branch",
            "RerunSiblings": "branching.rerun_branch",
            "Siblings": "siblings",
            "choose_siblings": "sibling_choice",
            "find_isolation": "sandbox.spawn_isolation",
            "gateway_token": "remote.gateway",
            "local_inspector": "agent_programs",
            "choose_inspector": "agent_programs",
            "open_siblings": "sibling_choice",
        },
    )

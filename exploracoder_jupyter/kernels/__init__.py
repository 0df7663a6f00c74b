"""Sibling kernels: candidates run in them, sandboxed, in branches of a common state.

`open_siblings` returns the implementation of the `Branch` port: forking (`fork`), re-running (`rerun`), or another
machine (`remote`), whichever is the safest that the machine, the settings and the caller's live kernel allow.
`choose_inspector` runs our own inspection code (API walks) in the same interpreter.

Names are imported lazily: reading a library does not need the code that talks to kernels.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from exploracoder_jupyter.core.lazy_imports import lazy_getattr

if TYPE_CHECKING:
    from exploracoder_jupyter.kernels.agent import Inspect, choose_inspector
    from exploracoder_jupyter.kernels.remote.gateway import gateway_token
    from exploracoder_jupyter.kernels.sibling_choice import open_siblings
    from exploracoder_jupyter.kernels.siblings import Siblings

__all__ = ["Inspect", "Siblings", "choose_inspector", "gateway_token", "open_siblings"]

if not TYPE_CHECKING:  # so that a type checker accepts these names and no others
    __getattr__ = lazy_getattr(
        __name__,
        {
            "Inspect": "agent",
            "Siblings": "siblings",
            "choose_inspector": "agent",
            "gateway_token": "remote.gateway",
            "open_siblings": "sibling_choice",
        },
    )

"""Sibling kernels: where candidates run, confined, in branches of one state.

`open_siblings` is the adapter behind the `Branch` port, made in the safest way that the machine, the settings and the
caller's live kernel allow: by forking (`fork`), by re-running (`rerun`), or on another machine (`remote`). What
`inspector_of` gives runs our own reading code (API walks) in the same interpreter; `find_isolation` tells what this
machine allows to kernels that are started.

Imported when it is asked for: reading a library needs nothing of what talks to kernels.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from exploracoder_jupyter.lazy import importing

if TYPE_CHECKING:
    from exploracoder_jupyter.execution.choose import Choice, Siblings, choose, open_siblings
    from exploracoder_jupyter.execution.inspect import Inspect, inspector, inspector_of
    from exploracoder_jupyter.execution.isolation import find_isolation
    from exploracoder_jupyter.execution.level import Level
    from exploracoder_jupyter.execution.live import Hazard, LiveKernel
    from exploracoder_jupyter.execution.remote_gateway import gateway_token
    from exploracoder_jupyter.execution.rerun import RerunBranch, RerunSiblings

__all__ = [
    "Choice",
    "Hazard",
    "Inspect",
    "Level",
    "LiveKernel",
    "RerunBranch",
    "RerunSiblings",
    "Siblings",
    "choose",
    "find_isolation",
    "gateway_token",
    "inspector",
    "inspector_of",
    "open_siblings",
]

if not TYPE_CHECKING:  # a type checker is to know these names and no others
    __getattr__ = importing(
        __name__,
        {
            "Choice": "choose",
            "Hazard": "live",
            "Inspect": "inspect",
            "Level": "level",
            "LiveKernel": "live",
            "RerunBranch": "rerun",
            "RerunSiblings": "rerun",
            "Siblings": "choose",
            "choose": "choose",
            "find_isolation": "isolation",
            "gateway_token": "remote_gateway",
            "inspector": "inspect",
            "inspector_of": "inspect",
            "open_siblings": "choose",
        },
    )

"""Sibling kernels: where candidates run, confined, in branches of one state.

`open_siblings` is the adapter behind the `Branch` port, made in the safest way that the machine, the settings and the
caller's live kernel allow: by forking (`fork`), by re-running (`rerun`), or on another machine (`remote`). What
`inspector_of` gives runs our own reading code (API walks) in the same interpreter; `find_isolation` tells what this
machine allows to kernels that are started.
"""

from exploracoder_jupyter.execution.choose import Choice, Siblings, choose, inspector_of, open_siblings
from exploracoder_jupyter.execution.inspect import Inspect, inspector
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

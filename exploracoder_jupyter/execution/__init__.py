"""Sibling kernels: where candidates run, confined, in branches of one state.

`RerunSiblings` is the adapter behind the `Branch` port; an `inspector` runs our own reading code (API walks) in the
same interpreter and confinement; `find_isolation` tells what this machine allows.
"""

from exploracoder_jupyter.execution.inspect import Inspect, inspector
from exploracoder_jupyter.execution.isolation import find_isolation
from exploracoder_jupyter.execution.rerun import RerunBranch, RerunSiblings

__all__ = ["Inspect", "RerunBranch", "RerunSiblings", "find_isolation", "inspector"]

"""What an engine in another interpreter is told: to explore what this notebook can import, not what it can itself."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from exploracoder_jupyter.core.settings import Layer, resolve


def with_this_interpreter(layers: Sequence[Layer]) -> list[Layer]:
    """The layers, with this interpreter named where the engine's is another and nothing else says where to explore."""
    sandbox = resolve(*layers).sandbox
    here = sandbox.engine_python in (None, sys.executable)
    if here or sandbox.kernel or sandbox.python or sandbox.gateway:
        return [*layers]
    return [*layers, {"sandbox": {"python": sys.executable}}]

"""Settings for an engine in another interpreter, so that it explores what this notebook can import."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from exploracoder_jupyter.core.configuration.settings_sources import Layer, resolve


def with_this_interpreter(layers: Sequence[Layer]) -> list[Layer]:
    """Return the layers, naming this interpreter if the engine uses another one and no layer sets where to explore."""
    sandbox = resolve(*layers).sandbox
    is_same = sandbox.engine_python in (None, sys.executable)
    if is_same or sandbox.kernel or sandbox.python or sandbox.gateway:
        return [*layers]
    return [*layers, {"sandbox": {"python": sys.executable}}]

"""The public Python API; `exploracoder_jupyter` exports it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from exploracoder_jupyter.core.lazy_imports import lazy_getattr

if TYPE_CHECKING:
    from exploracoder_jupyter.api.environment_queries import find
    from exploracoder_jupyter.api.exploration import Exploration, TriedCode, load_trace
    from exploracoder_jupyter.api.functions import aexplore, explore, search

__all__ = ["Exploration", "TriedCode", "aexplore", "explore", "find", "load_trace", "search"]


if not TYPE_CHECKING:
    __getattr__ = lazy_getattr(
        __name__,
        {
            "Exploration": "exploration",
            "TriedCode": "exploration",
            "find": "environment_queries",
            "load_trace": "exploration",
            "search": "functions",
            "aexplore": "functions",
            "explore": "functions",
        },
    )

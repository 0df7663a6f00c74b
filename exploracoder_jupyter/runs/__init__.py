"""The composition root, which wires runs from settings. The only package that imports concrete adapters.

- `run` executes an `Order`; `RunSteering` stops or steers it from outside. `resume_order` returns an order that
  resumes a
  recorded run. `prepare_replay` prepares a replay of a recorded run, and `replay` executes it.
- `KernelForkClient` requests a fork from the caller's kernel.
- `snippets` and `clear_snippets` list and remove stored code that ran in earlier runs.
- `index`, `search`, `find` and `diagnose` wire the same parts for the command line.

Names are imported lazily: a search needs a third of the modules of a run, and would have to wait for the rest.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from exploracoder_jupyter.core.lazy_imports import lazy_getattr

if TYPE_CHECKING:
    from exploracoder_jupyter.pipeline import CarriedSubtask, ResumePoint
    from exploracoder_jupyter.runs.doctor_report import diagnose
    from exploracoder_jupyter.runs.environment_search import find
    from exploracoder_jupyter.runs.exploration_run import run
    from exploracoder_jupyter.runs.library_choice import choose_library
    from exploracoder_jupyter.runs.library_search import index, search
    from exploracoder_jupyter.runs.order import Order, in_repository
    from exploracoder_jupyter.runs.recording import Listener, Summary
    from exploracoder_jupyter.runs.replay import Replay, prepare_replay, replay
    from exploracoder_jupyter.runs.resume import resume_order
    from exploracoder_jupyter.runs.snippet_listing import clear_snippets, snippets
    from exploracoder_jupyter.runs.steering import KernelForkClient, RunSteering

__all__ = [
    "CarriedSubtask",
    "KernelForkClient",
    "Listener",
    "Order",
    "Replay",
    "ResumePoint",
    "RunSteering",
    "Summary",
    "choose_library",
    "clear_snippets",
    "diagnose",
    "find",
    "in_repository",
    "index",
    "prepare_replay",
    "replay",
    "resume_order",
    "run",
    "search",
    "snippets",
]

if not TYPE_CHECKING:  # type checkers must not see `__getattr__`, which would allow any name
    __getattr__ = lazy_getattr(
        __name__,
        {
            "CarriedSubtask": "resume",
            "ResumePoint": "order",
            "KernelForkClient": "steering",
            "Listener": "recording",
            "choose_library": "library_choice",
            "find": "environment_search",
            "Order": "order",
            "Replay": "replay",
            "RunSteering": "steering",
            "Summary": "recording",
            "clear_snippets": "snippet_listing",
            "diagnose": "doctor_report",
            "in_repository": "order",
            "index": "library_search",
            "replay": "replay",
            "prepare_replay": "replay",
            "resume_order": "resume",
            "run": "exploration_run",
            "search": "library_search",
            "snippets": "snippet_listing",
        },
    )

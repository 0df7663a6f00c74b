"""The composition root: settings in, wired run out. The only folder that names concrete adapters.

- `run` carries an `Order` out; `RunSteering` is how it is stopped or steered from outside; `resumed` makes one that
  goes on from a recorded run; `replay` shows a recorded run again, as `replayed` makes it of its trace.
- `KernelLine` asks the caller's kernel to fork itself.
- `snippets` and `clear_snippets` are for what is kept of code that ran.
- `index`, `search` and `diagnose` wire the same parts for the command line.

Each is imported when it is asked for: a search needs a third of what a run needs, and would wait for the rest.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from exploracoder_jupyter.lazy import importing

if TYPE_CHECKING:
    from exploracoder_jupyter.pipeline import Carried, Given
    from exploracoder_jupyter.session.diagnosis import diagnose
    from exploracoder_jupyter.session.library import index, search
    from exploracoder_jupyter.session.live import KernelLine
    from exploracoder_jupyter.session.order import Order, RunSteering
    from exploracoder_jupyter.session.replay import Replay, replay, replayed
    from exploracoder_jupyter.session.resume import resumed
    from exploracoder_jupyter.session.run import run
    from exploracoder_jupyter.session.snippets import clear_snippets, snippets
    from exploracoder_jupyter.session.teller import Listener, Summary

__all__ = [
    "Carried",
    "Given",
    "KernelLine",
    "Listener",
    "Order",
    "Replay",
    "RunSteering",
    "Summary",
    "clear_snippets",
    "diagnose",
    "index",
    "replay",
    "replayed",
    "resumed",
    "run",
    "search",
    "snippets",
]

if not TYPE_CHECKING:  # a type checker is to know these names and no others
    __getattr__ = importing(
        __name__,
        {
            "Carried": "earlier",
            "Given": "order",
            "KernelLine": "live",
            "Listener": "teller",
            "Order": "order",
            "Replay": "replay",
            "RunSteering": "order",
            "Summary": "teller",
            "clear_snippets": "snippets",
            "diagnose": "diagnosis",
            "index": "library",
            "replay": "replay",
            "replayed": "replay",
            "resumed": "resume",
            "run": "run",
            "search": "library",
            "snippets": "snippets",
        },
    )

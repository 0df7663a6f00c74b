"""Knowledge of installed libraries: their public API, read in the environment that will run the code, and its index.

`Library.open` is the way in; `Inspect` is what it needs to look into that environment, `Embedder` what may take the
place of the built-in vectors.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from exploracoder_jupyter.lazy import importing

if TYPE_CHECKING:
    from exploracoder_jupyter.knowledge.dense import Embedder
    from exploracoder_jupyter.knowledge.library import Library, LibraryReport
    from exploracoder_jupyter.knowledge.meaning import done_without
    from exploracoder_jupyter.knowledge.surface import Inspect

__all__ = ["Embedder", "Inspect", "Library", "LibraryReport", "done_without"]

if not TYPE_CHECKING:  # the process that reads documents needs no index
    __getattr__ = importing(
        __name__,
        {
            "Embedder": "dense",
            "Inspect": "surface",
            "Library": "library",
            "LibraryReport": "library",
            "done_without": "meaning",
        },
    )

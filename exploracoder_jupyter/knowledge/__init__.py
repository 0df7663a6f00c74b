"""Knowledge of installed libraries: their public API, read in the environment that will run the code, and its index.

`Library.open` is the way in; `Inspect` is what it needs to look into that environment, `Embedder` what may take the
place of the built-in vectors.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from exploracoder_jupyter.core.lazy_imports import importing

if TYPE_CHECKING:
    from exploracoder_jupyter.knowledge.extraction.public_surface import Inspect
    from exploracoder_jupyter.knowledge.search.dense_index import Embedder
    from exploracoder_jupyter.knowledge.search.embedding_cache import done_without
    from exploracoder_jupyter.knowledge.task_libraries import Library, LibraryReport

__all__ = ["Embedder", "Inspect", "Library", "LibraryReport", "done_without"]

if not TYPE_CHECKING:  # the process that reads documents needs no index
    __getattr__ = importing(
        __name__,
        {
            "Embedder": "search.dense_index",
            "Inspect": "extraction.public_surface",
            "Library": "task_libraries",
            "LibraryReport": "task_libraries",
            "done_without": "search.embedding_cache",
        },
    )

"""Knowledge of installed libraries: their public API and its search index.

APIs are read in the environment that will run the code. `Library.open` is the entry point. `Inspect` runs programs in
that environment; an `Embedder` can replace the built-in vectors.
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

if not TYPE_CHECKING:  # lazy: the process that reads documents does not need the index
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

"""Knowledge of installed libraries: their public API and its search index.

APIs are read in the environment that will run the code. `Library.open` is the entry point. `Inspect` runs programs in
that environment; an `Embedder` can replace the built-in vectors.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from exploracoder_jupyter.core.lazy_imports import lazy_getattr

if TYPE_CHECKING:
    from exploracoder_jupyter.knowledge.extraction.library_surface import Inspect
    from exploracoder_jupyter.knowledge.search.dense_index import Embedder
    from exploracoder_jupyter.knowledge.search.embedding_cache import embedder_fallback_message
    from exploracoder_jupyter.knowledge.task_libraries import LibraryReport, TaskLibraries

__all__ = ["Embedder", "Inspect", "LibraryReport", "TaskLibraries", "embedder_fallback_message"]

if not TYPE_CHECKING:  # lazy: the process that reads documents does not need the index
    __getattr__ = lazy_getattr(
        __name__,
        {
            "Embedder": "search.dense_index",
            "Inspect": "extraction.library_surface",
            "TaskLibraries": "task_libraries",
            "LibraryReport": "task_libraries",
            "embedder_fallback_message": "search.embedding_cache",
        },
    )

"""Documentation that is not part of a package: files, folders and archives, parsed into APIs and passages.

`readers` contains one small module per format. `document_files` reads files within limits, `reading_process` limits the
time for each, `document_loader` combines the pages, and `api_assignment` decides which library an API belongs to.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from exploracoder_jupyter.core.lazy_imports import lazy_getattr

if TYPE_CHECKING:
    from exploracoder_jupyter.knowledge.documents.document_loader import read_documents
    from exploracoder_jupyter.knowledge.documents.document_merger import MissingLibrary, merge_documents
    from exploracoder_jupyter.knowledge.documents.document_set import Documents
    from exploracoder_jupyter.knowledge.documents.document_source import DocumentSource, unambiguous_names
    from exploracoder_jupyter.knowledge.documents.reading_process import OpenReader, PageProcess

__all__ = [
    "DocumentSource",
    "Documents",
    "MissingLibrary",
    "OpenReader",
    "PageProcess",
    "merge_documents",
    "read_documents",
    "unambiguous_names",
]

if not TYPE_CHECKING:  # lazy: a search without documents needs no reader, and the process that reads documents no index
    __getattr__ = lazy_getattr(
        __name__,
        {
            "DocumentSource": "document_source",
            "Documents": "document_set",
            "MissingLibrary": "document_merger",
            "merge_documents": "document_merger",
            "OpenReader": "reading_process",
            "PageProcess": "reading_process",
            "unambiguous_names": "document_source",
            "read_documents": "document_loader",
        },
    )

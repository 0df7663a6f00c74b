"""Documentation that is not in a package: files, folders and archives, read into APIs and passages.

One small file a format (`markdown`, `rest`, `pages` with `trees` and `sphinx` for HTML, `notebooks`, `inventory`,
`openapi`, `plain`); `files` reads within limits, `page_process` limits the time for each, `gather` puts pages together,
`belonging` says whose APIs they are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from exploracoder_jupyter.core.lazy_imports import importing

if TYPE_CHECKING:
    from exploracoder_jupyter.knowledge.documents.document_loader import read_documents
    from exploracoder_jupyter.knowledge.documents.document_set import Documents
    from exploracoder_jupyter.knowledge.documents.document_source import DocumentSource, plain_names
    from exploracoder_jupyter.knowledge.documents.reading_process import OpenReader, PageProcess

__all__ = ["DocumentSource", "Documents", "OpenReader", "PageProcess", "plain_names", "read_documents"]

if not TYPE_CHECKING:  # the process that reads documents needs no index
    __getattr__ = importing(
        __name__,
        {
            "DocumentSource": "document_source",
            "Documents": "document_set",
            "OpenReader": "reading_process",
            "PageProcess": "reading_process",
            "plain_names": "document_source",
            "read_documents": "document_loader",
        },
    )

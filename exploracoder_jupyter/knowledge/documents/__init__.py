"""Documentation that is not in a package: files, folders and archives, read into APIs and passages.

One small file a format (`markdown`, `rest`, `pages` with `trees` and `sphinx` for HTML, `notebooks`, `inventory`,
`openapi`, `plain`); `files` reads within limits, `page_process` limits the time for each, `gather` puts pages together,
`belonging` says whose APIs they are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from exploracoder_jupyter.lazy import importing

if TYPE_CHECKING:
    from exploracoder_jupyter.knowledge.documents.documents import Documents
    from exploracoder_jupyter.knowledge.documents.gather import read_documents
    from exploracoder_jupyter.knowledge.documents.page_process import OpenReader, PageProcess
    from exploracoder_jupyter.knowledge.documents.source import DocumentSource, plain_names

__all__ = ["DocumentSource", "Documents", "OpenReader", "PageProcess", "plain_names", "read_documents"]

if not TYPE_CHECKING:  # the process that reads documents needs no index
    __getattr__ = importing(
        __name__,
        {
            "DocumentSource": "source",
            "Documents": "documents",
            "OpenReader": "page_process",
            "PageProcess": "page_process",
            "plain_names": "source",
            "read_documents": "gather",
        },
    )

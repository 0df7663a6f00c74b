"""Documentation that is not in a package: files, folders and archives, read into APIs and passages.

One small file a format (`markdown`, `rest`, `pages` with `trees` and `sphinx` for HTML, `notebooks`, `inventory`,
`openapi`, `plain`); `files` reads within limits, `gather` puts pages together, `belonging` says whose APIs they are.
"""

from __future__ import annotations

from exploracoder_jupyter.knowledge.documents.documents import Documents
from exploracoder_jupyter.knowledge.documents.gather import read_documents
from exploracoder_jupyter.knowledge.documents.source import DocumentSource, plain_names

__all__ = ["DocumentSource", "Documents", "plain_names", "read_documents"]

"""Sources searched in addition to the libraries' own API: code that ran before, the user's files, documents, the web.

`SourceSearch` combines several sources behind one search. `SnippetSource` and `WorkspaceSource` are two of them;
`SnippetStore`
stores code that ran; `RecordedSearch` returns the passages that a recorded run found.
"""

from __future__ import annotations

from exploracoder_jupyter.knowledge.sources.snippets import SnippetSource, SnippetStore, StoredSnippet
from exploracoder_jupyter.knowledge.sources.source_search import RecordedSearch, SourceSearch, WorkspaceSource

__all__ = ["RecordedSearch", "SnippetSource", "SnippetStore", "SourceSearch", "StoredSnippet", "WorkspaceSource"]

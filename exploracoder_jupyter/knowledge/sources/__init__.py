"""Sources searched in addition to the libraries' own API: code that ran before, the user's files, documents, the web.

`Soup` combines several sources behind one search. `SnippetSource` and `WorkspaceSource` are two of them; `SnippetStore`
stores code that ran; `RecordedSoup` returns the passages that a recorded run found.
"""

from __future__ import annotations

from exploracoder_jupyter.knowledge.sources.knowledge_soup import Soup
from exploracoder_jupyter.knowledge.sources.recorded_passages import RecordedSoup
from exploracoder_jupyter.knowledge.sources.snippet_source import SnippetSource
from exploracoder_jupyter.knowledge.sources.snippet_store import Kept, SnippetStore
from exploracoder_jupyter.knowledge.sources.workspace_source import WorkspaceSource

__all__ = ["Kept", "RecordedSoup", "SnippetSource", "SnippetStore", "Soup", "WorkspaceSource"]

"""What a run may search beside the libraries' own API, as its settings say."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from exploracoder_jupyter.config import Secrets, Settings, snippets_path
from exploracoder_jupyter.events import Event, Notice
from exploracoder_jupyter.knowledge.soup import SnippetSource, SnippetStore, Soup, WorkspaceSource
from exploracoder_jupyter.notebook.redact import Redactor
from exploracoder_jupyter.pipeline.ports import Source
from exploracoder_jupyter.session.order import Order
from exploracoder_jupyter.session.parts import hidden_strings
from exploracoder_jupyter.types import LibraryInfo


def open_soup(
    order: Order,
    settings: Settings,
    keys: Secrets,
    *,
    libraries: Sequence[LibraryInfo],
    tell: Callable[[Event], None],
) -> Soup:
    """The sources of this order behind one search; `libraries` as the run has found them."""
    clean = Redactor(hidden_strings(settings.endpoint, keys)).text
    share = settings.endpoint.share
    sources: list[Source] = []
    if settings.retrieval.workspace and share == "values":
        sources.append(WorkspaceSource(order.workdir, order.notebook, clean=clean))
    elif settings.retrieval.workspace:
        tell(Notice(f"Your files are not searched: with `--share {share}` nothing of them may go to a model."))
    kept = None
    if settings.retrieval.snippets:
        versions = {library.name: library.version for library in libraries}
        kept = SnippetSource(SnippetStore(snippets_path()), versions, sharing=share, clean=clean)
    return Soup(sources, kept=kept, say=lambda sentence: tell(Notice(sentence, "warning")))

"""What a run may search beside the libraries' own API, as its settings say."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AsyncExitStack

from exploracoder_jupyter.config import Secrets, Settings, snippets_path
from exploracoder_jupyter.events import Event, Notice
from exploracoder_jupyter.knowledge import Library
from exploracoder_jupyter.knowledge.soup import SnippetSource, SnippetStore, Soup, WorkspaceSource
from exploracoder_jupyter.notebook.redact import Redactor
from exploracoder_jupyter.pipeline.ports import Source
from exploracoder_jupyter.session.order import Order
from exploracoder_jupyter.session.parts import cache_folder, hidden_strings
from exploracoder_jupyter.session.web import open_web


async def open_soup(
    order: Order,
    settings: Settings,
    keys: Secrets,
    *,
    knowledge: Library,
    tell: Callable[[Event], None],
    stack: AsyncExitStack,
) -> Soup:
    """The sources of this order behind one search; `stack` closes their connections.

    Raises:
        UsageError, MissingMeans: the web cannot be searched as the settings say.
    """
    clean = Redactor(hidden_strings(settings.endpoint, keys)).text
    web = await open_web(settings.retrieval, order.workdir, cache_folder(), tell, stack, clean=clean)
    share = settings.endpoint.share
    files: Source | None = None
    if settings.retrieval.workspace and share == "values":
        files = WorkspaceSource(order.workdir, order.notebook, clean=clean)
    elif settings.retrieval.workspace:
        tell(Notice(f"Your files are not searched: with `--share {share}` nothing of them may go to a model."))
    kept = None
    if settings.retrieval.snippets:
        versions = {library.name: library.version for library in knowledge.libraries}
        store = SnippetStore(snippets_path())
        kept = SnippetSource(store, versions, sharing=share, clean=clean, latent=knowledge.latent)
    sources = [source for source in (knowledge.documents, files, web) if source]
    return Soup(sources, kept=kept, say=lambda sentence: tell(Notice(sentence, "warning")))

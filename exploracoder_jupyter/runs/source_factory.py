"""Creates the sources that a run searches in addition to the libraries' own API, according to its settings."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AsyncExitStack

from exploracoder_jupyter.core.events import Event, Notice
from exploracoder_jupyter.core.settings import Endpoint, Settings
from exploracoder_jupyter.core.settings_sources import Secrets, snippets_path
from exploracoder_jupyter.knowledge import TaskLibraries
from exploracoder_jupyter.knowledge.sources import SnippetSource, SnippetStore, SourceSearch, WorkspaceSource
from exploracoder_jupyter.llm import is_local
from exploracoder_jupyter.pipeline.ports import Source
from exploracoder_jupyter.runs.adapters import cache_folder, is_offline, secret_strings
from exploracoder_jupyter.runs.run_request import Order
from exploracoder_jupyter.runs.web_source_factory import open_web
from exploracoder_jupyter.trace.sanitizing.record_redaction import Redactor

_SNIPPETS_NOTICE = (
    "Code that ran in earlier explorations ({number} snippets stored for these libraries) may be sent too. Use"
    " `--no-snippets` to send none; `jupyter explora snippets` lists them."
)


async def open_soup(
    order: Order,
    settings: Settings,
    keys: Secrets,
    *,
    knowledge: TaskLibraries,
    emit: Callable[[Event], None],
    stack: AsyncExitStack,
) -> SourceSearch:
    """Combine the sources of this order into one search; `stack` closes their connections.

    Raises:
        UsageError, MissingRequirement: the web cannot be searched as configured.
    """
    clean = Redactor(secret_strings(settings.endpoint, keys)).text
    web = await open_web(settings.retrieval, order.workdir, cache_folder(), emit, stack, clean=clean)
    share = settings.endpoint.share
    files: Source | None = None
    if settings.retrieval.workspace and share == "values":
        files = WorkspaceSource(order.workdir, order.notebook, clean=clean)
    elif settings.retrieval.workspace:
        emit(Notice(f"Your files are not searched, because `--share {share}` sends none of their content to a model."))
    kept = None
    if settings.retrieval.snippets:
        versions = {library.name: library.version for library in knowledge.libraries}
        store = SnippetStore(snippets_path())
        kept = SnippetSource(store, versions, sharing=share, clean=clean, latent=knowledge.latent)
        if number := 0 if _prompts_stay_local(settings.endpoint) else len(store.of(versions, share)):
            emit(Notice(_SNIPPETS_NOTICE.format(number=number)))
    sources = [source for source in (knowledge.documents, files, web) if source]
    return SourceSearch(sources, kept=kept, say=lambda sentence: emit(Notice(sentence, "warning")))


def _prompts_stay_local(endpoint: Endpoint) -> bool:
    """Whether prompts stay on this machine."""
    return is_offline(endpoint) or is_local(endpoint.base_url)

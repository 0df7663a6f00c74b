"""Creates the sources that a run searches in addition to the libraries' own API, according to its settings.

Each source is registered in the group `exploracoder_jupyter.sources` with a function that opens it.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from exploracoder_jupyter.core import plugins
from exploracoder_jupyter.core.configuration.settings import Settings
from exploracoder_jupyter.core.configuration.settings_sources import Secrets, snippets_path
from exploracoder_jupyter.core.errors import ExploraError, format_error
from exploracoder_jupyter.core.events import Event, Notice
from exploracoder_jupyter.kernel_agent.entry_points import Plugin, registered
from exploracoder_jupyter.knowledge.sources import SnippetSource, SnippetStore, SourceSearch, WorkspaceSource
from exploracoder_jupyter.knowledge.task_libraries import TaskLibraries
from exploracoder_jupyter.llm.endpoint.endpoint_addresses import is_local
from exploracoder_jupyter.pipeline.ports import Source
from exploracoder_jupyter.runs.construction.model_factory import is_offline, model_plugin
from exploracoder_jupyter.runs.construction.run_settings import secret_strings
from exploracoder_jupyter.runs.order import Order
from exploracoder_jupyter.trace.sanitizing.record_redaction import Redactor


@dataclass(frozen=True, slots=True)
class SourceContext:
    """The run for which a source is opened."""

    settings: Settings
    workdir: Path
    notebook: Path | None
    knowledge: TaskLibraries
    """The libraries of the task."""
    clean: Callable[[str], str]
    """Redacts secrets in a text."""
    emit: Callable[[Event], None]
    """Receives notices for the user."""
    stack: AsyncExitStack
    """Closes what is entered into it at the end of the run."""


class OpenSource(Protocol):
    """What an entry point in the group `exploracoder_jupyter.sources` refers to."""

    async def __call__(self, context: SourceContext) -> Source | None:
        """Open the source; `None` if the settings or the libraries of the task do not call for it."""
        ...


_SNIPPETS_NOTICE = (
    "Code that ran in earlier explorations ({number} snippets stored for these libraries) may be sent too. Use"
    " `--no-snippets` to send none; `jupyter explora snippets` lists them."
)


async def open_sources(
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
        UsageError, MissingRequirement: a built-in source cannot be searched as configured.
    """
    clean = Redactor(secret_strings(settings.endpoint, keys)).text
    context = SourceContext(settings, order.workdir, order.notebook, knowledge, clean, emit, stack)
    found = [await _open(plugin, context) for plugin in registered("sources")]
    sources = [source for source in found if source]
    kept = next((source for source in sources if isinstance(source, SnippetSource)), None)
    return SourceSearch(
        [source for source in sources if source is not kept],
        kept=kept,
        say=lambda sentence: emit(Notice(sentence, "warning")),
    )


async def _open(plugin: Plugin, context: SourceContext) -> Source | None:
    """Open a source. If one of another distribution fails, the run continues without it."""
    try:
        open_source: OpenSource = plugins.load(plugin)
        source = await open_source(context)
    except Exception as error:
        if plugin.built_in:
            raise
        why = str(error) if isinstance(error, ExploraError) else f"{format_error(error)}."
        context.emit(Notice(f"The source {plugin.name!r} of {plugin.origin} is not searched: {why}", "warning"))
        return None
    if plugin.built_in or source is None:
        return source
    retrieval, share = context.settings.retrieval, context.settings.endpoint.share
    if source.kind == "web" and retrieval.web == "off":
        return None
    if source.kind == "workspace" and not (retrieval.workspace and share == "values"):
        return None
    context.emit(Notice(f"The source {plugin.name!r} of {plugin.origin} is searched too."))
    return source


async def open_documentation(context: SourceContext) -> Source | None:
    """Return the documents given with `--docs`."""
    return context.knowledge.documents


async def open_workspace(context: SourceContext) -> Source | None:
    """Open the user's notebook and files."""
    share = context.settings.endpoint.share
    if not context.settings.retrieval.workspace:
        return None
    if share == "values":
        return WorkspaceSource(context.workdir, context.notebook, clean=context.clean)
    text = f"Your files are not searched, because `--share {share}` sends none of their content to a model."
    context.emit(Notice(text))
    return None


async def open_snippets(context: SourceContext) -> Source | None:
    """Open the code that ran in earlier runs."""
    if not context.settings.retrieval.snippets:
        return None
    endpoint, knowledge = context.settings.endpoint, context.knowledge
    versions = {library.name: library.version for library in knowledge.libraries}
    store = SnippetStore(snippets_path())
    stays_local = is_offline(endpoint) or (is_local(endpoint.base_url) and not model_plugin(endpoint))
    if number := 0 if stays_local else len(store.of(versions, endpoint.share)):
        context.emit(Notice(_SNIPPETS_NOTICE.format(number=number)))
    return SnippetSource(store, versions, sharing=endpoint.share, clean=context.clean)

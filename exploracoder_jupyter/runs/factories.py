"""Creates what a run uses, according to its settings: its model, embedder and sources."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from dataclasses import dataclass, replace
from datetime import date
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol
from urllib.parse import urlsplit

from pydantic import JsonValue

from exploracoder_jupyter.core import plugins
from exploracoder_jupyter.core.configuration.sections import OFFLINE, Endpoint, Exploration, Retrieval
from exploracoder_jupyter.core.configuration.settings import Settings
from exploracoder_jupyter.core.configuration.sources import Layer, Secrets, as_json, merge_sources, snippets_path
from exploracoder_jupyter.core.configuration.web_settings import web_key
from exploracoder_jupyter.core.errors import EndpointError, ExploraError, MissingRequirement, UsageError, format_error
from exploracoder_jupyter.core.events import Event, Notice
from exploracoder_jupyter.core.messages import choose_wording
from exploracoder_jupyter.core.required_libraries import check_libraries, is_checked_here
from exploracoder_jupyter.core.secrets.secret_names import header_secrets, replaceable_values
from exploracoder_jupyter.kernel_agent.entry_points import Plugin, registered
from exploracoder_jupyter.kernels import gateway_token
from exploracoder_jupyter.kernels.agent import local_inspector
from exploracoder_jupyter.knowledge.extraction.library_surface import LibraryNameCache, find_libraries
from exploracoder_jupyter.knowledge.knowledge_cache import KnowledgeCache
from exploracoder_jupyter.knowledge.sources import SnippetSource, SnippetStore, SourceSearch, WorkspaceSource
from exploracoder_jupyter.knowledge.task_libraries import TaskLibraries
from exploracoder_jupyter.llm.endpoint.connection import is_local, redact_address, secret_query_values
from exploracoder_jupyter.llm.endpoint.discovery import probe, resolve_model
from exploracoder_jupyter.llm.endpoint.model import OpenAIModel
from exploracoder_jupyter.llm.offline import OfflineModel
from exploracoder_jupyter.llm.recorded import ArchivedRepliesModel, ReplyRecording
from exploracoder_jupyter.pipeline.ports import Knowledge, Model, Source
from exploracoder_jupyter.pipeline.prompting.documentation import mask_marks
from exploracoder_jupyter.pipeline.prompting.observations import strip_costs
from exploracoder_jupyter.runs.knowledge_factory import cache_folder, environment_key
from exploracoder_jupyter.runs.order import Order
from exploracoder_jupyter.trace.redaction import Redactor

if TYPE_CHECKING:
    from exploracoder_jupyter.web.fetching import HttpClient
    from exploracoder_jupyter.web.reading import SearchEngine


# Creates the model of a run: the one that `--model` names among the registered ones, else a model at the endpoint.

_ENDPOINT_MODEL: Final = "openai"
"""The registered name of the client that is used for models that are not registered."""

ADAPTER: Final = "adapter"
"""The registered name of models in this process, which are selected as `adapter:FOLDER`."""


@dataclass(frozen=True, slots=True)
class ModelContext:
    """What the factory of a model receives."""

    endpoint: Endpoint
    """The settings `endpoint.*`; a model may ignore all except its name."""
    keys: Secrets
    """The key of the endpoint."""
    knowledge: Knowledge
    """The libraries of the task, for models that are not language models."""
    report: Callable[[str], None]
    """Displays a sentence while something takes a while."""


class ModelFactory(Protocol):
    """What an entry point in the group `exploracoder_jupyter.models` refers to."""

    def __call__(self, context: ModelContext) -> Model:
        """Create the model of a run. If it is an asynchronous context manager, it is entered, and exited at the end."""
        ...


def create_offline_model(context: ModelContext) -> Model:
    """Create the built-in model."""
    return OfflineModel(context.knowledge)


def create_endpoint_model(context: ModelContext) -> Model:
    """Create a client of the endpoint."""
    return OpenAIModel(context.endpoint, context.keys, report=context.report)


def is_offline(endpoint: Endpoint) -> bool:
    """Whether the embedded offline model is used: it is named, or neither a model nor an endpoint is configured."""
    return endpoint.model == OFFLINE or (endpoint.model is None and endpoint.base_url is None)


def model_plugin(endpoint: Endpoint) -> Plugin | None:
    """Return the plugin that provides the model of this name in place of an endpoint, if there is one."""
    plugin = _find_plugin(endpoint.model)
    return None if plugin is None or plugin.name in (_ENDPOINT_MODEL, OFFLINE) else plugin


def _find_plugin(name: str | None) -> Plugin | None:
    return plugins.find("models", ADAPTER if name and name.startswith(f"{ADAPTER}:") else name)


async def choose_model(
    settings: Settings,
    keys: Secrets,
    knowledge: Knowledge,
    stack: AsyncExitStack,
    *,
    advance: Callable[[str, int, int], None],
    wrap: Callable[[Model], Model] | None = None,
    replies: ReplyRecording | None = None,
    secrets: Sequence[str] = (),
) -> Model:
    """Create the model for settings returned by `with_resolved_model`; `stack` closes its connection.

    Replies are recorded or replayed as `replies` says, without the strings in `secrets`; `wrap` is applied to a model
    that makes requests.

    Raises:
        MissingRequirement: a plugin provides the model and fails.
        UsageError: the recorded replies cannot be read.
    """
    name = settings.endpoint.model or OFFLINE
    if replies is None:
        return await _create_model(settings, keys, knowledge, stack, advance, wrap)
    model = await _create_model(settings, keys, knowledge, stack, advance, wrap) if replies.asks_model else None
    from exploracoder_jupyter.trace import Redactor  # imports nbformat, for which a search must not wait
    from exploracoder_jupyter.trace.redaction import local_homes
    from exploracoder_jupyter.trace.text_normalization import normalize

    comparable = Redactor(homes=local_homes()).text
    today = date.today()
    return ArchivedRepliesModel(
        replies,
        model,
        name=model.name if model else name,
        redact=Redactor(secrets).text,
        normalize=lambda text: normalize(mask_marks(strip_costs(comparable(text))), day=today),
    )


def with_recorded_model(settings: Settings, replies: ReplyRecording | None) -> Settings:
    """Return the settings of a run with recorded replies: with the recorded model, without what earlier runs left.

    Raises:
        UsageError: replies are to be replayed, no model is named, and those of several or none are recorded.
    """
    if replies is None:
        return settings
    settings = replace(settings, retrieval=replace(settings.retrieval, snippets=False))
    if replies.asks_model or settings.endpoint.model is not None:
        return settings
    models = replies.archive.models
    if len(models) != 1:
        raise UsageError(
            f"{replies.archive.folder} has recorded replies of {len(models) or 'no'} models.",
            remedy=f"Choose one with --model: {', '.join(models)}." if models else "Name the folder of a recording.",
        )
    return replace(settings, endpoint=replace(settings.endpoint, model=models[0]))


async def _create_model(
    settings: Settings,
    keys: Secrets,
    knowledge: Knowledge,
    stack: AsyncExitStack,
    advance: Callable[[str, int, int], None],
    wrap: Callable[[Model], Model] | None,
) -> Model:
    endpoint = settings.endpoint
    name = OFFLINE if is_offline(endpoint) else str(endpoint.model)
    plugin = _find_plugin(name)
    create: ModelFactory = plugins.get("models", plugin.name if plugin else _ENDPOINT_MODEL)
    context = ModelContext(endpoint, keys, knowledge, report=lambda sentence: advance(sentence, 0, 0))
    try:
        model = create(context)
        if isinstance(model, AbstractAsyncContextManager):
            await stack.enter_async_context(model)
    except Exception as error:
        if isinstance(error, ExploraError) or plugin is None or plugin.built_in:
            raise
        message = f"The model {name!r} of {plugin.origin} cannot be created: {format_error(error)}."
        raise MissingRequirement(message, remedy="Choose another with --model.") from error
    return wrap(model) if wrap else model


# Checks and describes what a run uses according to its settings: the model, the endpoint and the libraries.

_OFFLINE_SOLUTION_ROUNDS = 20
"""Maximum rounds for the offline model: solutions cost it no tokens, so it may try more of them."""


def uses_endpoint(settings: Settings) -> bool:
    """Whether anything is sent to the endpoint: model requests, or texts to embed."""
    embeds = settings.endpoint.embedding_model and not settings.retrieval.embedding_folder
    return not (is_offline(settings.endpoint) or model_plugin(settings.endpoint)) or bool(embeds)


async def check_libraries_at_target(libraries: Sequence[str], settings: Settings, *, folder: Path) -> None:
    """Check that the libraries are installed for the interpreter that the run uses, before its kernels are started.

    Skips the check if documents may replace a library, or if the interpreter is behind a gateway.

    Raises:
        UsageError: a library is not installed.
        MissingRequirement, KernelError: the interpreter cannot be used.
    """
    if is_checked_here(settings):
        check_libraries(libraries, settings, workdir=folder)
    elif not (settings.sandbox.gateway or settings.retrieval.docs):
        environment = environment_key(settings.sandbox, folder)
        remembered = LibraryNameCache(KnowledgeCache(cache_folder()), environment) if environment else None
        await find_libraries(
            libraries, inspect=local_inspector(settings.sandbox, workdir=folder), remembered=remembered
        )


async def with_resolved_model(settings: Settings, keys: Secrets) -> Settings:
    """Return the settings with the endpoint's model resolved, so that a wrong configuration fails at once.

    This sends one request to the endpoint, or loads the plugin that provides the model.

    Raises:
        MissingRequirement: the plugin cannot be loaded.
        EndpointError: the endpoint cannot be reached, refuses the key, or lists not exactly one model where none is
            named.
    """
    if is_offline(settings.endpoint):
        return settings
    if plugin := model_plugin(settings.endpoint):
        plugins.load(plugin)
        inline = settings.retrieval.inline_lookups or plugin.name == ADAPTER
        return replace(settings, retrieval=replace(settings.retrieval, inline_lookups=inline))
    if settings.endpoint.model is None:
        return replace(settings, endpoint=await resolve_model(settings.endpoint, keys))
    found = await probe(settings.endpoint, keys)
    if not (found.reachable or found.passing):
        raise EndpointError(found.sentence, remedy=found.remedy)
    return settings


def recordable_settings(settings: Settings) -> dict[str, JsonValue]:
    """Return the settings as recorded in the trace, without secrets in the endpoint's address or headers."""
    endpoint = settings.endpoint
    if endpoint.base_url:
        endpoint = replace(endpoint, base_url=redact_address(endpoint.base_url))
    return as_json(replace(settings, endpoint=endpoint.with_hidden_headers()))


def secret_strings(endpoint: Endpoint, keys: Secrets) -> list[str]:
    """Return all strings to redact.

    These are the keys and the token, the password and query values of the endpoint's address, and the secrets in
    its headers and in environment variables.
    """
    parts = urlsplit(endpoint.base_url or "")
    credentials = (keys.api_key, gateway_token())
    found = [*(secret.get_secret_value() for secret in credentials if secret), parts.password, web_key()]
    sent = (*secret_query_values(endpoint.base_url), *header_secrets(endpoint.headers))
    return list(dict.fromkeys(text for text in (*found, *sent, *replaceable_values(os.environ)) if text))


def exploration_settings(settings: Settings, layers: Sequence[Layer]) -> Exploration:
    """Return the exploration settings, with more solution rounds for the offline model unless set."""
    method = settings.exploration
    if not is_offline(settings.endpoint) or "solution_rounds" in merge_sources(*layers).get("exploration", {}):
        return method
    return replace(method, solution_rounds=_OFFLINE_SOLUTION_ROUNDS)


def model_notices(settings: Settings, keys: Secrets) -> list[Notice]:
    """Return what the user should know about the model before it is called."""
    endpoint = settings.endpoint
    if endpoint.model == OFFLINE:
        return [Notice("The offline model is not a language model: it adapts documented examples mechanically.")]
    if is_offline(endpoint):
        setup = choose_wording(terminal="`jupyter explora setup`", notebook="`%explora setup`")
        text = (
            "No language model is configured: the embedded offline model splits the task, finds documented examples"
            f" and adapts them mechanically. {setup} finds a language model and configures it."
        )
        if keys.api_key and not endpoint.model:
            text += " A key is set, but no model is named: name one with --model."
        return [Notice(text)]
    plugin = model_plugin(endpoint)
    if plugin.built_in if plugin else is_local(endpoint.base_url):
        return []
    receiver = f"the model {plugin.name!r} of {plugin.origin}" if plugin else redact_address(endpoint.base_url)
    return [Notice(f"{_SENT_DATA[endpoint.share]} is sent to {receiver}. {_SHARE_LESS_HINTS[endpoint.share]}".strip())]


_SENT_DATA = {
    "values": "The task, the code, and what candidates print (values of your data included)",
    "schema": "The task, the code, and names, types and kinds of errors, but no values",
    "none": "The task, the code, and whether it ran",
}
_SHARE_LESS_HINTS = {"values": "`--share schema` or `--share none` sends less.", "schema": "", "none": ""}


# Creates the sources that a run searches in addition to the libraries' own API, according to its settings.
#
# Each source is registered in the group `exploracoder_jupyter.sources` with a function that opens it.


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


# Creates the web source of a run, if the settings enable it.

_WEB_NOTICE = (
    "The web is searched: queries made of words from the task, library names and error types are sent to {}."
    " Pages that are found are downloaded, and relevant passages are sent to the model."
)


async def open_web_source(context: SourceContext) -> Source | None:
    """Create the web source; `None` if it is off.

    Raises:
        MissingRequirement: a required package is not installed.
    """
    settings, clean = context.settings.retrieval, context.clean
    if settings.web == "off":
        return None
    for package in ("lxml", "protego"):
        _check_installed(package, "Searching the web")

    # Not needed by most runs, and an HTTP client is slow to import.
    from exploracoder_jupyter.web.fetching import HttpClient, WebCache, origin_of
    from exploracoder_jupyter.web.page_fetcher import PageFetcher
    from exploracoder_jupyter.web.web_source import WebSource

    def warn(sentence: str) -> None:
        context.emit(Notice(sentence, "warning"))

    http = await context.stack.enter_async_context(HttpClient())
    find, name = _choose_engine(settings, http)
    pages_cache = WebCache(cache_folder())
    trusted = origin_of(settings.web_address or "") if settings.web == "url" else ""
    reader = PageFetcher(http, pages_cache, trusted=trusted)
    context.emit(Notice(_WEB_NOTICE.format(name)))
    name = f"{settings.web} {settings.web_address}"
    return WebSource(find, reader.read, pages_cache, name=name, say=warn, clean=clean)


def _choose_engine(settings: Retrieval, http: HttpClient) -> tuple[SearchEngine, str]:
    from exploracoder_jupyter.web import search

    if settings.web == "ddgs":
        _check_installed("ddgs", "Searching with DuckDuckGo")
        return search.search_duckduckgo, "DuckDuckGo"
    address = settings.web_address or ""
    host = urlsplit(address).hostname or ""
    if settings.web == "searxng":
        find = partial(search.search_searxng, http=http, address=address)
        return find, f"{host}, which asks other search engines"
    template = address.replace("{key}", web_key())
    return partial(search.search_by_template, http=http, template=template), host


def _check_installed(package: str, doing: str) -> None:
    if find_spec(package) is None:
        raise MissingRequirement(
            f"{doing} needs the package {package}, which is not installed.",
            remedy="Install it with `pip install 'exploracoder-jupyter[web]'`.",
        )

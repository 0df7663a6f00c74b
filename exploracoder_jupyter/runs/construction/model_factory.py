"""Creates the model of a run: the one that `--model` names among the registered ones, else a model at the endpoint."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from dataclasses import dataclass, replace
from datetime import date
from typing import Final, Protocol

from exploracoder_jupyter.core import plugins
from exploracoder_jupyter.core.configuration.endpoint_settings import OFFLINE, Endpoint
from exploracoder_jupyter.core.configuration.settings import Settings
from exploracoder_jupyter.core.configuration.settings_sources import Secrets
from exploracoder_jupyter.core.errors import ExploraError, MissingRequirement, UsageError, format_error
from exploracoder_jupyter.kernel_agent.entry_points import Plugin
from exploracoder_jupyter.llm.archived_replies_model import ArchivedRepliesModel, ReplyRecording
from exploracoder_jupyter.llm.endpoint.openai_model import OpenAIModel
from exploracoder_jupyter.llm.offline import OfflineModel
from exploracoder_jupyter.pipeline.ports import Knowledge, Model
from exploracoder_jupyter.pipeline.prompting.observation_text import strip_costs
from exploracoder_jupyter.pipeline.prompting.quoting import mask_marks

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
    from exploracoder_jupyter.trace.comparing.text_normalization import normalize
    from exploracoder_jupyter.trace.sanitizing.path_redaction import local_homes

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

"""Opens the libraries of a run or a search: reads and indexes them, with the embedder that the settings name.

A search imports this and nothing of the models; an embedder is imported where one is configured.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import asdict
from pathlib import Path

from platformdirs import user_cache_path
from pydantic import JsonValue

from exploracoder_jupyter.core.configuration.sections import Sandbox
from exploracoder_jupyter.core.configuration.settings import Settings
from exploracoder_jupyter.core.configuration.sources import Secrets
from exploracoder_jupyter.core.errors import EndpointError
from exploracoder_jupyter.core.events import Event, Notice
from exploracoder_jupyter.kernels import Inspect
from exploracoder_jupyter.knowledge.search.vectors import Embedder, embedder_fallback_message
from exploracoder_jupyter.knowledge.task_libraries import TaskLibraries

Advance = Callable[[str, int, int], None]
"""Called with a description of the current work, the amount done, and the total (0: unknown)."""


def cache_folder() -> Path:
    """Return the folder where indexes are stored between runs."""
    return user_cache_path("exploracoder_jupyter")


async def open_knowledge(
    libraries: Sequence[str],
    settings: Settings,
    keys: Secrets,
    *,
    inspect: Inspect,
    advance: Advance,
    emit: Callable[[Event], None],
    stack: AsyncExitStack,
    folder: Path | None = None,
    store_introductions: bool = True,
) -> TaskLibraries:
    """Read and index the libraries, with embeddings from a local model folder or from the endpoint if configured.

    `inspect` runs code in the environment of the libraries. `emit` is called once with a notice if embeddings fail, now
    or in a later search; the built-in ones replace them. `stack` closes the embedder's connection. Relative paths are
    below `folder`, by default the working directory of the process.

    Raises:
        UsageError, MissingRequirement: a library is unknown or cannot be imported, or documents or the folder are
            unreadable.
    """

    def say(sentence: str) -> None:
        emit(Notice(sentence, "warning"))

    library = await TaskLibraries.open(
        libraries,
        inspect=inspect,
        cache=cache_folder(),
        environment=environment_key(settings.sandbox, folder or Path.cwd()),
        embedder=await _open_embedder(settings, keys, say=say, advance=advance, stack=stack, folder=folder),
        progress=advance,
        docs=[_resolve_path(path, folder) for path in settings.retrieval.docs],
        say=say,
        store_introductions=store_introductions,
    )
    for sentence in library.notices:
        say(sentence)
    return library


def _resolve_path(given: str, folder: Path | None) -> Path:
    return (folder or Path()) / os.path.expanduser(given)  # noqa: PTH111  (raises nothing if there is no such user)


async def _open_embedder(
    settings: Settings,
    keys: Secrets,
    *,
    say: Callable[[str], None],
    advance: Advance,
    stack: AsyncExitStack,
    folder: Path | None,
) -> Embedder | None:
    if settings.retrieval.embedding_folder:
        from exploracoder_jupyter.llm.embeddings import LocalEmbedder

        return LocalEmbedder(_resolve_path(settings.retrieval.embedding_folder, folder))
    if not settings.endpoint.embedding_model:
        return None
    from exploracoder_jupyter.llm.embeddings import EndpointEmbedder

    try:
        embedder = EndpointEmbedder(settings.endpoint, keys, report=lambda sentence: advance(sentence, 0, 0))
        return await stack.enter_async_context(embedder)
    except EndpointError as error:
        say(embedder_fallback_message(error))
        return None


_PREFIXES = ("PYTHON", "CONDA", "VIRTUAL_ENV", "LD_", "DYLD_", "HOME", "PATH")
"""Prefixes of environment variables that determine an interpreter and its search path."""


def environment_key(sandbox: Sandbox, folder: Path) -> str | None:
    """Return a key for the environment of siblings that run in this folder.

    `None` if it cannot be determined here: the kernels are on another machine, or the kernelspec does not exist.
    """
    if sandbox.gateway:
        return None
    kernel: dict[str, JsonValue] = {}
    if sandbox.kernel:
        from jupyter_client.kernelspec import KernelSpecManager, NoSuchKernel  # rarely needed, and slow to import

        try:
            kernel = dict(KernelSpecManager().get_kernel_spec(sandbox.kernel).to_dict())
        except (NoSuchKernel, ValueError):
            return None
    variables = {name: value for name, value in sorted(os.environ.items()) if name.startswith(_PREFIXES)}
    parts = [asdict(sandbox), kernel, sys.executable, sys.prefix, str(folder.absolute()), variables]
    return json.dumps(parts, sort_keys=True)

"""The tools that read installed libraries: find a package, search among APIs, and everything that is known of one.

What is read is exactly the installed version, in the interpreter of the settings or of a running kernel.
"""

from __future__ import annotations

import json
import re
import signal
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import asdict
from itertools import islice
from pathlib import Path
from typing import Final, cast

import anyio
import anyio.abc
from pydantic import JsonValue

from exploracoder_jupyter.agent_tools.live_kernels import ask_kernel
from exploracoder_jupyter.agent_tools.running_kernels import find_kernel
from exploracoder_jupyter.agent_tools.tool_limits import (
    MAX_FOUND,
    MAX_NAMES,
    MAX_QUERY,
    MAX_WAIT,
    Answer,
    check_number,
    check_text,
)
from exploracoder_jupyter.core.configuration.sources import Layer, resolve
from exploracoder_jupyter.core.errors import UsageError
from exploracoder_jupyter.core.platforms import system
from exploracoder_jupyter.core.types import ApiDoc
from exploracoder_jupyter.knowledge.task_libraries import TaskLibraries
from exploracoder_jupyter.pipeline.prompting.observations import may_share_source
from exploracoder_jupyter.pipeline.retrieval.lookups import find_similar_apis, resolve_path
from exploracoder_jupyter.runs.library_search import open_library, runnable_examples, search

_MAX_LIBRARIES: Final = 10
_SHOWN_APIS: Final = 3
_MAX_MEMBERS: Final = 60
_MAX_GUIDES: Final = 3
_PATH: Final = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*")
_LIBRARY: Final = re.compile(r"[A-Za-z0-9][\w.-]{0,99}|_[\w.]{0,99}")


async def find_packages(query: str, k: int, kernel: str) -> Answer:
    """Return the k installed packages that can do this best, each with the APIs that show it.

    The first call reads all packages, without importing any; where that takes longer than a client waits, the answer
    comes from what was read, says so, and the next call goes on. Raises UsageError: an argument is not valid.
    """
    check_text(query, "query", MAX_QUERY)
    check_number(k, "k", 1, MAX_FOUND)
    layers, _ = await _place(kernel, None)
    python = resolve(*layers).sandbox.python
    where = ["--python", str(python)] if python else []
    answer = await _json_of_command("find", "--json", "-k", str(k), "--apis", str(_SHOWN_APIS), *where, "--", query)
    if "packages" not in answer:
        raise UsageError(str(answer.get("error", "The search ended without an answer.")), remedy="Try again.")
    packages = cast("list[dict[str, JsonValue]]", answer["packages"])
    found: Answer = {
        "packages": [{name: value for name, value in one.items() if value} for one in packages],
        "packages_read": answer["read"],
        "packages_installed": answer["installed"],
    }
    if answer["notices"]:
        found["notices"] = answer["notices"]
    return found


async def _json_of_command(*words: str) -> Answer:
    """Return what `jupyter explora` prints with these words; an interrupt asks it to answer from what it has.

    It runs apart because it works for a minute in the worst case, in which the server must answer other calls.
    """
    command = [sys.executable, "-P", "-m", "exploracoder_jupyter.cli", *words]
    async with await anyio.open_process(command, stderr=None, **system.NEW_SESSION) as process:
        assert process.stdout
        try:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(_interrupt_late, process)
                printed = b"".join([part async for part in process.stdout])
                tasks.cancel_scope.cancel()
        except BaseException:
            process.kill()
            raise
    try:
        return cast("Answer", json.loads(printed))
    except ValueError:
        return {}


async def _interrupt_late(process: anyio.abc.Process) -> None:
    await anyio.sleep(MAX_WAIT)
    process.send_signal(signal.SIGINT)


async def search_apis(query: str, libraries: Sequence[str], k: int, kernel: str, workdir: Path | None = None) -> Answer:
    """Return the k APIs of the libraries that match a query best: path, signature, what it does.

    Libraries may lie in the folder of the kernel, or without a kernel in `workdir`. Raises UsageError: an argument is
    not valid, or a library is not installed.
    """
    check_text(query, "query", MAX_QUERY)
    check_number(k, "k", 1, MAX_FOUND)
    layers, folder = await _place(kernel, workdir)
    answer = await search(_checked(libraries), query, k, layers=layers, folder=folder)
    rows = cast("list[dict[str, JsonValue]]", answer["results"])
    fields = ("path", "kind", "signature", "description", "deprecated", "version")
    results: list[JsonValue] = [{name: row[name] for name in fields if row[name]} for row in rows]
    found: Answer = {"results": results, "apis_searched": answer["apis"]}
    if answer["notices"]:
        found["notices"] = answer["notices"]
    return found


async def read_api(
    paths: Sequence[str], *, source: bool, guides: bool, kernel: str, workdir: Path | None = None
) -> Answer:
    """Return what is known of each API: signature, parameters, docstring, members, examples; its source on request.

    Libraries may lie in the folder of the kernel, or without a kernel in `workdir`. Raises UsageError: a path is
    malformed, or its library is not installed. A path that does not exist is answered by similar ones.
    """
    if not 1 <= len(paths) <= MAX_NAMES:
        raise UsageError(f"From 1 to {MAX_NAMES} paths can be read at once.", remedy="Ask for the others afterwards.")
    for path in paths:
        if len(path) > MAX_QUERY or not _PATH.fullmatch(path):
            raise UsageError(f"{path[:60]!r} is not a dotted path.", remedy='For example "networkx.Graph.add_edge".')
    libraries = [*dict.fromkeys(path.partition(".")[0] for path in paths)]
    async with _opened(libraries, kernel, workdir) as library:
        return {"apis": [await _described(library, path, source=source, guides=guides) for path in paths]}


@asynccontextmanager
async def _opened(libraries: Sequence[str], kernel: str, workdir: Path | None) -> AsyncIterator[TaskLibraries]:
    async with AsyncExitStack() as stack:
        layers, folder = await _place(kernel, workdir)
        opened = open_library(_checked(libraries), layers, lambda *_: None, lambda _: None, folder)
        yield await stack.enter_async_context(opened)


def _checked(libraries: Sequence[str]) -> list[str]:
    if not 1 <= len(libraries) <= _MAX_LIBRARIES:
        raise UsageError(f"From 1 to {_MAX_LIBRARIES} libraries can be named.", remedy="Name the most likely ones.")
    for name in libraries:
        if not _LIBRARY.fullmatch(name):
            raise UsageError(f"{name[:60]!r} is not the name of a library.", remedy='For example "networkx".')
    return [*libraries]


async def _place(kernel: str, workdir: Path | None) -> tuple[tuple[Layer, ...], Path | None]:
    """Return the settings that read libraries in the interpreter of this kernel, and its folder.

    Without a kernel they are those of the user, and `workdir`.
    """
    if not kernel:
        return (), workdir
    offered = await ask_kernel((await find_kernel(kernel)).connection_file)
    return ({"sandbox": {"python": offered.python, "kernel": None, "gateway": None}},), offered.folder


async def _described(library: TaskLibraries, path: str, *, source: bool, guides: bool) -> Answer:
    api = resolve_path(library, path)
    if api is None:
        similar = find_similar_apis(path, library.apis)
        inside = [one.path for one in library.apis if one.path.startswith(f"{path}.")]
        return {
            "path": path,
            "problem": "There is no public API of this path.",
            "similar": [one.path for one in similar],
            "inside": [*islice(inside, _MAX_MEMBERS)],
        }
    answer: Answer = {
        "path": api.path,
        "kind": api.kind,
        "signature": f"{api.path}{api.signature}",
        "library": f"{api.library} {api.version}".strip(),
        "deprecated": api.deprecated,
        "documentation": api.description,
        "parameters": [{name: text for name, text in asdict(one).items() if text} for one in api.parameters],
        "returns": api.returns,
        "notes": [*api.notes],
        "see_also": [*api.see_also],
        "aliases": [*api.aliases],
        "members": _members(library, api),
        "examples": [*runnable_examples(api, library)],
    }
    if source:
        text = await library.source(api.path)
        shared = text and may_share_source(text, resolve().endpoint.share)
        answer["source"] = text if shared else "It is not written in Python, or is the user's own and not shared."
    if guides and (documents := library.documents):
        hits = await documents.search(api.path, _MAX_GUIDES)
        answer["guides"] = [{"from": hit.passage.origin, "text": hit.passage.text} for hit in hits]
    return {name: value for name, value in answer.items() if value}


def _members(library: TaskLibraries, api: ApiDoc) -> list[JsonValue]:
    """Return the members of a class or a module, with the signatures of those that are documented."""
    if api.kind not in ("class", "module"):
        return []
    inside = {one.name: one for one in library.apis if one.path.rpartition(".")[0] == api.path}
    names = dict.fromkeys([*inside, *api.members])
    return [f"{name}{inside[name].signature}" if name in inside else name for name in islice(names, _MAX_MEMBERS)]

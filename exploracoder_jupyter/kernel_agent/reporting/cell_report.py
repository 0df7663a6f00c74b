"""Tells, after each cell, what it did: to the names, to files, and why it failed; what it warned of and logged.

The answer leaves the kernel as one display message of a private MIME type, which the receiver takes out of the outputs
again: no further request, and nothing is looked up in the namespace that the cell may have spoiled. No code of a value
is run in this process.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, TypeVar

from exploracoder_jupyter.kernel_agent.reporting import failure_report, touched_files
from exploracoder_jupyter.kernel_agent.reporting.captured_warnings import Caught
from exploracoder_jupyter.kernel_agent.reporting.changed_names import Changed, Seen, changed, look
from exploracoder_jupyter.kernel_agent.reporting.notebook_names import type_path
from exploracoder_jupyter.kernel_agent.summaries import display_formatter
from exploracoder_jupyter.kernel_agent.summaries.summarizer import Summary

MIME = "application/vnd.exploracoder.cell+json"
_MOST = 60
_MOST_CHARACTERS = 4_000
"""Of all summaries together; of the values after that the first line is told."""
_Found = TypeVar("_Found")
_MEMORY = 1_000_000
"""Bytes of growth that are worth a message by themselves."""


class _Running(NamedTuple):
    """The outermost cell that is being run."""

    code: str
    request: object
    """The message that asked for it, none where the shell is no kernel's."""


class Aftermath:
    """Watches the cells of a shell."""

    def __init__(self, shell: Any) -> None:
        self._shell = shell
        self._teller, self._displays = display_formatter.install(shell)
        self._caught, self._files = Caught(), touched_files.Touched()
        self._names: dict[str, Seen] | None = None
        self._memory = 0
        self._publisher = shell.display_pub
        """As it is now: what captures the outputs of a cell takes the shell's place of it."""
        self._running: _Running | None = None
        shell.events.register("pre_run_cell", self._begin)
        shell.events.register("post_run_cell", self._end)

    @classmethod
    def of(cls, shell: Any) -> Aftermath:
        """The shell's, made if it has none."""
        if not hasattr(shell, "explora_aftermath"):
            shell.explora_aftermath = cls(shell)
        found: Aftermath = shell.explora_aftermath
        return found

    def _begin(self, info: Any) -> None:
        now = _Running(info.raw_cell, getattr(self._shell, "parent_header", None))
        if self._running is not None and self._running.request is now.request:
            return  # a cell that a cell runs, as `%%capture` does, is part of that
        self._running = now
        self._names = _tried(lambda: look(self._shell.user_ns, self._shell.transform_cell(info.raw_cell)))
        self._memory = _memory()
        for part in (self._displays.renew, self._files.begin, self._caught.begin):
            _tried(part)

    def _end(self, result: Any) -> None:
        if self._running is None or self._running.code != result.info.raw_cell:
            return
        self._running = None
        try:
            self._displays.renew()
            content = self._content(result)
            if content["memory"] > _MEMORY or any(value for key, value in content.items() if key != "memory"):
                self._publisher.publish({MIME: content})
        except Exception:  # a cell may have broken anything in here; then nothing is known of it
            return

    def _content(self, result: Any) -> dict[str, Any]:
        warned, logged = _tried(self._caught.end) or ([], [])
        return {
            "memory": max(0, _memory() - self._memory),
            "changes": _tried(lambda: self._changes(result)) or [],
            "warnings": warned,
            "logs": logged,
            "files": _tried(self._files.end) or [],
            "failure": _tried(lambda: self._failure(result)),
        }

    def _changes(self, result: Any) -> list[dict[str, str]]:
        if self._names is None:
            return []
        code = self._shell.transform_cell(result.info.raw_cell)
        found = changed(self._names, self._shell.user_ns, code)[:_MOST]
        summaries = self._teller.tell([one.value for one in found])
        return list(_told(found, summaries))

    def _failure(self, result: Any) -> dict[str, Any] | None:
        error = result.error_in_exec or result.error_before_exec
        return failure_report.told(error, self._shell.user_ns) if error is not None else None


def _tried(part: Callable[[], _Found]) -> _Found | None:
    """What a part finds, or nothing where the cell has broken what it needs."""
    try:
        return part()
    except Exception:
        return None


def _told(found: Sequence[Changed], summaries: Sequence[Summary]) -> Iterator[dict[str, str]]:
    room = _MOST_CHARACTERS
    for one, summary in zip(found, summaries, strict=True):
        whole = not one.imported and len(summary.text) <= room
        text, schema = summary if whole else map(_first_line, summary)
        room -= len(text)
        yield {
            "name": one.name,
            "how": one.how,
            "type": type_path(one.value),
            "summary": text,
            "schema": schema,
            "before": one.before,
        }


def _first_line(text: str) -> str:
    line, _, more = text.partition("\n")
    return f"{line}\n  ... more cut" if more else line


def _memory() -> int:
    """Bytes of memory that this process holds, 0 where the system does not tell."""
    try:
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        return 0

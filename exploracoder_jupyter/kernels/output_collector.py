"""Collects the outputs of one execution from kernel messages, within a budget.

`OutputCollector` converts the IOPub messages of one execution into nbformat outputs. It keeps the head and the tail of
what is printed and reports how much was cut; it does not depend on sockets.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from typing import Any, Final

from exploracoder_jupyter.core.types import ErrorInfo, Output
from exploracoder_jupyter.kernel_agent.reporting.bounded_output import IMAGE_SIZE_FACTOR, encoded_size, shorten_lines
from exploracoder_jupyter.kernels.messages import CellOutcome, cut_middle, parse_cell_outcome, short_traceback
from exploracoder_jupyter.text.characters import strip_ansi

CELL_MIME: Final = "application/vnd.exploracoder.cell+json"
"""MIME type of the display message that reports what a cell did (`kernel_agent.reporting.cell_report`).

Such a message is not an output."""

FLOOD_FACTOR: Final = 16
"""An execution that prints this many times its budget is stopped."""

_SLACK: Final = 1000
_LONGEST_NAME: Final = 200

_OUTPUTS = frozenset(["stream", "execute_result", "display_data", "error"])


class OutputCollector:
    """The outputs of one execution.

    Keeps at most `budget` characters: the first half as they arrive, and the last half of the rest. An image, or an
    updated output, may take more, up to a few times the budget in total.
    """

    def __init__(self, budget: int) -> None:
        self._half = max(1, budget // 2)
        self._budget, self._largest = budget, (IMAGE_SIZE_FACTOR + 1) * budget + _SLACK
        self._head: list[Output] = []
        self._tail: deque[Output] = deque()
        self._head_size = self._tail_size = 0
        self._by_display_id: dict[str, list[Output]] = {}
        self._clear_next = False
        self._limit = budget * FLOOD_FACTOR
        self.received = 0
        """Characters of output received so far."""
        self.cut = 0
        """Characters of output that were not kept."""
        self.error: ErrorInfo | None = None
        self.outcome = CellOutcome()

    @property
    def flooded(self) -> bool:
        """Whether so much was printed that the execution should be stopped."""
        return self.received > self._limit

    def add(self, kind: str, content: Mapping[str, Any]) -> None:
        """Add one IOPub message. Messages that carry no output (status, comms, widgets) are ignored."""
        if self._clear_next and kind in _OUTPUTS:
            self._clear(wait=False)
        match kind:
            case "stream":
                self._append_stream(str(content["name"]), str(content["text"]))
                # Cut by the sibling itself, see `kernel_agent.reporting.bounded_output`.
                self.cut += int(content.get("cut", 0))
            case "execute_result" | "display_data":
                self._append_rich(kind, content)
            case "update_display_data":
                self._update(content)
            case "error":
                self._append_error(content)
            case "clear_output":
                self._clear(wait=bool(content.get("wait")))
            case _:
                pass

    def outputs(self) -> tuple[Output, ...]:
        """Return the kept outputs in order, with a line where text was cut; adjacent streams are joined."""
        note: list[Output] = []
        if self.cut:
            note = [_stream("stderr", f"\n[{self.cut:,} characters of output were cut here]\n")]
        return tuple(_join_streams([*self._head, *note, *self._tail]))

    def _append_stream(self, name: str, text: str) -> None:
        remaining = self._half - self._head_size
        if remaining > 0 and not self._tail:
            self._append(_stream(name, text[:remaining]))
            text = text[remaining:]
        if text:
            lost = max(0, len(text) - self._half)
            self.cut += lost
            self.received += lost
            self._append(_stream(name, text[lost:]))

    def _append_rich(self, kind: str, content: Mapping[str, Any]) -> None:
        data = dict(content.get("data") or {})
        if CELL_MIME in data:
            self.outcome = parse_cell_outcome(data[CELL_MIME])
            return
        output: Output = {"output_type": kind, "data": data, "metadata": dict(content.get("metadata") or {})}
        if kind == "execute_result":
            output["execution_count"] = None
        self._append(output)
        display_id = (content.get("transient") or {}).get("display_id")
        if isinstance(display_id, str) and len(display_id) <= _LONGEST_NAME:
            self._by_display_id.setdefault(display_id, []).append(output)

    def _update(self, content: Mapping[str, Any]) -> None:
        data, metadata = dict(content.get("data") or {}), dict(content.get("metadata") or {})
        for output in self._by_display_id.get(str((content.get("transient") or {}).get("display_id")), []):
            before = _size(output)
            output.update(data=data, metadata=metadata)
            growth = _size(output) - before
            self.received += max(0, growth)
            if growth > 0 and self._head_size + self._tail_size + growth > self._largest:
                self._replace_with_note(output)
                growth = _size(output) - before
            if any(output is kept for kept in self._head):
                self._head_size += growth
            else:
                self._tail_size += growth
        self._trim_tail()

    def _replace_with_note(self, output: Output) -> None:
        size = _size(output)
        self.cut += size
        output.update(data={"text/plain": f"[an output of {size:,} characters was cut here]"}, metadata={})

    def _append_error(self, content: Mapping[str, Any]) -> None:
        name = cut_middle(str(content.get("ename", "")), _LONGEST_NAME)
        message = cut_middle(str(content.get("evalue", "")), self._budget)
        frames = shorten_lines([str(line) for line in content.get("traceback") or []], self._budget)
        self.error = ErrorInfo(name, strip_ansi(message), short_traceback(frames))
        self._append({"output_type": "error", "ename": name, "evalue": message, "traceback": [*frames]})

    def _append(self, output: Output) -> None:
        size = _size(output)
        self.received += size
        if size > self._largest:  # an image or similar: streams and errors have been cut already
            self._replace_with_note(output)
            size = _size(output)
        if not self._tail and self._head_size + size <= self._half:
            self._head.append(output)
            self._head_size += size
            return
        self._tail.append(output)
        self._tail_size += size
        self._trim_tail()

    def _trim_tail(self) -> None:
        while len(self._tail) > 1 and (excess := self._tail_size - self._half) > 0:
            oldest = self._tail[0]
            lost = _size(oldest)
            if lost > excess and oldest["output_type"] == "stream":
                self._tail[0] = _stream(str(oldest["name"]), str(oldest["text"])[excess:])
                lost = excess
            else:
                self._stop_updating(self._tail.popleft())
            self._tail_size -= lost
            self.cut += lost

    def _stop_updating(self, output: Output) -> None:
        """Stop updating the output and release it."""
        for shown in self._by_display_id.values():
            shown[:] = [other for other in shown if other is not output]

    def _clear(self, *, wait: bool) -> None:
        self._clear_next = wait
        if not wait:
            self._head.clear()
            self._tail.clear()
            self._by_display_id.clear()
            self._head_size = self._tail_size = self.cut = 0


def _stream(name: str, text: str) -> Output:
    return {"output_type": "stream", "name": name, "text": text}


def _size(output: Output) -> int:
    if output["output_type"] == "stream":
        return len(str(output["text"]))
    return sum(encoded_size(value) for name, value in output.items() if name != "output_type")


def _join_streams(outputs: Iterable[Output]) -> list[Output]:
    joined: list[Output] = []
    for output in outputs:
        last = joined[-1] if joined else None
        if last and last["output_type"] == output["output_type"] == "stream" and last["name"] == output["name"]:
            joined[-1] = _stream(str(output["name"]), f"{last['text']}{output['text']}")
        else:
            joined.append(output)
    return joined

"""Gives displayed values a text for a model beside their other forms: `text/llm+plain`, and the same without values.

The formatter is IPython's own kind, so that printers can be registered with it (`for_type`, `for_type_by_name`), and
`_repr_llm_` is its method. One that somebody else has registered stays, and is asked for other values, too. No display
fails or waits long because of it.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from exploracoder_jupyter.kernel_agent.summaries.summarizer import Summary, Teller
from exploracoder_jupyter.kernel_agent.summaries.value_text import scalar

LLM = "text/llm+plain"
SCHEMA = "application/vnd.exploracoder.schema+plain"
_SECONDS = 1.0
"""For all displays of a cell; of what is displayed after that the type is told."""
_SHORT = 400
"""Characters of a text that needs no summary."""


class Displays:
    """Tells the values that are displayed, each once for both formats."""

    def __init__(self, teller: Teller) -> None:
        self._teller = teller
        self._left = _SECONDS
        self._told: tuple[Any, Summary] | None = None

    def renew(self) -> None:
        """Another cell begins, or one has ended: nothing displayed is kept alive."""
        self._left, self._told = _SECONDS, None

    def text(self, value: Any) -> str | None:
        """The summary of a value, or nothing for one that is short as it is."""
        if self._is_plain(value):
            return None
        summary = self._tell(value)
        self._told = (value, summary)
        return summary.text

    def schema(self, value: Any) -> str | None:
        """The same without values."""
        told, self._told = self._told, None
        if self._is_plain(value):
            return None
        return (told[1] if told and told[0] is value else self._tell(value)).schema

    def _is_plain(self, value: Any) -> bool:
        kind = type(value)
        if not scalar(kind) or self._teller.printer(kind) is not None:
            return False
        if kind is int:
            return bool(value.bit_length() <= _SHORT)
        return len(value) <= _SHORT if kind is str or kind is bytes else True

    def _tell(self, value: Any) -> Summary:
        begun = time.monotonic()
        try:
            return self._teller.tell([value], seconds=self._left)[0]
        finally:
            self._left -= time.monotonic() - begun


def install(shell: Any) -> tuple[Teller, Displays]:
    """Add the formats to the shell that it lacks; what tells its values, and what tells those that are displayed.

    `active_types` is left alone: formatters that are added are enabled, and to set it would switch others on and off.
    """
    formatters = shell.display_formatter.formatters
    foreign = formatters.get(LLM)
    ours = None if foreign is not None else _formatter(shell, LLM)
    teller = Teller(foreign if ours is None else ours, foreign=ours is None)
    displays = Displays(teller)
    if ours is not None:
        ours.tell = displays.text
        formatters[LLM] = ours
    if SCHEMA not in formatters:
        twin = formatters[SCHEMA] = _formatter(shell, SCHEMA)
        twin.tell = displays.schema
    return teller, displays


def _formatter(shell: Any, mime: str) -> Any:
    from IPython.core.formatters import BaseFormatter
    from traitlets import ObjectName, Unicode

    class Told(BaseFormatter):
        format_type = Unicode(mime)
        print_method = ObjectName("_repr_llm_")
        tell: Callable[[Any], str | None] | None = None

        def __call__(self, value: Any) -> str | None:
            try:
                return self.tell(value) if self.tell and self.enabled else None
            except Exception:  # a display goes on without it
                return None

    return Told(parent=shell.display_formatter)

"""Adds text for a model to displayed values: `text/llm+plain`, and the same without data.

The formatter is a regular IPython formatter, so printers can be registered with it (`for_type`, `for_type_by_name`),
and its method is `_repr_llm_`. If another one is already registered, it stays, and its printers count. It never makes
a display fail or wait long.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from exploracoder_jupyter.kernel_agent.summaries.summarizer import Summarizer, Summary
from exploracoder_jupyter.kernel_agent.summaries.value_text import scalar_formatter

LLM = "text/llm+plain"
SCHEMA = "application/vnd.exploracoder.schema+plain"
_SECONDS = 1.0
"""For all displays of a cell; values displayed after that are summarized by their type alone."""
_MAX_PLAIN_LENGTH = 400
"""Characters up to which a text needs no summary."""


class DisplaySummaries:
    """Summarizes displayed values, each once for both formats."""

    def __init__(self, summarizer: Summarizer) -> None:
        self._summarizer = summarizer
        self._seconds_left = _SECONDS
        self._last: tuple[Any, Summary] | None = None

    def renew(self) -> None:
        """Reset the time budget before or after a cell, and release the last displayed value."""
        self._seconds_left, self._last = _SECONDS, None

    def text(self, value: Any) -> str | None:
        """Return the summary of a value, or None for one that is short enough as it is."""
        if self._is_short_scalar(value):
            return None
        summary = self._summarize(value)
        self._last = (value, summary)
        return summary.text

    def schema(self, value: Any) -> str | None:
        """Return the summary without data."""
        last, self._last = self._last, None
        if self._is_short_scalar(value):
            return None
        return (last[1] if last and last[0] is value else self._summarize(value)).schema

    def _is_short_scalar(self, value: Any) -> bool:
        kind = type(value)
        if not scalar_formatter(kind) or self._summarizer.printer(kind) is not None:
            return False
        if kind is int:
            return bool(value.bit_length() <= _MAX_PLAIN_LENGTH)
        return len(value) <= _MAX_PLAIN_LENGTH if kind is str or kind is bytes else True

    def _summarize(self, value: Any) -> Summary:
        started = time.monotonic()
        try:
            return self._summarizer.tell([value], seconds=self._seconds_left)[0]
        finally:
            self._seconds_left -= time.monotonic() - started


def install(shell: Any) -> tuple[Summarizer, DisplaySummaries]:
    """Add the missing formats to the shell; return the summarizers of its values and of its displays.

    `active_types` is left alone: added formatters are enabled already, and setting it would enable or disable others.
    """
    formatters = shell.display_formatter.formatters
    own, schema = (_create_formatter(shell, mime) for mime in (LLM, SCHEMA))
    summarizer = Summarizer(formatters.setdefault(LLM, own))
    displays = DisplaySummaries(summarizer)
    own.render, schema.render = displays.text, displays.schema
    formatters.setdefault(SCHEMA, schema)
    return summarizer, displays


def _create_formatter(shell: Any, mime: str) -> Any:
    from IPython.core.formatters import BaseFormatter
    from traitlets import ObjectName, Unicode

    class SummaryFormatter(BaseFormatter):
        format_type = Unicode(mime)
        print_method = ObjectName("_repr_llm_")
        render: Callable[[Any], str | None] | None = None

        def __call__(self, value: Any) -> str | None:
            try:
                return self.render(value) if self.render and self.enabled else None
            except Exception:  # the display must work without it
                return None

    return SummaryFormatter(parent=shell.display_formatter)

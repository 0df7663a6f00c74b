"""Formats nested values in a few words: `[1, 2, 3, ... 97 more]`, `{'a': 1, ...}`, `pandas.DataFrame: 3 x 2`.

Built-in values are inspected without running any of their own code. For values with a describer, its first fact is
shown. For other values, `repr` is called only where it can do no harm (in a forked child, see `forked_probe`);
otherwise only the type is shown.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import Any

from exploracoder_jupyter.kernel_agent.reporting.notebook_names import type_path
from exploracoder_jupyter.kernel_agent.summaries import summarizer_registry
from exploracoder_jupyter.kernel_agent.summaries.facts import SummaryOptions
from exploracoder_jupyter.kernel_agent.summaries.value_text import has_plain_repr, is_one_of, scalar_formatter

_MAX_ITEMS = 3
_MAX_DEPTH = 2
_BRACKETS: dict[type, str] = {list: "[]", tuple: "()", set: "{}", frozenset: "{}", dict: "{}"}


@dataclass(frozen=True, slots=True)
class ShortFormatter:
    """Formats values in a few words; describers receive it as `SummaryOptions.short`."""

    apart: bool
    """Whether this is a forked child, in which running a value's code can do no harm."""
    letters: int = 40

    def __call__(self, value: Any) -> str:
        """Return the value on one line of at most `letters` characters."""
        try:
            line = " ".join(self._format(value, 0)[: 4 * self.letters].split())
            return line if len(line) <= self.letters else f"{line[: self.letters - 3]}..."
        except Exception:
            return "?"

    def _format(self, value: Any, depth: int) -> str:
        format_scalar = scalar_formatter(type(value))
        if format_scalar:
            return format_scalar(value, self.letters // 2)
        if is_one_of(type(value), _BRACKETS):
            return self._format_container(value, depth)
        return self._describe_known(value, depth) or self._format_unknown(value)

    def _format_container(self, value: Any, depth: int) -> str:
        if depth >= _MAX_DEPTH or (not value and type(value) in (set, frozenset)):
            return f"{type(value).__name__} of {len(value):,}"
        brackets = _BRACKETS[type(value)]
        if type(value) is dict:
            entries = islice(value.items(), _MAX_ITEMS)
            parts = [f"{self._format(key, depth + 1)}: {self._format(item, depth + 1)}" for key, item in entries]
        else:
            parts = [self._format(item, depth + 1) for item in islice(value, _MAX_ITEMS)]
        if len(value) > _MAX_ITEMS:
            parts.append(f"... {len(value) - _MAX_ITEMS:,} more")
        trailing_comma = "," if type(value) is tuple and len(value) == 1 else ""
        return f"{brackets[0]}{', '.join(parts)}{trailing_comma}{brackets[1]}"

    def _describe_known(self, value: Any, depth: int) -> str | None:
        """Return the content of a small value, or else its describer's first fact, if that may run in this process."""
        entry = summarizer_registry.find(value)
        if entry is None:
            return None
        path = type_path(value)
        if not entry.own:  # in a fork, the `repr` of a type that must be described in-process would be wrong
            return path if entry.family.in_process else None
        if depth >= _MAX_DEPTH or not entry.describe or not entry.can_describe(value, in_fork=self.apart):
            return f"{path}: {entry.shape(value)}" if entry.measure else path
        options = SummaryOptions(ShortFormatter(self.apart, self.letters // 2), rows=1, columns=3)
        brief = entry.brief(value, options) if entry.brief else ""
        fact = None if brief else next(iter(entry.describe(value, options)), None)
        return f"{path}: {fact.text if fact else brief}" if fact or brief else path

    def _format_unknown(self, value: Any) -> str:
        path = type_path(value)
        if not self.apart or has_plain_repr(type(value)):
            return path
        try:
            return f"{path}: {repr(value)[: 4 * self.letters]}"
        except Exception as error:
            return f"{path} (its repr raises {type_path(error)})"

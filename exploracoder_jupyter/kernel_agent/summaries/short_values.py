"""Values within values, in a few words: `[1, 2, 3, ... 97 more]`, `{'a': 1, ...}`, `pandas.DataFrame: 3 x 2`.

What is built into the interpreter is looked into, without running anything of the values' own code. Of values that a
describer knows the first thing that it says is told. What is not known is asked for its `repr` only where that can do
no harm (`apart`); else its type is all there is.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice
from typing import Any

from exploracoder_jupyter.kernel_agent.reporting.notebook_names import type_path
from exploracoder_jupyter.kernel_agent.summaries import summarizer_registry
from exploracoder_jupyter.kernel_agent.summaries.summary_facts import Look
from exploracoder_jupyter.kernel_agent.summaries.value_text import has_plain_repr, is_one_of, scalar

_ITEMS = 3
_DEEPEST = 2
_BRACKETS: dict[type, str] = {list: "[]", tuple: "()", set: "{}", frozenset: "{}", dict: "{}"}


@dataclass(frozen=True, slots=True)
class Short:
    """Tells values in a few words; to be given to describers as `Look.short`."""

    apart: bool
    """Whether this is a process that may be spoilt."""
    letters: int = 40

    def __call__(self, value: Any) -> str:
        """The value on one line of at most `letters`."""
        try:
            return _bounded(self._told(value, 0), self.letters)
        except Exception:
            return "?"

    def _told(self, value: Any, depth: int) -> str:
        written = scalar(type(value))
        if written:
            return written(value, self.letters // 2)
        if is_one_of(type(value), _BRACKETS):
            return self._container(value, depth)
        return self._known(value, depth) or self._asked(value)

    def _container(self, value: Any, depth: int) -> str:
        if depth >= _DEEPEST or (not value and type(value) in (set, frozenset)):
            return f"{type(value).__name__} of {len(value):,}"
        brackets = _BRACKETS[type(value)]
        parts = [self._entry(item, value, depth + 1) for item in _first(value)]
        if len(value) > _ITEMS:
            parts.append(f"... {len(value) - _ITEMS:,} more")
        last = "," if type(value) is tuple and len(value) == 1 else ""
        return f"{brackets[0]}{', '.join(parts)}{last}{brackets[1]}"

    def _entry(self, item: Any, container: Any, depth: int) -> str:
        if type(container) is not dict:
            return self._told(item, depth)
        return f"{self._told(item[0], depth)}: {self._told(item[1], depth)}"

    def _known(self, value: Any, depth: int) -> str | None:
        """What a small value holds, or else what its describer says first, where that may run in this process."""
        known = summarizer_registry.find(value)
        if known is None:
            return None
        path = type_path(value)
        if not known.own:  # what has to be told in the kernel itself is told wrong by its own `repr` in a fork
            return path if known.family.here else None
        if depth >= _DEEPEST or not known.describe or not known.told(value, apart=self.apart):
            return f"{path}: {known.shape(value)}" if known.measure else path
        look = Look(Short(self.apart, self.letters // 2), rows=1, columns=3)
        held = known.brief(value, look) if known.brief else ""
        fact = None if held else next(iter(known.describe(value, look)), None)
        return f"{path}: {fact.text if fact else held}" if fact or held else path

    def _asked(self, value: Any) -> str:
        path = type_path(value)
        if not self.apart or has_plain_repr(type(value)):
            return path
        try:
            return f"{path}: {repr(value)[: 4 * self.letters]}"
        except Exception as error:
            return f"{path} (its repr raises {type_path(error)})"


def _first(value: Any) -> Iterable[Any]:
    return islice(value.items() if type(value) is dict else value, _ITEMS)


def _bounded(text: str, most: int) -> str:
    line = " ".join(text[: 4 * most].split())
    return line if len(line) <= most else f"{line[: most - 3]}..."

"""Summarizes values in a few lines each, by the describers of their types."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache, partial
from itertools import repeat
from types import ModuleType
from typing import Any, NamedTuple, Protocol

from exploracoder_jupyter.kernel_agent.entry_points import Plugin, registered, search_path
from exploracoder_jupyter.kernel_agent.reporting.notebook_names import class_dict, mro, type_path
from exploracoder_jupyter.kernel_agent.summaries import forked_probe, python_objects, summarizer_registry
from exploracoder_jupyter.kernel_agent.summaries.facts import Describe, Fact, SummaryOptions
from exploracoder_jupyter.kernel_agent.summaries.short_values import ShortFormatter
from exploracoder_jupyter.kernel_agent.summaries.value_text import is_builtin

# Summarizers of other distributions, registered as entry points named after the package whose values they describe.
#
# A plugin is imported in the forked child that summarizes such a value (`forked_probe`), and nowhere else: whatever
# it does ends with the child and counts against its time. It describes types for which there is no built-in
# describer.

PlainFact = str | tuple[Any, ...]
"""The fields of a `Fact`: `("3 gauges",)`, `("max 2.1", True)`. A string alone counts as data."""


class PluginSummarizer(Protocol):
    """What an entry point in the group `exploracoder_jupyter.summarizers` refers to; a module may be one."""

    describers: Mapping[str, Callable[[Any, SummaryOptions], Iterable[PlainFact]]]
    """By top-level package and class name, such as `tidebook.Ledger`. The first fact follows the type on its line."""


@cache
def find_plugins() -> tuple[list[str], dict[str, list[Plugin]]]:
    """Return the import path for plugins, and the plugins by package, as they are at the first call.

    Must be called before any code that a model wrote runs.
    """
    found: dict[str, list[Plugin]] = {}
    for plugin in registered("summarizers"):
        if not plugin.built_in:
            found.setdefault(plugin.name, []).append(plugin)
    return search_path(), found


def find_describer(value: Any) -> Describe | None:
    """Return a plugin's describer for the value's type or its nearest base class, unless a built-in one is as near.

    Imports the plugin: for forked children only.
    """
    paths, plugins = find_plugins()
    for name, _ in summarizer_registry.qualified_names(type(value)):
        if summarizer_registry.is_known(name):
            return None
        for plugin in plugins.get(name.partition(".")[0], ()):
            sys.path[:] = paths  # a file in the working directory must not be imported instead
            try:
                describe = plugin.load().describers.get(name)
            except Exception as error:
                return partial(_describe_failure, plugin, error)
            if describe:
                return partial(_describe, describe)
    return None


def _describe(
    describe: Callable[[Any, SummaryOptions], Iterable[PlainFact]], value: Any, options: SummaryOptions
) -> Iterator[Fact]:
    for fact in describe(value, options):
        yield Fact(fact, shows=True) if isinstance(fact, str) else Fact(*fact)


def _describe_failure(plugin: Plugin, error: Exception, value: Any, options: SummaryOptions) -> Iterator[Fact]:
    yield Fact(f"the summarizer {plugin.name!r} of {plugin.origin} cannot be loaded: {type(error).__name__}")
    yield from python_objects.describe(value, options)


# Summarizes values in a few lines each, as they are shown to a model.
#
# The first line has the import path of the type and the first fact; the other facts follow, indented, as long as
# they fit. The facts come from the first of these that applies: a printer registered with the formatter of
# `text/llm+plain`; the class's own `_repr_llm_`; a plugin's describer (`summarizer`); a describer of the
# type's family (`summarizer_registry`); the object's attributes (`objects.python_objects`). All of that runs in a
# forked child (`forked_probe`), so a value whose code hangs, raises or has side effects costs half a second and one
# line. Only purely built-in values, modules, and families that do not work in a fork are summarized in this
# process.

MAX_LENGTH = 600
"""Maximum characters in the summary of a value, unless its type family allows more."""
_LAST_LINE_LENGTH = len("\n  ... 1,000 more cut")
_MIN_SHORTENED = 60
"""A fact that does not fit is shortened to the remaining space if at least this many characters remain."""
_COUNT_SECONDS = 0.02
"""Maximum time to count omitted facts and to look for ones that still fit in the schema."""
_MAX_INLINE_LENGTH = 100_000
_NOTES = {"late": "summary timed out", "died": "a longer summary ends the process"}


class Summary(NamedTuple):
    """A value in a few lines: 600 characters unless its type family allows more, and a note."""

    text: str
    schema: str
    """The same without any data: type, shape, names of columns and fields."""


class Summarizer:
    """Summarizes values, in a forked child where their code must run."""

    def __init__(self, formatter: Any = None) -> None:
        """Use the printers that are registered with the formatter for `text/llm+plain`."""
        self._formatter = formatter
        find_plugins()

    def tell(self, values: Sequence[Any], *, seconds: float = forked_probe.SECONDS_ALL) -> list[Summary]:
        """Return a summary of each value; only the type where no time is left. Never raises an `Exception`."""
        summaries = [
            _summarize_in_process(value) if _is_harmless(value) and not self.printer(type(value)) else None
            for value in values
        ]
        jobs = [partial(self._draft, value) for value, summary in zip(values, summaries, strict=True) if not summary]
        try:
            results = iter(forked_probe.run(jobs, seconds=seconds))
        except Exception:  # code that ran here earlier may have broken what this needs
            results = repeat(forked_probe.Result([], "unrun"))
        pairs = zip(values, summaries, strict=True)
        return [summary or _parse_summary(value, next(results)) for value, summary in pairs]

    def _draft(self, value: Any, send: forked_probe.Send) -> None:
        _draft_summary(value, self._facts(value, SummaryOptions(ShortFormatter(apart=True))), send)

    def _facts(self, value: Any, options: SummaryOptions) -> Iterator[Fact]:
        custom = self._custom_text(value)
        if custom is not None:
            yield from (Fact(line, True, "") for line in custom.strip().splitlines())
            return
        entry = summarizer_registry.find(value)
        describe = entry.describe if entry and entry.describe else python_objects.describe
        yield from (find_describer(value) or describe)(value, options)

    def _custom_text(self, value: Any) -> str | None:
        """Return the text of a registered printer or of the class's own `_repr_llm_`, if any."""
        printer = self.printer(type(value))
        if printer is not None:
            return _as_text(printer(value))
        has_method = any("_repr_llm_" in class_dict(cls) for cls in mro(type(value)))
        return _as_text(value._repr_llm_()) if has_method else None

    def printer(self, kind: type) -> Callable[[Any], Any] | None:
        """Return the printer that others have registered for values of this type."""
        try:
            return self._formatter.lookup_by_type(kind)  # type: ignore[no-any-return]
        except Exception:  # there is none, or no such formatter
            return None


def _as_text(result: Any) -> str | None:
    """Unwrap the text of a printer's result, to which IPython's printers may add metadata."""
    text = result[0] if type(result) is tuple and result else result
    return text if isinstance(text, str) and text.strip() else None


def _type_text(value: Any) -> str:
    try:
        return type_path(value)
    except Exception:  # a class may have any object as its name
        return "object"


def _is_harmless(value: Any) -> bool:
    """Return whether the value can be summarized in this process: none of its code runs, or a fork would hang."""
    kind = type(value)
    if kind is str or kind is bytes:
        return len(value) <= _MAX_INLINE_LENGTH
    if kind is ModuleType or is_builtin(value):
        return True
    entry = summarizer_registry.find(value)
    try:
        return entry is not None and entry.can_describe(value, in_fork=False)
    except Exception:
        return False


def _summarize_in_process(value: Any) -> Summary:
    drafts: list[list[str]] = []
    entry = summarizer_registry.find(value)
    options = SummaryOptions(ShortFormatter(apart=False))
    facts = entry.describe(value, options) if entry and entry.describe else iter(())
    _draft_summary(value, facts, drafts.append)
    return Summary(*drafts[-1])


def _max_length(value: Any) -> int:
    entry = summarizer_registry.find(value)
    return entry.family.max_length if entry else MAX_LENGTH


def _draft_summary(value: Any, facts: Iterator[Fact], send: forked_probe.Send) -> None:
    """Send the whole draft after each fact, so that the last draft received counts."""
    text, schema = (_Draft(_type_text(value), _max_length(value)) for _ in range(2))
    note, counted, deadline = "", True, float("inf")
    try:
        for fact in facts:
            before = text.text, schema.text
            text.add(fact.text)
            schema.add(fact.schema if fact.shows else fact.text)
            if before != (text.text, schema.text):
                send([text.text, schema.text])
            if text.full:
                deadline = min(deadline, time.monotonic() + _COUNT_SECONDS)
            if time.monotonic() > deadline:
                counted = False
                break
    except BaseException as error:  # raised by the value's code: any exception is reported as a fact about the value
        note = f"to tell more raises {_type_text(error)}"
    texts = [text.finish(counted), schema.finish(counted)]
    send([_with_note(text, note) for text in texts] if note else texts)


def _parse_summary(value: Any, result: forked_probe.Result) -> Summary:
    """Parse the child's last draft, which is not trusted."""
    last = result.pieces[-1] if result.pieces else None
    if not (isinstance(last, list) and len(last) == 2 and all(isinstance(text, str) for text in last)):
        last = [_type_text(value)] * 2
    text, schema = (text[: _max_length(value) + 200] for text in last)
    note = _NOTES.get(result.outcome)
    return Summary(_with_note(text, note), _with_note(schema, note)) if note else Summary(text, schema)


class _Draft:
    """The type of a value, its first fact on the same line, and the other facts below, indented."""

    def __init__(self, head: str, limit: int = MAX_LENGTH) -> None:
        self.text = head[:MAX_LENGTH]
        self._limit = limit
        self._started = False
        self._omitted = 0

    @property
    def full(self) -> bool:
        """Whether a fact was omitted."""
        return self._omitted > 0

    def add(self, fact: str | None) -> None:
        """Add a fact. An empty first fact leaves the first line to the type alone."""
        separator, text = (
            ("\n  ", _clean(fact or "").strip("\n")) if self._started else (": ", _clean(fact or "").strip())
        )
        self._started = True
        if not text:
            return
        line = separator + text.rstrip().replace("\n", "\n    ")
        available = self._limit - _LAST_LINE_LENGTH - len(self.text)
        if self.full:
            self._omitted += 1
        elif len(line) <= available:
            self.text += line
        else:
            self.text += f"{line[: available - 3]}..." if available >= _MIN_SHORTENED else ""
            self._omitted = 1

    def finish(self, counted: bool = True) -> str:
        """Return the text, with the number of omitted facts if `counted`."""
        if not self.full:
            return self.text
        return f"{self.text}\n  ... {f'{min(self._omitted, 1000):,} ' if counted else ''}more cut"


def _with_note(text: str, note: str) -> str:
    """Append a note line to the text; the note may exceed the text's size limit."""
    return f"{text}\n  ({_clean(note)[:100]})"


def _clean(text: str) -> str:
    """Replace characters that cannot be encoded, or that a terminal should not be sent."""
    if text.isprintable() and text.isascii():
        return text
    text = text[: 10 * MAX_LENGTH].encode("utf-8", "replace").decode()
    return "".join(char if char.isprintable() or char == "\n" else _escape(char) for char in text)


def _escape(char: str) -> str:
    return "    " if char == "\t" else ascii(char)[1:-1]

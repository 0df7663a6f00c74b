"""Tells values in a few lines each: what a model is shown of them.

The first line is the import path of the type and the first fact, the others follow, indented, as long as they fit. Who
tells them: a printer registered with the formatter of `text/llm+plain`, or the class itself by `_repr_llm_`; a
describer of the type's family (`registry`); else the object's own attributes (`objects`). All of that runs in a forked
child (`apart`): a value whose code hangs, raises or changes something costs half a second and a line. Only what is
built in through and through, modules, and the families that a fork does not carry are told in this process.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from types import ModuleType
from typing import Any, NamedTuple

from exploracoder_jupyter.kernel_agent.reporting.notebook_names import type_path
from exploracoder_jupyter.kernel_agent.summaries import forked_probe, summarizer_registry
from exploracoder_jupyter.kernel_agent.summaries.objects import python_objects
from exploracoder_jupyter.kernel_agent.summaries.short_values import Short
from exploracoder_jupyter.kernel_agent.summaries.summary_draft import MOST, Draft, with_note
from exploracoder_jupyter.kernel_agent.summaries.summary_facts import Fact, Look
from exploracoder_jupyter.kernel_agent.summaries.value_text import is_plain

_COUNT_SECONDS = 0.02
"""How long it may take to count what is left out, and to look for what still fits in the schema."""
_LONG = 100_000
_bases = type.__dict__["__mro__"].__get__
_dict = type.__dict__["__dict__"].__get__
_NOTES = {"late": "to tell more takes too long", "died": "to tell more ends the process"}


class Summary(NamedTuple):
    """A value in a few lines, 600 characters and a note at most."""

    text: str
    schema: str
    """The same without anything of the data: type, shape, names of columns and fields."""


class Teller:
    """Tells values."""

    def __init__(self, formatter: Any = None, *, foreign: bool = False) -> None:
        """`formatter`: IPython's for `text/llm+plain`; a foreign one is asked as it is, not only for its printers."""
        self._formatter, self._foreign = formatter, foreign

    def tell(self, values: Sequence[Any], *, seconds: float = forked_probe.SECONDS_ALL) -> list[Summary]:
        """A summary of each value; the type alone where there is no time left. Never raises an `Exception`."""
        told: dict[int, Summary] = {}
        for place, value in enumerate(values):
            if _harmless(value) and not self.printer(type(value)):
                told[place] = _told_here(value)
        rest = [place for place in range(len(values)) if place not in told]
        said = _run([self._job(values[place]) for place in rest], seconds)
        told |= {place: _summary(values[place], one) for place, one in zip(rest, said, strict=True)}
        return [told[place] for place in range(len(values))]

    def _job(self, value: Any) -> forked_probe.Job:
        def job(say: forked_probe.Say) -> None:
            look = Look(Short(apart=True))
            _draft(value, self._facts(value, look), say)

        return job

    def _facts(self, value: Any, look: Look) -> Iterator[Fact]:
        given = self._given(value)
        if given is not None:
            lines = given.strip().splitlines()
            yield from (Fact(line, True, "") for line in lines)
            return
        known = summarizer_registry.find(value)
        describe = known.describe if known and known.describe else python_objects.describe
        yield from describe(value, look)

    def _given(self, value: Any) -> str | None:
        """What others have to say of the value: a registered printer, or its class."""
        if self._foreign:
            return _text_of(self._formatter(value))
        printer = self.printer(type(value))
        if printer is not None:
            return _text_of(printer(value))
        own = any("_repr_llm_" in _dict(cls) for cls in _bases(type(value)))
        return _text_of(value._repr_llm_()) if own else None

    def printer(self, kind: type) -> Callable[[Any], Any] | None:
        """What others have registered for values of this type."""
        if self._formatter is None:
            return None
        if self._foreign:
            return self._formatter  # type: ignore[no-any-return]
        try:
            found: Callable[[Any], Any] = self._formatter.lookup_by_type(kind)
        except KeyError:
            return None
        return found


def _run(jobs: Sequence[forked_probe.Job], seconds: float) -> list[forked_probe.Said]:
    try:
        return forked_probe.run(jobs, seconds=seconds)
    except Exception:  # what has run here before may have spoilt what that needs
        return [forked_probe.Said([], "unrun")] * len(jobs)


def _text_of(found: Any) -> str | None:
    """IPython's printers may add metadata."""
    text = found[0] if type(found) is tuple and found else found
    return text if isinstance(text, str) and text.strip() else None


def _head(value: Any) -> str:
    try:
        return type_path(value)
    except Exception:  # a class may be named by anything
        return "object"


def _harmless(value: Any) -> bool:
    """Whether the value can be told in this process: nothing of it is run, or it hangs in any other."""
    kind = type(value)
    if kind is str or kind is bytes:
        return len(value) <= _LONG
    if kind is ModuleType or is_plain(value):
        return True
    try:
        known = summarizer_registry.find(value)
        return known is not None and known.told(value, apart=False)
    except Exception:
        return False


def _told_here(value: Any) -> Summary:
    said: list[list[str]] = []
    look = Look(Short(apart=False))
    _draft(value, _known_facts(value, look), said.append)
    return Summary(*said[-1])


def _known_facts(value: Any, look: Look) -> Iterator[Fact]:
    known = summarizer_registry.find(value)
    return known.describe(value, look) if known and known.describe else iter(())


def _most(value: Any) -> int:
    try:
        known = summarizer_registry.find(value)
    except Exception:  # a class may be anything
        return MOST
    return known.family.most if known else MOST


def _draft(value: Any, facts: Iterator[Fact], say: forked_probe.Say) -> None:
    """Say, after each fact, all that there is to say so far: what was said last counts."""
    text, schema = (Draft(_head(value), _most(value)) for _ in range(2))
    note, counted, until = "", True, float("inf")
    try:
        for fact in facts:
            before = text.text, schema.text
            text.add(fact.text)
            schema.add(fact.schema if fact.shows else fact.text)
            if before != (text.text, schema.text):
                say([text.text, schema.text])
            if text.full:
                until = min(until, time.monotonic() + _COUNT_SECONDS)
            if time.monotonic() > until:
                counted = False
                break
    except BaseException as error:  # of the value: whatever it is, it is news of the value
        note = f"to tell more raises {_head(error)}"
    ends = [text.ended(counted), schema.ended(counted)]
    say([with_note(end, note) for end in ends] if note else ends)


def _summary(value: Any, said: forked_probe.Said) -> Summary:
    """What came out of the child, which is not trusted."""
    last = said.pieces[-1] if said.pieces else None
    if not (isinstance(last, list) and len(last) == 2 and all(isinstance(text, str) for text in last)):
        last = [_head(value)] * 2
    text, schema = (text[: _most(value) + 200] for text in last)
    note = _NOTES.get(said.ending)
    return Summary(with_note(text, note), with_note(schema, note)) if note else Summary(text, schema)

"""Observations in prompts, limited by the user's share level."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import fields, replace
from typing import Final

from exploracoder_jupyter.core.configuration.sections import Sharing
from exploracoder_jupyter.core.types import Change, ErrorInfo, Experience, Observation, Passage, Task
from exploracoder_jupyter.pipeline.context import heuristic
from exploracoder_jupyter.pipeline.exploring.selection import INVENTED
from exploracoder_jupyter.pipeline.prompting.documentation import shorten, shorten_code
from exploracoder_jupyter.pipeline.prompting.prompt_inputs import Inputs
from exploracoder_jupyter.text.characters import fenced

# Limits what is sent to the model of observations: `values`, `schema` or `none`.
#
# `schema` keeps names, types, shapes, names of columns and files, the type of an error and where it was raised. Of
# error messages it keeps only those that are about code and not about data, if they have one of the interpreter's
# standard forms: a missing name, attribute or module, or arguments that do not fit. The missing name is kept only
# if the code that ran contains it: it may come from data, as in `getattr(row, key)`. `none` keeps only whether the
# code ran. Code is always sent, because the model wrote it; the user's own files are not, because they may contain
# data anywhere. The filter is applied to the inputs of every request, so that nothing bypasses it on the way into a
# prompt, and to source code that a model looks up.
#
# An error report quotes source. A check or a file of the user's may contain data, so a quotation is kept only if it
# occurs in the code of the cell.

INSTALLED: Final = "# Installed, in "
"""Prefix of publicly available source code, written by `kernel_agent.introspection.source_code`."""

_NAME = r"'[A-Za-z_][\w.]*'"
_NAMES = rf"{_NAME}(?:(?:,| and|, and) {_NAME})*"
_CALL = r"[A-Za-z_][\w.<>]*\(\)"
_MISSING_NAME = rf"name {_NAME} is not defined|(?:cannot access )?(?:local|free) variable {_NAME}"
_MISSING_MODULE = rf"No module named {_NAME}|cannot import name {_NAME} from (?:partially initialized module )?{_NAME}"
_ARGUMENTS = (
    rf"{_CALL} (?:got an unexpected keyword argument {_NAME}|got multiple values for argument {_NAME}"
    rf"|missing \d+ required (?:positional|keyword-only) arguments?: {_NAMES}"
    r"|takes (?:no|\d+|from \d+ to \d+) (?:positional |keyword )?arguments?(?: but \d+ (?:was|were) given)?)"
)
_FORMS = {
    "NameError": _MISSING_NAME,
    "UnboundLocalError": _MISSING_NAME,
    "AttributeError": rf"(?:{_NAME} object|module {_NAME}|type object {_NAME}) has no attribute {_NAME}",
    "ImportError": _MISSING_MODULE,
    "ModuleNotFoundError": _MISSING_MODULE,
    "TypeError": _ARGUMENTS,
    INVENTED: r".*",
}
"""Maps the type of an error to the form that its message must begin with to be kept, up to the end of the match."""

_GIVEN = re.compile(rf"\b(name|named|variable|attribute|unexpected keyword argument) ({_NAME})")
"""A name that was looked up and may come from data, unlike names of existing types, modules and parameters."""
_WORD = re.compile(r"\w+")
_WARNING = re.compile(r"[A-Za-z_][\w.]*(?=:|$)")
_PLACE = re.compile(r"  (?P<head>[^:]*\bline [\d,]+(?: of [^:]*)?)(?:: (?P<source>.*))?")
_QUOTATION = re.compile(r"    (?:failed in: (?P<failed>.*)|(?P<value>.+): [\w.<>]+|(?P<line>.*?)\s*\^?)")


def redact_inputs(inputs: Inputs, sharing: Sharing) -> Inputs:
    """Return the inputs with task, experiences and passages reduced to what may be shared."""
    if sharing == "values":
        return inputs
    changes: dict[str, object] = {}
    for field in fields(inputs):
        value = getattr(inputs, field.name)
        if isinstance(value, Task) and sharing == "none":
            changes[field.name] = replace(value, variables=())
        elif isinstance(value, Experience):
            changes[field.name] = redact_experience(value, sharing)
        elif isinstance(value, tuple) and value and isinstance(value[0], Experience):
            changes[field.name] = tuple(redact_experience(item, sharing) for item in value)
        elif isinstance(value, tuple) and value and isinstance(value[0], Passage):
            changes[field.name] = tuple(item for item in value if item.source != "workspace")
    return replace(inputs, **changes) if changes else inputs  # type: ignore[arg-type]


def may_share_source(source: str, sharing: Sharing) -> bool:
    """Whether source code from `Knowledge.source` may be sent; the user's own only with `values`."""
    return sharing == "values" or source.startswith(INSTALLED)


@heuristic("removing values from a result", lambda experience, sharing: _status_only(experience))
def redact_experience(experience: Experience, sharing: Sharing) -> Experience:
    """Return the experience with its observation reduced to what may be shared."""
    if sharing == "values":
        return experience
    if sharing == "none":
        return _status_only(experience)
    observation, code = experience.observation, experience.candidate.code
    error = observation.error
    if error:
        report = "\n".join(_without_foreign_source(error.schema, code))
        form = _FORMS.get(error.name)
        found = re.match(form, error.message) if form else None
        words = {*_WORD.findall(code)}

        def keep_known(match: re.Match[str]) -> str:
            return match[0] if {*_WORD.findall(match[2])} <= words else f"{match[1]} '...'"

        message = _GIVEN.sub(keep_known, found.group()) if found else ""
        error = ErrorInfo(error.name, message, report=report, schema=report, nearest=error.nearest)
    categories = [_WARNING.match(warning) for warning in observation.warnings]
    return replace(
        experience,
        observation=Observation(
            observation.status,
            error=error,
            text=observation.schema,
            seconds=observation.seconds,
            names=observation.names,
            note=observation.note,
            unmet=observation.unmet,
            changes=tuple(replace(change, summary=change.schema) for change in observation.changes),
            schema=observation.schema,
            warnings=tuple(dict.fromkeys(one.group() if one else "a warning" for one in categories)),
            files=observation.files,
            memory=observation.memory,
        ),
    )


def _status_only(experience: Experience) -> Experience:
    """Return the experience with only its status, duration and the type of its error."""
    observation, error = experience.observation, experience.observation.error
    bare_error = ErrorInfo(error.name, "") if error else None
    return replace(
        experience, observation=Observation(observation.status, error=bare_error, seconds=observation.seconds)
    )


def _without_foreign_source(report: str, code: str) -> Iterator[str]:
    """Yield the lines of an error report without quotations of other code; layout and quotes may differ."""

    def is_own(source: str) -> bool:
        return "".join(source.split()).replace('"', "'") in "".join(code.split()).replace('"', "'")

    for line in report.splitlines():
        if place := _PLACE.fullmatch(line):
            yield line if is_own(place["source"] or "") else f"  {place['head']}"
        elif quoted := _QUOTATION.fullmatch(line):
            if is_own(quoted["failed"] or quoted["value"] or quoted["line"] or ""):
                yield line
        else:
            yield line


# Renders observations for prompts: the most informative parts first, within a budget, with a note about each cut.
#
# What a prompt already states is removed from the summaries of values: what was printed, and the members of a type.

_MEMBERS: Final = re.compile(r"^  (?:properties|methods): .*\n?", re.MULTILINE)
"""Facts about the type of a value, written by `kernel_agent.summaries.python_objects`."""
_PUNCTUATION: Final = re.compile(r"[\s|,:='\"()\[\]{}]+")
_ZERO_FRACTION: Final = re.compile(r"(?<=\d)\.0+(?!\d)")
_LABEL: Final = re.compile(r"^[^\n:=]{1,60}[:=]\s*")
_LEAST_WORDS: Final = 2
_LEAST_CHARACTERS: Final = 4
"""A line of fewer words and characters may be printed by coincidence."""

MOST_CHARACTERS: Final = 4000
"""Maximum number of characters of one observation, not counting its code."""

_LEAST = 600
_FRAME = 40
"""Characters of a cell around its title, code and observation."""
_RESERVED = 100
"""Characters reserved for each later part of an observation."""
_SLOW_SECONDS = 1.0
_MUCH_MEMORY = 50_000_000
_COST: Final = re.compile(r"^It (?:took [\d.]+ s|grew by \d+ MB)(?: and grew by \d+ MB)?\.\n?", re.MULTILINE)

_Part = Callable[[Observation, int], str]
"""Renders one part of an observation in about the given number of characters (a few more if it notes a cut); empty
if there is nothing to show."""


def format_cells(experience: Iterable[Experience], most: int) -> list[str]:
    """Render each cell with its observation, all in about `most` characters.

    All are shown in full if they fit together; otherwise short ones are, and the longer ones get as much room each.
    """
    items = drop_repeated_members(experience)
    full = [_cell(item) for item in items]
    room = max(_equal_room([*map(len, full)], most), _LEAST)
    return [text if len(text) <= room else _cell(item, room) for item, text in zip(items, full, strict=True)]


def _equal_room(lengths: Sequence[int], most: int) -> int:
    """Return the limit at which texts of these lengths take `most` characters together, if each is cut there."""
    for place, length in enumerate(sorted(lengths)):
        share = most // (len(lengths) - place)
        if length > share:
            return share
        most -= length
    return max(lengths, default=0)


@heuristic(
    "describing a result", lambda item, room=None: f"# {item.subtask.title}\n{fenced(item.candidate.code, 'python')}"
)
def _cell(item: Experience, room: int | None = None) -> str:
    observation = item.observation
    code, shown = item.candidate.code, "\n".join(_observation_parts(observation, MOST_CHARACTERS))
    if room is not None:  # code gives way to at most half of the room, as far as what came out needs the rest
        code = shorten_code(code, max(room - len(shown) - len(item.subtask.title) - _FRAME, room // 2))
    ended = "It ran." if observation.ran else f"It failed ({observation.status})."
    head = f"# {item.subtask.title}\n{fenced(code, 'python')}\n{ended}"
    if room is not None and len(shown) > (left := max(room - len(head), _LEAST // 2)):
        shown = "\n".join(_observation_parts(observation, left))
    return "\n".join(filter(None, (head, shown)))


def _observation_parts(observation: Observation, room: int) -> Iterator[str]:
    """Yield the non-empty parts; earlier ones are not cut as long as enough is left for the later ones."""
    all_parts: tuple[_Part, ...] = (  # ordered by how informative they are
        lambda seen, room: f"Error:\n{shorten(_report(seen.error), room)}" if seen.error else "",
        lambda seen, room: _bullet_list("Did you mean:", seen.error.nearest if seen.error else (), room),
        _note,
        lambda seen, room: f"Output:\n{shorten(seen.text.strip(), room)}" if seen.text.strip() else "",
        _changes,
        lambda seen, room: _bullet_list("Warnings:", seen.warnings, room),
        lambda seen, room: f"Files written: {shorten(', '.join(seen.files), room)}" if seen.files else "",
        lambda seen, room: _bullet_list("Logged:", seen.logs, room),
        _cost,
    )
    parts = [part for part in all_parts if part(observation, room)]
    for index, part in enumerate(parts):
        text = part(observation, max(room - _RESERVED * (len(parts) - index - 1), _RESERVED))
        room -= len(text)
        yield text


def _report(error: ErrorInfo) -> str:
    """Return the error report, always with the error message."""
    report = error.report.strip()
    if not report:
        return error.traceback.strip() or error.headline
    first, _, rest = report.partition("\n")
    name, message, _ = first.partition(": ")
    if name.rpartition(".")[2] != error.name:
        return f"{error.headline}\n{report}"
    return report if message else f"{error.headline}\n{rest}".strip()


def format_observation(observation: Observation, most: int) -> str:
    """Render an observation without its code in about `most` characters; empty if it shows nothing."""
    return "\n".join(_observation_parts(observation, most))


def format_error(item: Experience) -> str:
    """Render the error of a cell in brief: its type and message, and the line of the cell that raised it, if known."""
    error = item.observation.error
    if error is None:
        return f"- {item.observation.note or item.observation.status}"
    place = next((line.strip() for line in error.report.splitlines() if " of the cell" in line), "")
    return "\n  ".join(filter(None, (f"- {error.headline}", place)))


def _note(observation: Observation, room: int) -> str:
    known = observation.error is not None and observation.note in _report(observation.error)
    return "" if known else shorten(observation.note, room)


def _changes(observation: Observation, room: int) -> str:
    """Render the new values of names; empty if the cell failed, since its names are gone."""
    if not observation.ran:
        return ""
    if not observation.changes:
        names = ", ".join(f"{name}: {kind}" for name, kind in observation.names)
        return f"New names: {shorten(names, room)}" if names else ""
    return "\n".join(["Names now:", *_fitting_changes(observation.changes, shorten(observation.text, room), room)])


def _fitting_changes(changes: Sequence[Change], shown: str, room: int) -> Iterator[str]:
    """Yield changes in full, or their first line, or the number of the rest. `shown`: the text rendered above."""
    for index, change in enumerate(changes):
        how = f"{change.how}, before: {change.before}" if change.before else change.how
        summary = drop_shown_facts(change, shown)
        value = summary if summary.startswith(change.type) else f"{change.type}: {summary}".removesuffix(": ")
        full = f"- {change.name} ({how}): {value}"
        brief = full.partition("\n")[0]
        line = full if len(full) <= room - _RESERVED else brief if brief == full else f"{brief} [more cut]"
        if len(line) > room:
            names = ", ".join(other.name for other in changes[index:])
            yield f"- and {len(changes) - index} more: {shorten(names, _RESERVED)}"
            return
        room -= len(line)
        yield line


def _cost(observation: Observation, _room: int) -> str:
    parts = [f"took {observation.seconds:.1f} s"] if observation.seconds > _SLOW_SECONDS else []
    parts += [f"grew by {observation.memory / 1e6:.0f} MB"] if observation.memory > _MUCH_MEMORY else []
    return f"It {' and '.join(parts)}." if parts else ""


def strip_costs(text: str) -> str:
    """Remove measured durations and memory from a prompt, because runs that are otherwise equal differ in them."""
    return _COST.sub("", text)


def _bullet_list(heading: str, lines: Sequence[str], room: int) -> str:
    """Render the lines that fit, and the number of those that do not."""
    kept: list[str] = []
    for line in lines:
        if kept and len(line) > room:
            kept.append(f"- and {len(lines) - len(kept)} more")
            break
        kept.append(f"- {shorten(line, max(room, _RESERVED))}")
        room -= len(kept[-1])
    return "\n".join([heading, *kept]) if kept else ""


@heuristic("shortening results", lambda experience: list(experience))
def drop_repeated_members(experience: Iterable[Experience]) -> list[Experience]:
    """Return the experiences, with the properties and methods of each type only at the first value of that type."""
    known: set[str] = set()
    kept: list[Experience] = []
    for item in experience:
        changes = []
        for change in item.observation.changes if item.observation.ran else ():
            plain = replace(change, summary=_MEMBERS.sub("", change.summary).rstrip())
            changes.append(plain if change.type in known else change)
            if _MEMBERS.search(change.summary):
                known.add(change.type)
        kept.append(replace(item, observation=replace(item.observation, changes=tuple(changes))) if changes else item)
    return kept


@heuristic("shortening results", lambda change, shown: change.summary)
def drop_shown_facts(change: Change, shown: str) -> str:
    """Return the summary of a value without the facts that the shown output states too."""
    lines = change.summary.strip().splitlines()
    # A line that another one continues is dropped: the type of a column, where its values follow.
    summary = "\n".join(line for line in lines if not any(other.startswith(f"{line}, ") for other in lines))
    if not shown.strip() or not summary:
        return summary
    literal = summary.removeprefix(change.type).removeprefix(": ").strip().strip("'\"")
    outputs = [line.strip() for line in shown.splitlines()]
    if summary in shown or (literal and any(literal in (line, _LABEL.sub("", line)) for line in outputs)):
        return f"{change.type}, as shown above"
    head, *facts = summary.splitlines()
    printed, kept = f" {_words(shown)} ", []
    for line in facts:
        words = _words(line)
        enough = len(words.split()) >= _LEAST_WORDS or len(words) >= _LEAST_CHARACTERS
        if not (enough and f" {words} " in printed):
            kept.append(line)
    fresh = [*_without_empty_headings(kept)]
    return "\n".join([head if len(fresh) == len(facts) else f"{head}, as shown above", *fresh])


def _words(text: str) -> str:
    return _ZERO_FRACTION.sub("", _PUNCTUATION.sub(" ", text)).strip().casefold()


def _without_empty_headings(lines: Sequence[str]) -> Iterator[str]:
    """Yield the lines except for headings under which nothing is left."""
    indents = [len(line) - len(line.lstrip()) for line in lines]
    for line, indent, following in zip(lines, indents, [*indents[1:], 0], strict=False):
        if not line.rstrip().endswith(":") or following > indent:
            yield line

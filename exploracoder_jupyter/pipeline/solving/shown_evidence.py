"""What a program showed, as far as it tells whether the task is done, and what in it speaks against that.

A model that is asked whether anything is left to do sees the last program, the example that ran after it, and the
values of the variables that the task names: neither documentation nor earlier tries. Where it finds nothing although
something speaks against that, it is told so once. Only what can be found in the text counts: a value that the task
states and that occurs neither in the program nor in what came out, and values that are all missing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from exploracoder_jupyter.core.types import Experience, Observation, Task
from exploracoder_jupyter.pipeline.exploring.result_agreement import find_facts, stated_facts
from exploracoder_jupyter.pipeline.guarded_heuristics import heuristic
from exploracoder_jupyter.text.fenced_blocks import without_fenced_blocks

_IDENTIFIER: Final = re.compile(r"[^\W\d]\w*")
_QUOTED: Final = re.compile(r"`([^\W\d]\w*)`|(?<![\w`])(?:\"([^\"\n]{1,60})\"|'([^'\n]{1,60})')(?![\w`])")
"""A name between backticks, or a text between quotation marks."""
_CALL: Final = re.compile(r"`[^`\n]*\w\([^`\n]*`|^\s*>>>.*$", re.MULTILINE)
"""Code in the prose, whose arguments are not results."""
_GROUPED: Final = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_ALL_MISSING: Final = re.compile(r"^ *(?P<what>\S[^:\n]*): (?:[^\n]*, )?all (?:missing|null|NaN|NaT)\b", re.MULTILINE)
_DISPLAY: Final = "__import__('IPython.display', fromlist=['_']).display"
_EXPECTED: Final = re.compile(r"\b(?:missing|null|nan|nat|empty)\b", re.IGNORECASE)
_MOST: Final = 5


def gather_evidence(task: Task, seen: Sequence[Experience]) -> tuple[Experience, ...]:
    """Return the last program with the example after it, if any.

    Of the values that they changed, those that the task names come first and in full, the others with their first line,
    and modules not at all. `seen` are programs and the examples after them, in the order in which they ran.
    """
    start = max((at for at, item in enumerate(seen) if not item.candidate.parent), default=0)
    named = {name: place for place, name in reversed([*enumerate(_IDENTIFIER.findall(task.text))])}

    def arrange(observation: Observation) -> Observation:
        values = [one for one in observation.changes if one.type != "module"]
        first = sorted((one for one in values if one.name in named), key=lambda one: named[one.name])
        others = [one for one in values if one.name not in named]
        if first or observation.text.strip():
            others = [replace(one, summary=one.summary.partition("\n")[0]) for one in others]
        return replace(observation, changes=(*first, *others))

    return tuple(replace(item, observation=arrange(item.observation)) for item in seen[start:])


def shows_something(task: Task, *observations: Observation) -> bool:
    """Whether there is an output, a file, or the value of a variable that the task names."""
    named = {*_IDENTIFIER.findall(task.text)}
    return any(
        seen.text.strip() or seen.files or any(one.name in named and one.summary for one in seen.changes)
        for seen in observations
    )


def show_named_variables(task: Task) -> str:
    """Return code that displays the user's variables that the task names; empty if it names none."""
    words = {*_IDENTIFIER.findall(task.text)}
    return "\n".join(f"print({f'{name}:'!r}); {_DISPLAY}({name})" for name in task.uses if name in words)


@heuristic("comparing what came out with the task", lambda task, evidence: "")
def find_doubt(task: Task, evidence: Sequence[Experience]) -> str:
    """Return what speaks against a program that was called right, as sentences; empty if nothing does."""
    absent = list(dict.fromkeys(_absent_values(task, evidence)))[:_MOST]
    sentences = [f"The task states {', '.join(absent)}, but neither program nor output contains it."] if absent else []
    if not _EXPECTED.search(task.text):
        missing = [
            f"{found['what']} in {change.name}"
            for item in evidence
            for change in item.observation.changes
            for found in _ALL_MISSING.finditer(change.summary)
        ]
        missing = list(dict.fromkeys(missing))[:_MOST]
        sentences += [f"All values are missing: {', '.join(missing)}."] if missing else []
    return " ".join(sentences)


def _absent_values(task: Task, evidence: Sequence[Experience]) -> Iterator[str]:
    """Yield what the task states as a result, or quotes, and what neither code nor output contains."""
    shown = "\n".join(text for item in evidence for text in _texts(item))
    known = "\n".join([shown, task.solution_name or "", *task.libraries, *task.uses]).casefold()
    facts = find_facts(_GROUPED.sub("", shown))
    numbers = [fact for fact in facts if isinstance(fact, float)]
    prose = _CALL.sub("", without_fenced_blocks(task.text))
    for fact in stated_facts(_GROUPED.sub("", prose)):
        if isinstance(fact, float) and not _is_near(fact, numbers):
            yield f"{fact:.12g}"
    for match in _QUOTED.finditer(prose):
        text = next(filter(None, match.groups()))
        if text.casefold() not in known:
            yield match[0].strip("`")


def _texts(item: Experience) -> Iterator[str]:
    observation = item.observation
    yield item.candidate.code
    yield observation.text
    yield from observation.files
    for change in observation.changes:
        yield f"{change.name} {change.summary}"


def _is_near(stated: float, numbers: Sequence[float]) -> bool:
    """Whether one of the numbers is the stated one, rounded to as many places, or as a share of a hundred."""
    places = len(f"{stated:.12g}".partition(".")[2])
    return any(stated in (round(number, places), round(number * 100, places)) for number in numbers)

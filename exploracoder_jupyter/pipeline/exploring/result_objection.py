"""Finds what contradicts a task or subtask in the result of a cell that ran without an error.

Code that makes up a variable which the task treats as given counts as failed, whatever it computes. Three kinds of
objections cost a candidate its preference and a repair, and are recognized only where little else can be meant: a
warning that a statement had no effect, a number of rows or items that differs from the number that the subtask asks
for, and a name that the subtask is to store and that does not exist.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import replace
from typing import Final

from exploracoder_jupyter.core.given_variables import find_invented
from exploracoder_jupyter.core.types import ErrorInfo, Experience, Observation, Task
from exploracoder_jupyter.pipeline.exploring.dependency_slice import names_in
from exploracoder_jupyter.pipeline.guarded_heuristics import heuristic

_NO_EFFECT: Final = re.compile(
    r"\b(?:does(?:n't| not) allow|(?:has|had|have|having) no effect|(?:is|are|was|were|will be|being) ignored"
    r"|did nothing|nothing (?:was|is) (?:done|changed|written|added))\b",
    re.IGNORECASE,
)
_NUMBERS: Final = {word: n for n, word in enumerate("one two three four five six seven eight nine ten".split(), 1)}  # noqa: SIM905
_NOUNS: Final = r"rows?|records?|entr(?:y|ies)|items?|elements?|results?|pairs?"
_ASKED: Final = re.compile(
    r"\b(?:take|keep|select|pick|get|return|find|list|choose|extract|fetch|query)\b(?P<between>[^.;:]{0,40}?)"
    rf"\b(?P<number>\d+|{'|'.join(_NUMBERS)})\s+(?:[\w-]+\s+){{0,2}}?(?P<noun>{_NOUNS})\b",
    re.IGNORECASE,
)
_OF_INPUT: Final = re.compile(r"\b(?:of|from|in|among|over|across|between|for|per|each|every|least|most|than)\b", re.I)
"""Words before a number that is not the size of the result."""
_SIZE: Final = re.compile(r"(?<![\w.])(?P<size>\d[\d,]*) (?:rows?|items?|values?)\b|shape \((?P<length>\d+)")
_SHORT_SUMMARY: Final = re.compile(r"^[\w.]+: empty")
_WORD: Final = re.compile(r"[\w,]+")
_STORES: Final = re.compile(
    r"\b(?:stor|sav|put|keep|assign)\w*\b[^.;]*\b(?:in|into|as|to)\s+(?:[\w-]+\s+){0,3}`([^\W\d]\w*)`", re.IGNORECASE
)
"""`store the sum in the dict `totals``; of several names in a sentence, the last."""
INVENTED: Final = "InventedData"
"""Name of the error of code that makes up what the task gives."""


def refuse_invented(task: Task, code: str, observation: Observation) -> Observation:
    """Return the observation as a failure if the code makes up a variable that the task treats as given.

    It comes before a check that failed, which made-up data cannot be expected to pass; another error stays.
    """
    names = find_invented(code, [one.name for one in task.variables if one.given])
    if not names:
        return observation
    listed = ", ".join(f"`{name}`" for name in names)
    message = (
        f"The program makes up {listed}, which the task treats as given: {'it is' if len(names) == 1 else 'they are'} "
        "the user's data. Use what exists; you may change it, but not put data of your own in its place."
    )
    if not (observation.ran or observation.unmet):
        return replace(observation, note=f"{observation.note} {message}".strip())
    error = ErrorInfo(INVENTED, message, report=f"{INVENTED}: {message}", schema=f"{INVENTED}: {message}")
    return replace(observation, status="error", error=error, unmet="input")


def missing_result(text: str, bound: Collection[str]) -> str:
    """Return the name in which the text wants a result and that is not among those that exist; empty if none is."""
    return next((name for name in _STORES.findall(text) if name not in bound), "")


def missing_name(item: Experience) -> str:
    """Return the name that a subtask is to store and that its cell did not bind; empty if there is none."""
    observation = item.observation
    changed = (change.name for change in observation.changes)
    known = {*names_in(item.candidate.code).bound, *changed, *(name for name, _ in observation.names)}
    return missing_result(item.subtask.title, known)


@heuristic("comparing a result with its subtask", lambda item: "")
def find_objection(item: Experience) -> str:
    """Return why the result of a cell that ran is not what its subtask asks for, as a clause; empty if nothing is."""
    if not item.observation.ran:
        return ""
    if any(_NO_EFFECT.search(warning) for warning in item.observation.warnings):
        return "it warned that a statement had no effect"
    if missing := missing_name(item):
        return f"it does not set `{missing}`, where the subtask wants its result"
    asked, sizes = _asked_size(item.subtask.title), [*_sizes(item.observation)]
    if asked is None or not sizes or asked in sizes:
        return ""
    text = item.observation.text
    lines = [line for line in text.splitlines() if line.strip()]
    shown = str(asked) in _WORD.findall(text) or len(lines) == asked
    return "" if shown else f"its result has {sizes[0]} where the subtask asks for {asked}"


def with_objection(item: Experience) -> Experience:
    """Return the experience with the objection to its result, if there is one, as a remark on the observation."""
    if not (objection := find_objection(item)):
        return item
    remark = f"{item.observation.note} {objection[:1].upper()}{objection[1:]}.".strip()
    return replace(item, observation=replace(item.observation, note=remark))


def _asked_size(title: str) -> int | None:
    """Return the only number of rows or items that the subtask asks for; `None` if there is none, or several."""
    numbers = [match["number"] for match in _ASKED.finditer(title) if not _OF_INPUT.search(match["between"])]
    found = {_NUMBERS.get(number.lower()) or int(number) for number in numbers}
    return found.pop() if len(found) == 1 else None


def _sizes(observation: Observation) -> Iterator[int]:
    """Yield the sizes of the values that the cell bound, those that it mentions last first."""
    for change in observation.changes:
        head = change.schema.partition("\n")[0]
        if _SHORT_SUMMARY.match(head):
            yield 0
        elif found := _SIZE.search(head):
            yield int((found["size"] or found["length"]).replace(",", ""))

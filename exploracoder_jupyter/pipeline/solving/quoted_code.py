"""Finds code that a task quotes because it fails: "why does this raise", with a block of Python.

Such code is run before anything is written, so that the first request has its error. Code in a task is more often an
example of use; therefore the prose around it has to speak of a failure, and it has to be a program of its own.
"""

from __future__ import annotations

import re
from textwrap import dedent
from typing import Final

from exploracoder_jupyter.core.python_code import parse_python
from exploracoder_jupyter.core.types import Task
from exploracoder_jupyter.pipeline.exploring.dependency_slice import unbound_names
from exploracoder_jupyter.pipeline.guarded_heuristics import heuristic
from exploracoder_jupyter.text.fenced_blocks import split_fenced, without_fenced_blocks

_FAILS: Final = re.compile(
    r"\bwhy\b[^.?!]*\b(?:raise|fail|crash|break|error|not work)|\b(?:raises|fails|crashes|breaks)\b(?! if\b| when\b)"
    r"|\b(?:does(?:n't| not)|won't|will not) (?:work|run)\b|\b(?:fix|debug|repair)\b|\bbroken\b"
    r"|\b(?:get|got|gives?|gave|with|following|this|an?) (?:\w+ ){0,2}(?:error|exception|traceback)\b"
    r"|\bTraceback \(most recent|^\w*(?:Error|Exception): ",
    re.IGNORECASE | re.MULTILINE,
)
_INLINE: Final = re.compile(
    r"\bwhy (?:does|do|did|is|are)\s+`([^`\n]+)`|`([^`\n]+\))`\s+(?:raises|fails|crashes)\b", re.IGNORECASE
)
_INDENTED: Final = re.compile(r"(?:^(?: {4}|\t)\S.*\n?(?:^(?: {4}|\t).*\n?|^[ \t]*\n(?= {4}|\t))*)", re.MULTILINE)


@heuristic("looking for failing code in the task", lambda task: "")
def quoted_failing_code(task: Task) -> str:
    """Return the code that the task quotes as failing; empty if there is none."""
    text = dedent(task.text)
    inline = _INLINE.search(text)
    prose = without_fenced_blocks(text)
    candidates = [block.body for _, block in split_fenced(text) if block.language in ("", "python")]
    candidates += [dedent(found[0]) for found in _INDENTED.finditer(prose)]
    if not _FAILS.search(prose):
        candidates = []
    if inline:
        candidates.append(next(filter(None, inline.groups())))
    programs = [code.strip("\n") for code in candidates if parse_python(dedent(code)).body]
    return next((code for code in programs if not _needs_the_solution(code, task)), "")


def _needs_the_solution(code: str, task: Task) -> bool:
    return bool(task.solution_name) and task.solution_name in (unbound_names(code) or ())

"""The summary of an evaluation as JSON."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass

from pydantic import JsonValue

from exploracoder_jupyter.evaluation.measures.problem_sums import ProblemKey
from exploracoder_jupyter.evaluation.measures.summary import Summary


def summary_as_json(summary: Summary) -> dict[str, JsonValue]:
    """Return the summary as an object of its fields.

    A bound that is infinite is `null`; a value that is undefined is `null` with both its bounds.
    """
    return {field.name: _json(getattr(summary, field.name)) for field in fields(summary)}


def _json(value: object) -> JsonValue:
    match value:
        case ProblemKey():
            return {"problem_set": value.problem_set, "problem": value.problem}
        case float():
            return value if math.isfinite(value) else None
        case None | bool() | int() | str():
            return value
        case Mapping():
            return {str(key): _json(item) for key, item in value.items()}
        case Sequence():
            return [_json(item) for item in value]
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: _json(getattr(value, field.name)) for field in fields(value)}
    raise TypeError(f"{type(value).__name__} has no JSON form")

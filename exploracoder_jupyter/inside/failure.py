"""Why a cell failed, as a model should be told it: the user's own frames, the failing expression, the values in it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def told(error: BaseException, namespace: Mapping[str, Any]) -> dict[str, Any]:
    """What is known of an error that a cell ended with.

    Keys: `report` (several lines), `schema` (the same without any value), `nearest` (names like one that is missing,
    with their signatures). Runs nothing of a value's own code in this process, and never raises.
    """
    return {"report": "", "schema": "", "nearest": []}

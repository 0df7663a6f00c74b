"""The settings of a recorded run, as a layer for one that goes on from it or shows it again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pydantic import JsonValue

from exploracoder_jupyter.config import PRESETS, Exploration, Layer, Settings

_OF_THEN = {"view": {"out"}, "sandbox": {"engine_python"}, "history": {"keep", "days", "runs"}}
"""What belonged to that run alone."""

_PRESET = {"preset", *(name for values in PRESETS.values() for name in values)}
_ROUNDS = "solution_rounds"


def as_layer(recorded: Mapping[str, JsonValue], stronger: Sequence[Layer] = ()) -> Layer:
    """The recorded settings that are known here. A preset that a stronger layer names brings its own values along."""
    found: dict[str, dict[str, JsonValue]] = {}
    for section, default in Settings():
        values, known = recorded.get(section), type(default).model_fields
        if isinstance(values, Mapping):
            left_out = _OF_THEN.get(section, set())
            found[section] = {name: value for name, value in values.items() if name in known and name not in left_out}
    exploration = found.get("exploration", {})
    if exploration.get(_ROUNDS) == Exploration().solution_rounds:
        exploration.pop(_ROUNDS)  # where it was left alone, the offline model has more
    if any("preset" in layer.get("exploration", {}) for layer in stronger):
        found["exploration"] = {name: value for name, value in exploration.items() if name not in _PRESET}
    return found

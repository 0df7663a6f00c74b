"""The settings of a recorded run, as a layer for one that goes on from it or shows it again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pydantic import JsonValue

from exploracoder_jupyter.core.settings import PRESETS, Exploration, Layer, Settings

_OF_THEN = {"view": {"out"}, "sandbox": {"engine_python"}, "history": {"keep", "days", "runs"}}
"""What belonged to that run alone."""

_PRESET = {"preset", *(name for values in PRESETS.values() for name in values)}
_ROUNDS = "solution_rounds"
_PLACE = {"web", "web_address"}


def as_layer(recorded: Mapping[str, JsonValue], stronger: Sequence[Layer] = ()) -> Layer:
    """The recorded settings that are known here and of which no stronger layer says anything. A preset that one names
    brings its own values along."""
    found: dict[str, dict[str, JsonValue]] = {}
    for section, default in Settings():
        values, known = recorded.get(section), type(default).model_fields
        if isinstance(values, Mapping):
            left_out = _OF_THEN.get(section, set()) | _said(section, stronger)
            found[section] = {name: value for name, value in values.items() if name in known and name not in left_out}
    if found.get("sandbox", {}).get("state") == "live":
        found["sandbox"].pop("state")  # to fork a kernel although something speaks against it is for its user to say
    exploration = found.get("exploration", {})
    if exploration.get(_ROUNDS) == Exploration().solution_rounds:
        exploration.pop(_ROUNDS)  # where it was left alone, the offline model has more
    if any("preset" in layer.get("exploration", {}) for layer in stronger):
        found["exploration"] = {name: value for name, value in exploration.items() if name not in _PRESET}
    return found


def _said(section: str, layers: Sequence[Layer]) -> set[str]:
    """What these layers set in a section; where the web is searched is one thing in two settings."""
    names = {name for layer in layers for name in layer.get(section, {})}
    return names | _PLACE if names & _PLACE else names

"""Converts the settings of a recorded run to a layer for a run that resumes or replays it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pydantic import JsonValue

from exploracoder_jupyter.core.configuration.exploration_settings import PRESETS, Exploration
from exploracoder_jupyter.core.configuration.settings import setting_fields
from exploracoder_jupyter.core.configuration.settings_sources import Layer

_RUN_SPECIFIC = {
    "view": {"out"},
    "sandbox": {"engine_python"},
    "history": {"keep", "days", "runs"},
    "prices": {"currency", "models"},
}
"""Settings that apply only to the recorded run."""

_PRESET_SETTINGS = {"preset", *(name for values in PRESETS.values() for name in values)}
_SOLUTION_ROUNDS = "solution_rounds"
_WEB_SETTINGS = {"web", "web_address"}


def recorded_layer(recorded: Mapping[str, JsonValue], stronger: Sequence[Layer] = ()) -> Layer:
    """Return the recorded settings that this version knows and that no stronger layer sets.

    If a stronger layer sets a preset, the values that presets determine are left out too.
    """
    found: dict[str, dict[str, JsonValue]] = {}
    for row in setting_fields():
        values = recorded.get(row.section)
        left_out = _RUN_SPECIFIC.get(row.section, set()) | _names_set_by(row.section, stronger)
        if isinstance(values, Mapping) and row.name in values and row.name not in left_out:
            found.setdefault(row.section, {})[row.name] = values[row.name]
    if found.get("sandbox", {}).get("state") == "live":
        found["sandbox"].pop("state")  # only the user may decide to fork a kernel despite known hazards
    exploration = found.get("exploration", {})
    if exploration.get(_SOLUTION_ROUNDS) == Exploration().solution_rounds:
        exploration.pop(_SOLUTION_ROUNDS)  # not set explicitly: the offline model then allows more rounds
    if any("preset" in layer.get("exploration", {}) for layer in stronger):
        found["exploration"] = {name: value for name, value in exploration.items() if name not in _PRESET_SETTINGS}
    return found


def _names_set_by(section: str, layers: Sequence[Layer]) -> set[str]:
    """Return the names that these layers set in a section; `web` and `web_address` count as one setting."""
    names = {name for layer in layers for name in layer.get(section, {})}
    return names | _WEB_SETTINGS if names & _WEB_SETTINGS else names

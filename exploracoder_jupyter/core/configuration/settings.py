"""The table of settings. Validation, options, `%config` traits, help, completion and docs are computed from it.

Each section has a module of its own. A field's type, default and annotations say everything about a setting.
`core.configuration.sources.resolve` reads and validates values; the pipeline receives a `Settings` and never
reads a file or `os.environ`. Keys are not settings. Light: `%load_ext` imports this module, so it must not import
pydantic.
"""

# No `from __future__ import annotations`: the annotations are read at run time, as objects.
from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Any, NamedTuple, get_args

from exploracoder_jupyter.core.configuration.sections import (
    Budget,
    Endpoint,
    Exploration,
    History,
    Prices,
    Retrieval,
    Sandbox,
    View,
)
from exploracoder_jupyter.core.configuration.setting_annotations import Option, Section, Setting


@dataclass(frozen=True, slots=True)
class Settings(Section):
    """All settings of a run, serializable as JSON; contains no secrets."""

    exploration: Exploration = Exploration()
    retrieval: Retrieval = Retrieval()
    budget: Budget = Budget()
    prices: Prices = Prices()
    endpoint: Endpoint = Endpoint()
    sandbox: Sandbox = Sandbox()
    view: View = View()
    history: History = History()


class SettingField(NamedTuple):
    """One row of the table."""

    section: str
    name: str
    type: Any
    default: Any
    setting: Setting
    option: Option | None


def setting_fields() -> Iterator[SettingField]:
    """Yield the rows of the table."""
    default = Settings()
    for section in fields(default):
        for row in fields(getattr(default, section.name)):
            type_, setting, *option = get_args(row.type)
            value = getattr(getattr(default, section.name), row.name)
            yield SettingField(section.name, row.name, type_, value, setting, *option or [None])

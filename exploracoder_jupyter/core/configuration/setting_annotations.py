"""What sections of the settings are made of: annotations with a field's meaning, bounds and option.

Light: the sections of `core.configuration.settings` import this module, and `%load_ext` imports them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

if TYPE_CHECKING:
    from pydantic import GetCoreSchemaHandler
    from pydantic_core import CoreSchema

Kind = Literal["text", "whole", "number", "choice", "flag", "names", "paths", "maybe"]
"""`maybe`: a text that may be omitted in a magic's line."""
Place = Literal["magic", "command"]


class Section:
    """Makes pydantic reject unknown names in a section of the settings."""

    __slots__ = ()
    __pydantic_config__: ClassVar[dict[str, str]] = {"extra": "forbid"}


@dataclass(frozen=True, slots=True)
class Setting:
    """What a setting means, its bounds, and the environment variables that set it, strongest first."""

    meaning: str
    ge: float | None = None
    gt: float | None = None
    le: float | None = None
    variables: tuple[str, ...] = ()

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Add the bounds to the schema that pydantic validates values with."""
        schema = handler(source)
        bounds = {name: value for name in ("ge", "gt", "le") if (value := getattr(self, name)) is not None}
        if schema["type"] == "nullable":  # bounds are those of the value that may be missing
            return {**schema, "schema": {**schema["schema"], **bounds}}
        return {**schema, **bounds}


@dataclass(frozen=True, slots=True)
class Option:
    """One option, e.g. `--debug-rounds R`. What an option of a setting leaves empty follows from the setting."""

    name: str = ""
    """Without the dashes, e.g. `debug-rounds`; by default the name of the field."""
    help: str = ""
    """By default the meaning of the setting; the default value is added."""
    kind: Kind | None = None
    """By default from the type of the setting; a text if there is none."""
    metavar: str = ""
    choices: tuple[str, ...] = ()
    section: str = ""
    """Section of the setting that it sets; empty if it belongs to the task or to the front end."""
    field: str = ""
    """Field of the setting in that section."""
    negates: bool = False
    """Whether the flag turns its setting off."""
    places: tuple[Place, ...] = ("magic", "command")
    """Where it can be typed; `%config` has every option of a setting."""
    refused: tuple[tuple[str, str], ...] = ()
    """Choices that the command line rejects, each with the reason."""
    command_help: str = ""
    """The help on the command line, if it differs: there is no live kernel."""
    reading: bool = False
    """Whether it determines how libraries are read; a search takes it too."""

    @property
    def flag(self) -> str:
        """The option as typed: `--debug-rounds`."""
        return f"--{self.name}"

    @property
    def dest(self) -> str:
        """Attribute in the parsed namespace: `debug_rounds`."""
        return self.name.replace("-", "_")

    def help_at(self, place: Place) -> str:
        """Return the help text for this place."""
        return (self.command_help if place == "command" else "") or self.help

    def choices_at(self, place: Place) -> tuple[str, ...]:
        """Return the choices available in this place."""
        refused = dict(self.refused) if place == "command" else {}
        return tuple(choice for choice in self.choices if choice not in refused)

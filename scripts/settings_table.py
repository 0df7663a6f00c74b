"""Write tables of settings, options and commands in the documentation from the code; a test fails when one is stale."""

import argparse
import inspect
from collections.abc import Callable
from itertools import groupby
from pathlib import Path

from exploracoder_jupyter import explore
from exploracoder_jupyter.cli.argument_parser import build_parser
from exploracoder_jupyter.core.configuration.options import OPTIONS
from exploracoder_jupyter.core.configuration.sections import PRESETS
from exploracoder_jupyter.core.configuration.setting_annotations import Option
from exploracoder_jupyter.core.configuration.settings import SettingField, setting_fields

DOCS = Path(__file__).parent.parent / "docs"
_PYTHON_NAMES = ("test-selector", "test-command")
"""Options of the command line that `explore` takes among its keyword arguments with `repo`."""


def settings() -> str:
    """One table for each section of the settings."""
    sections = groupby(setting_fields(), lambda row: row.section)
    return "\n".join(f"{_head(section)}{''.join(map(_row, rows))}" for section, rows in sections)


def presets() -> str:
    """What each preset sets; the values of `standard` are the defaults."""
    defaults = {row.name: row.default for row in setting_fields() if row.section == "exploration"}
    names = [*dict.fromkeys(name for values in PRESETS.values() for name in values)]
    rows = [
        [f"`{preset}`", *(_shown((defaults | values)[name]) for name in names)] for preset, values in PRESETS.items()
    ]
    return _table(["preset", *(f"`{name}`" for name in names)], rows)


def options() -> str:
    """All options of a run, and where each can be used."""
    return _table(
        ["option", "meaning", "where"], [[_typed(one), one.help, _where(one)] for one in OPTIONS if one.places]
    )


def commands() -> str:
    """All commands, each with what it does."""
    (choices,) = (one for one in build_parser()._actions if isinstance(one, argparse._SubParsersAction))
    return _table(["command", "what it does"], [[f"`{one.dest}`", one.help or ""] for one in choices._choices_actions])


TABLES: tuple[tuple[Path, str, Callable[[], str]], ...] = (
    (DOCS / "configuration.md", "settings", settings),
    (DOCS / "configuration.md", "presets", presets),
    (DOCS / "reference" / "options.md", "options", options),
    (DOCS / "command-line.md", "commands", commands),
)


def current_page(text: str, name: str, table: str) -> str:
    """Return the page with this table, between its two marks, replaced by the current one."""
    begin, end = f"<!-- {name}: begin (scripts/settings_table.py writes this part) -->\n", f"<!-- {name}: end -->"
    before, _, rest = text.partition(begin)
    return f"{before}{begin}\n{table}\n{end}{rest.partition(end)[2]}"


def _table(head: list[str], rows: list[list[str]]) -> str:
    return "".join(f"| {' | '.join(row)} |\n" for row in [head, ["---"] * len(head), *rows])


def _head(section: str) -> str:
    return f"### `[{section}]`\n\n| setting | default | flag | meaning |\n| --- | --- | --- | --- |\n"


def _row(row: SettingField) -> str:
    default = row.default
    shown = "" if default in (None, "", {}) else f"`{_shown(default)}`"
    flags = [option.flag for option in OPTIONS if option.places and (option.section, option.field) == row[:2]]
    return f"| `{row.name}` | {shown} | {f'`{flags[0]}`' if flags else ''} | {row.setting.meaning} |\n"


def _shown(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _typed(option: Option) -> str:
    value = option.metavar or "|".join(option.choices)
    typed = (
        option.flag if option.kind == "flag" else f"{option.flag} {f'[{value}]' if option.kind == 'maybe' else value}"
    )
    return f"`{typed}`".replace("|", r"\|")


def _where(option: Option) -> str:
    """Say in which of a notebook, the command line and Python an option exists, or that it does in all of them."""
    in_command = bool(option.section) and "command" in option.places
    in_python = in_command or option.dest in inspect.signature(explore).parameters
    found = [name for name, place in (("notebook", "magic"), ("command line", "command")) if place in option.places]
    found += ["Python"] if in_python or option.name in _PYTHON_NAMES else []
    return "all" if len(found) == 3 else ", ".join(found)


if __name__ == "__main__":
    for path, name, table in TABLES:
        path.write_text(current_page(path.read_text(encoding="utf-8"), name, table()), encoding="utf-8")

"""Changes single values of the config file: atomically, and without touching its comments or its other values."""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping
from pathlib import Path
from typing import Any

from exploracoder_jupyter.core.atomic_write import write_atomic
from exploracoder_jupyter.core.configuration.settings_sources import config_path
from exploracoder_jupyter.core.errors import UsageError

Value = str | int | float | None
"""A value to set; `None` removes it."""


def write_config(values: Mapping[str, Value], *, section: str = "") -> Path:
    """Set these values in a section of the config file, or at its top, and return the file's path.

    The file is created if it does not exist. Only its owner can read it.
    """
    import tomlkit  # needed only here

    path = config_path().resolve()  # the file itself where the path is a link
    try:
        document = tomlkit.parse(path.read_text(encoding="utf-8-sig") if path.exists() else "")
        given = {name: value for name, value in values.items() if value is not None}
        if section and given and section not in document:
            document[section] = tomlkit.table()
        table: Any = document.get(section, {}) if section else document
        if not isinstance(table, MutableMapping):
            raise ValueError(f"{section!r} is not a table")
        for name in values.keys() - given.keys():
            table.pop(name, None)
        table.update(given)
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomic(path, tomlkit.dumps(document).encode(), mode=0o600)
    except (OSError, ValueError) as error:  # errors of tomlkit and a UnicodeDecodeError are ValueErrors
        raise UsageError(
            f"The config file {path} cannot be changed: {error}.", remedy="Correct it, remove it, or edit it yourself."
        ) from error
    return path

"""Changes single values of the config file: atomically, and without touching its comments or its other values."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from exploracoder_jupyter.core.atomic_write import write_atomic
from exploracoder_jupyter.core.configuration.settings_sources import config_path
from exploracoder_jupyter.core.errors import UsageError

_TABLE = re.compile(r"^[ \t]*\[", re.MULTILINE)


Value = str | int | float | None
"""A value to set; `None` removes it."""


def write_config(values: Mapping[str, Value], *, section: str = "") -> Path:
    """Set these values in a section of the config file, or at its top, and return the file's path.

    The file is created if it does not exist. Only its owner can read it.
    """
    path = config_path().resolve()  # the file itself where the path is a link
    try:
        text = path.read_text(encoding="utf-8-sig") if path.exists() else ""
        changed = _with_values(text, values, section)
        if tomllib.loads(changed) != _merged(tomllib.loads(text), values, section):
            raise ValueError("its form is unusual")
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomic(path, changed.encode(), mode=0o600)
    except (OSError, ValueError) as error:  # a TOMLDecodeError and a UnicodeDecodeError are ValueErrors
        raise UsageError(
            f"The config file {path} cannot be changed: {error}.", remedy="Correct it, remove it, or edit it yourself."
        ) from error
    return path


def _with_values(text: str, values: Mapping[str, Value], section: str) -> str:
    """Return the text with the values as the first lines of the section, in place of the lines that set them before."""
    given = {name: value for name, value in values.items() if value is not None}
    lines = "".join(f"{name} = {json.dumps(value, ensure_ascii=False)}\n" for name, value in given.items())
    start = 0
    if section:
        header = re.search(rf"^[ \t]*\[[ \t]*{re.escape(section)}[ \t]*\].*$\n?", text, re.MULTILINE)
        if header is None:
            before = f"{_ended(text)}\n" if text else ""
            return f"{before}[{section}]\n{lines}" if lines else text
        start = header.end()
    following = _TABLE.search(text, start)
    end = following.start() if following else len(text)
    names = "|".join(map(re.escape, values))
    rest = re.sub(rf"^[ \t]*(?:{names})[ \t]*=.*\n?", "", text[start:end], flags=re.MULTILINE)
    return f"{_ended(text[:start])}{lines}{rest}{text[end:]}"


def _ended(text: str) -> str:
    return f"{text}\n" if text and not text.endswith("\n") else text


def _merged(content: dict[str, Any], values: Mapping[str, Value], section: str) -> dict[str, Any]:
    """Return the content with the values; a section that did not exist is not made for nothing."""
    before = content.get(section, {}) if section else content
    after = {name: value for name, value in {**before, **values}.items() if value is not None}
    if not section:
        return after
    return {**content, section: after} if after or section in content else content

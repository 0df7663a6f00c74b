"""Paths of people's home folders, which tell who they are: `/home/me/data.csv` becomes `~/data.csv`.

The forms of Linux, macOS, Windows and what lies between them are known by their shape, whoever's they are, where more
of a path follows (`"/home/about"` may be an address in a program). The writer's own home is known by name. `/root`
tells nothing of anybody and stays.
"""

from __future__ import annotations

import getpass
import os
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

HOME: Final = "~"
SOMEBODY: Final = "[user]"

_POSIX: Final = re.compile(
    r"""(?:(?<=file://)|(?<![\w.~/-]))(?:/[\w.-]+){0,3}?/(?:home|Users)/(?!Shared/)[^/\\\s'"<>{}$*:;,|`]+(?=/)"""
)
_WINDOWS: Final = re.compile(
    r"(?<!\w)[A-Z]:(?:\\+|/)(?:Users|Documents and Settings)(?:\\+|/)"
    r"""(?!Public\b)[^\\/'"<>{}$*:|?\n]{1,60}(?=[\\/])""",
    re.IGNORECASE,
)
_TELL_NOTHING: Final = frozenset(
    {"admin", "app", "data", "dev", "guest", "home", "jovyan", "jupyter", "nobody", "python"}
    | {"root", "runner", "test", "tmp", "ubuntu", "user", "users", "work"}
)
_SHORTEST: Final = 3


@dataclass(frozen=True, slots=True)
class Homes:
    """Whose homes are known by name. Without any, homes are known by their shape alone."""

    folders: Sequence[str] = ()
    user: str = ""
    _own: Sequence[tuple[str, re.Pattern[str], str]] = field(init=False, repr=False, compare=False)
    """Each with a piece of text that is looked for first."""

    def __post_init__(self) -> None:
        own = [_folder(folder) for folder in self.folders if _tells(Path(folder).name)]
        if _tells(self.user):
            own.append((self.user, re.compile(rf"(?<=[/\\]){re.escape(self.user)}(?=[/\\])"), SOMEBODY))
        object.__setattr__(self, "_own", own)

    def hidden(self, text: str) -> str:
        """The text with homes as `~`, and the user's name as `[user]` where it is part of another path."""
        if "/" not in text and "\\" not in text:
            return text
        for known, pattern, instead in self._own:
            text = pattern.sub(instead, text) if known in text else text
        if ":\\" in text or ":/" in text:
            text = _WINDOWS.sub(HOME, text)
        return _POSIX.sub(HOME, text) if "/home/" in text or "/Users/" in text else text


def own_homes() -> Homes:
    """The home and the name of whoever runs this process, as far as they can be told."""
    folders = (_known(lambda: str(Path.home())), os.environ.get("USERPROFILE", ""))
    return Homes([folder for folder in folders if folder], _known(getpass.getuser))


def _known(tell: Callable[[], str]) -> str:
    try:
        return tell()
    except (OSError, KeyError, ImportError, RuntimeError):  # a user without an entry, as in containers
        return ""


def _folder(folder: str) -> tuple[str, re.Pattern[str], str]:
    """Also as written within a string: with its backslashes doubled, once or more often."""
    parts = re.split(r"[\\/]+", folder.rstrip("/\\"))
    between = r"(?:\\+|/)"
    return parts[-1], re.compile(rf"(?<![\w.~-]){between.join(map(re.escape, parts))}(?![\w.-])"), HOME


def _tells(name: str) -> bool:
    """Whether a user's name says who it is."""
    return len(name) >= _SHORTEST and name.lower() not in _TELL_NOTHING

"""Removes secrets, home folders and values that JSON cannot represent from records."""

from __future__ import annotations

import base64
import binascii
import dataclasses
import getpass
import json
import math
import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Final, Literal, get_origin, get_type_hints

from exploracoder_jupyter.core.events import Record, load
from exploracoder_jupyter.core.secrets.redaction import SecretRedactor
from exploracoder_jupyter.core.secrets.secret_patterns import BREAKS, REDACTED
from exploracoder_jupyter.core.types import Output

# Redacts paths of home folders, which identify people: `/home/me/data.csv` becomes `~/data.csv`.
#
# Home folders of this machine are known by name and redacted wherever such a path begins. Those of other machines
# (a remote kernel's, a colleague's) are recognized by their pattern, if the path continues below them and is not
# part of an address: `@app.get("/home/a/b")`, `base + "/home/a/b"` and `https://x/?next=/home/a/b` are not home
# folders, and code that is changed without need behaves differently when it is executed again. Generic names
# (`root`, `user`) stay.

HOME: Final = "~"
USER: Final = "[user]"

_ESCAPED: Final = "|".join(f"(?<={before})" for before in BREAKS)
_BEGIN: Final = rf"(?:(?<![\w.~/)}}\\-])|{_ESCAPED}|(?<=[\s'\"]-[A-Za-z])|(?<=file://)|(?<=:///))"
"""Where a path may begin: also after a one-letter option and in `file:` URLs."""
_SLASH: Final = r"\\{0,4}/"
"""A slash, also as JSON may escape it."""
_NAME: Final = r"""[^/\\\s'"<>{}$*:;,|`?]+"""
_POSIX: Final = re.compile(
    rf"(?=[\\/]){_BEGIN}(?:{_SLASH}(?!api\b|rest\b|scim\b|v\d)[\w.-]+){{0,3}}?"
    rf"{_SLASH}(?:home|Users){_SLASH}({_NAME})(?={_SLASH})"
)
_WINDOWS: Final = re.compile(
    rf"(?=[A-Z]:)(?:(?<!\w)|{_ESCAPED})[A-Z]:[\\/]+(?:Users|Documents and Settings)[\\/]+"
    r"""([^\\/'"<>{}$*:|?\n]{1,60})(?=[\\/])""",
    re.IGNORECASE,
)
_ADDRESS: Final = re.compile(
    r"""[a-z][a-z0-9+.-]*://[^/\s'"<>][^\s'"<>]*$"""
    r"""|\.(?:get|post|put|patch|delete|head|options|route|websocket|mount|add_url_rule)\(\s*[bfru]{0,2}['"]$"""
    r"""|\b(?:GET|POST|PUT|PATCH|DELETE|HEAD|OPTIONS)\s+['"]?$"""
    r"""|(?:[Rr]oute|[Uu]rl|URL|[Rr]edirect|[Ff]etch|Mount|urljoin|url_for|re_path)\(\s*[bfru]{0,2}['"]$"""
    r"""|\b(?:href|action|url|redirect|endpoint)['"]?\s*[:=]\s*[bfru]{0,2}['"]?$"""
    r"""|\+\s*[bfru]{0,2}['"]$"""
)
"""Text before a path that is part of a URL or a route."""
_ADDRESS_CONTEXT: Final = 100
"""Number of characters before a path that are searched for `_ADDRESS`."""
_GENERIC_NAME_LIST: Final = """
admin airflow app azureuser build builder centos circleci code codespace data debian default dev docker ec2-user
gitlab-runner gitpod guest home jenkins jovyan jupyter mambauser node nobody opc opt postgres project projects public
python root rstudio runner sagemaker-user service shared site spark srv src student students test tmp ubuntu user
username users usr vagrant var vscode work workspace www www-data
"""
"""Account and folder names that are the same everywhere and identify no one."""
_GENERIC_NAMES: Final = frozenset(_GENERIC_NAME_LIST.split())
_NO_NAME: Final = re.compile(r"[\W\d_]*|[0-9a-f]{8}-[0-9a-f-]{27}")
_MIN_LENGTH: Final = 3
_PLACES: Final = ("/home", "/Users")
_MAX_HOMES: Final = 50
"""Maximum number of home folders read from each place."""


@dataclass(frozen=True, slots=True)
class Homes:
    """Home folders that are known by name. Without any, home folders are recognized by their pattern alone."""

    folders: Sequence[str] = ()
    user: str = ""
    """Account name, which is redacted in other paths too."""
    _own: Sequence[tuple[str, re.Pattern[str], str]] = field(init=False, repr=False, compare=False)
    """A literal that is searched first, the pattern, and the replacement."""

    def __post_init__(self) -> None:
        paths = [re.split(r"[\\/]+", folder.rstrip("/\\")) for folder in self.folders]
        folders = [_folder_pattern(parts) for parts in paths if _identifies_person(parts[-1])]
        names = [*_name_patterns(self.user)] if _identifies_person(self.user) else []
        object.__setattr__(self, "_own", [*folders, *names])

    def redact(self, text: str) -> str:
        """Replace home folders by `~`, and the user's name by `[user]` where it is part of another path."""
        if "/" not in text and "\\" not in text and "%" not in text:
            return text
        for literal, pattern, replacement in self._own:
            text = pattern.sub(replacement, text) if literal in text else text
        if ":\\" in text or ":/" in text:
            text = _WINDOWS.sub(_replace_unless_generic, text)
        return _POSIX.sub(_replace_unless_address, text) if "/home" in text or "/Users" in text else text


def local_homes() -> Homes:
    """Return the home folder and account name of this process, if known, and the other home folders beside it."""
    folders = [_lookup_or_empty(lambda: str(Path.home())), os.environ.get("USERPROFILE", "")]
    for place in _PLACES:
        with suppress(OSError), os.scandir(place) as entries:
            for entry in islice(entries, _MAX_HOMES):  # what was listed before an error counts
                folders.append(entry.path)
    return Homes([folder for folder in folders if folder], _lookup_or_empty(getpass.getuser))


def _lookup_or_empty(lookup: Callable[[], str]) -> str:
    try:
        return lookup()
    except (OSError, KeyError, ImportError, RuntimeError):  # the user has no passwd entry, as in containers
        return ""


def _folder_pattern(parts: Sequence[str]) -> tuple[str, re.Pattern[str], str]:
    """Return literal, pattern and replacement for a folder.

    The pattern also matches the path within strings (with escaped backslashes), in JSON and in URLs.
    """
    path = r"(?:\\*/|\\+|%2[Ff]|%5[Cc])".join(re.escape(part).replace(r"\ ", "(?: |%20)") for part in parts)
    longest = max(re.findall(r"\w+", parts[-1]), key=len)
    first = re.escape(parts[0][0]) if parts[0] else r"[\\/%]"
    return longest, re.compile(rf"(?={first}){_BEGIN}{path}(?![\w-]|\.\w)"), HOME


def _name_patterns(user: str) -> Iterator[tuple[str, re.Pattern[str], str]]:
    """Yield patterns for the name inside a path, and at the end of an absolute one: `min/max` does not match."""
    name = re.escape(user)
    yield user, re.compile(rf"(?<=[/\\]){name}(?=[/\\])"), USER
    yield user, re.compile(rf"(?<![\w.+@-])(/(?:[\w.+@-]+/)*){name}(?![\w-]|\.\w)"), rf"\g<1>{USER}"


def _replace_unless_address(found: re.Match[str]) -> str:
    before = found.string[max(found.start() - _ADDRESS_CONTEXT, 0) : found.start()]
    return found[0] if _ADDRESS.search(before) else _replace_unless_generic(found)


def _replace_unless_generic(found: re.Match[str]) -> str:
    name = found[1]
    return found[0] if name.lower() in _GENERIC_NAMES or _NO_NAME.fullmatch(name) else HOME


def _identifies_person(name: str) -> bool:
    return len(name) >= _MIN_LENGTH and name.lower() not in _GENERIC_NAMES and bool(re.search(r"\w", name))


# Removes secrets, home folders and values that JSON cannot represent from records.
#
# `core.secrets` decides what is a secret. Every string of a record is processed before anything is written, except
# enumerated event fields, and images that contain no secrets. The result can always be loaded again.

_FILE_SIGNATURES = (b"\x89PNG", b"\xff\xd8", b"GIF8", b"RIFF", b"BM", b"%PDF")
"""Signatures of the files that outputs contain in base64."""

_MAX_DEPTH = 100
"""Maximum nesting, because JSON readers fail at some depth; deeper output is useless."""

_KINDS_OF_OUTPUT = frozenset({"stream", "display_data", "execute_result", "error"})


class Redactor:
    """Replaces secrets in records by `[redacted]`. Idempotent.

    Args:
        secrets: strings that must not be written.
        homes: home folders to replace by `~`. By default paths stay, as in the user's own notebook, where code has to
            run.
    """

    def __init__(self, secrets: Iterable[str] = (), *, homes: Homes | None = None) -> None:
        self._homes = homes
        self._secrets = SecretRedactor(secrets)

    def text(self, text: str) -> str:
        """Redact a text and make it encodable as UTF-8."""
        text = self._secrets.redact(text)
        return self._homes.redact(text) if self._homes else text

    def record(self, record: Record) -> Record:
        """Redact a record. `events.dump` can always write the result."""
        return map_record(record, self.text)

    def outputs(self, outputs: Iterable[Output]) -> list[Output]:
        """Redact outputs that no record contains."""
        return json.loads(json.dumps(_RecordMapper(self.text).value([*outputs], 0)))  # type: ignore[no-any-return]


def map_record(record: Record, change: Callable[[str], str]) -> Record:
    """Return the record with every string changed, except enumerated fields of events and files in base64.

    `events.dump` can always write the result if `change` makes text encodable as UTF-8.
    """
    return load(json.dumps(_RecordMapper(change).value(record, 0), ensure_ascii=False))


@dataclasses.dataclass(frozen=True, slots=True)
class _RecordMapper:
    text: Callable[[str], str]

    def value(self, value: object, depth: int) -> object:
        if depth > _MAX_DEPTH:
            return "[too deeply nested]"
        if dataclasses.is_dataclass(value) and not isinstance(value, type):
            enumerated = _literal_fields(type(value))
            fields = ((field.name, getattr(value, field.name)) for field in dataclasses.fields(value))
            return {name: item if name in enumerated else self._field(item, depth + 1) for name, item in fields}
        if isinstance(value, dict):
            redacted: dict[str, object] = {}
            for key, item in value.items():
                name = self.text(key)
                while name in redacted:  # keys that become equal are made distinct
                    name += "'"
                redacted[name] = self._item(key, item, depth)
            return redacted
        if isinstance(value, list | tuple):
            return [self.value(item, depth + 1) for item in value]
        if isinstance(value, float) and not math.isfinite(value):
            return str(value)
        return self.text(value) if isinstance(value, str) else value

    def _field(self, value: object, depth: int) -> object:
        """Replace a non-finite number, such as the score of a zero-length embedding, by 0."""
        return 0.0 if isinstance(value, float) and not math.isfinite(value) else self.value(value, depth)

    def _item(self, key: str, item: object, depth: int) -> object:
        if not isinstance(item, str):
            return self.value(item, depth + 1)
        if key == "output_type" and item in _KINDS_OF_OUTPUT:
            return item
        content = _decode_file(item) if key.startswith(("image/", "application/pdf")) else None
        if content is None:
            return self.text(item)
        return item if self.text(content) == content else REDACTED


def _decode_file(text: str) -> str | None:
    """Decode a base64 file to its bytes, one character each; `None` for any other text.

    The decoded bytes are searched for secrets, because the base64 letters themselves can match by chance.
    """
    try:
        content = base64.b64decode("".join(text.split()), validate=True)
    except (binascii.Error, ValueError):
        return None
    return content.decode("latin-1") if content.startswith(_FILE_SIGNATURES) else None


@cache
def _literal_fields(kind: type) -> frozenset[str]:
    return frozenset(name for name, hint in get_type_hints(kind).items() if get_origin(hint) is Literal)

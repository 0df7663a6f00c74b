"""Removes secrets, home folders and values that JSON cannot represent from records.

`core.secrets` decides what is a secret. Every string of a record is processed before anything is written, except
enumerated event fields, and images that contain no secrets. The result can always be loaded again.
"""

from __future__ import annotations

import base64
import binascii
import dataclasses
import json
import math
from collections.abc import Callable, Iterable
from functools import cache
from typing import Literal, get_origin, get_type_hints

from exploracoder_jupyter.core.events import Record, load
from exploracoder_jupyter.core.secrets.secret_patterns import REDACTED
from exploracoder_jupyter.core.secrets.secret_redactor import SecretRedactor
from exploracoder_jupyter.trace.sanitizing.path_redaction import Homes

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

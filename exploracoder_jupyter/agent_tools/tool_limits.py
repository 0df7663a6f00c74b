"""Limits on what a client may ask for, and the size of what it is answered.

An agent pays for every token that it reads, so results are small by default, and the caller can raise the limit.
"""

from __future__ import annotations

import json
import re
from typing import Final, Literal

from pydantic import JsonValue

from exploracoder_jupyter.core.errors import UsageError
from exploracoder_jupyter.pipeline.prompting.documentation import shorten

FRESH: Final = "fresh"
"""Stands for a kernel that is started for the purpose, where a kernel is named."""
MAX_VARIANTS: Final = 8
MAX_CODE: Final = 50_000
"""Characters of one variant or check."""
MAX_QUERY: Final = 2_000
MAX_NAMES: Final = 20
MAX_FOUND: Final = 50
"""Results of a search."""
MAX_SECONDS: Final = 120.0
"""Seconds for the code of one variant."""
MAX_WAIT: Final = 45.0
"""Seconds for which a call waits for an exploration: clients cut off a call after about a minute."""
IDLE_SECONDS: Final = 600.0
"""Seconds without a call after which the states of variants end."""
DEFAULT_TOKENS: Final = 4_000
MIN_TOKENS: Final = 200
MAX_TOKENS: Final = 50_000
_CHARACTERS_PER_TOKEN: Final = 4
"""About right for English and code; tokenizers differ."""
_LEAST_TEXT: Final = 200
_LABEL: Final = re.compile(r"[\w.+-]{1,40}")

Answer = dict[str, JsonValue]
ControlName = Literal["stop", "skip", "retry", "choose", "replan", "explore"]
"""What can be asked of an exploration that is running."""


def check_text(text: str, what: str, most: int) -> str:
    """Return the text. Raises UsageError: it is blank or too long."""
    if not text.strip():
        raise UsageError(f"The {what} is empty.", remedy="Give some text.")
    if len(text) > most:
        raise UsageError(
            f"The {what} has {len(text):,} characters; at most {most:,} are allowed.", remedy="Shorten it."
        )
    return text


def check_number(value: float, what: str, least: float, most: float) -> float:
    """Return the number. Raises UsageError: it is outside these limits."""
    if not least <= value <= most:  # false for NaN too
        raise UsageError(f"{what} must be from {least:g} to {most:g}, not {value:g}.", remedy="Choose another number.")
    return value


def check_label(label: str) -> str:
    """Return the label of a variant. Raises UsageError: it could not be referred to."""
    if not _LABEL.fullmatch(label):
        raise UsageError(
            f"{label[:60]!r} is not a valid label.", remedy="Use at most 40 letters, digits, and . _ + - in a label."
        )
    return label


def fitting_json(answer: Answer, most_tokens: int) -> str:
    """Return the answer as JSON in about so many tokens.

    Long texts are shortened first; then lists lose their last items, which `cut` states. Raises UsageError: the limit
    is outside its own limits.
    """
    check_number(most_tokens, "max_tokens", MIN_TOKENS, MAX_TOKENS)
    most = int(most_tokens) * _CHARACTERS_PER_TOKEN
    room = most
    text = _dump(answer)
    while len(text) > most and room > _LEAST_TEXT:
        room //= 2
        text = _dump(_shortened(answer, room))
    if len(text) <= most:
        return text
    shortened = _shortened(answer, _LEAST_TEXT)
    assert isinstance(shortened, dict)
    return _with_fewer_items(shortened, most)


def _with_fewer_items(answer: Answer, most: int) -> str:
    """Drop the last items of the longest list until the answer fits; keep at least one."""
    answer, left_out = dict(answer), 0
    while len(text := _dump({**answer, **({"cut": _note(left_out)} if left_out else {})})) > most:
        lists = {name: value for name, value in answer.items() if isinstance(value, list) and len(value) > 1}
        if not lists:
            break
        name = max(lists, key=lambda one: len(_dump(lists[one])))
        answer[name] = lists[name][:-1]
        left_out += 1
    return text


def _note(left_out: int) -> str:
    return f"{left_out} more left out; raise max_tokens to see them"


def _shortened(value: JsonValue, most: int) -> JsonValue:
    """Return the value with its texts cut to about so many characters."""
    if isinstance(value, str):
        return value if len(value) <= most else shorten(value, most)
    if isinstance(value, dict):
        return {name: _shortened(one, most) for name, one in value.items()}
    return [_shortened(one, most) for one in value] if isinstance(value, list) else value


def _dump(value: JsonValue) -> str:
    return json.dumps(value, ensure_ascii=False)

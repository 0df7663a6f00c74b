"""Removes the thoughts that a model writes before its reply, in `<think>` or `<thinking>`."""

from __future__ import annotations

import re

_THOUGHT = re.compile(r"\A\s*<think(?:ing)?>.*?(?:</think(?:ing)?>|\Z)", re.DOTALL)
_THOUGHT_END = re.compile(r"\A(?:(?!<think).)*?</think(?:ing)?>", re.DOTALL)
"""Some templates open the thought in the prompt, so that a reply contains only the end."""


def without_thinking(text: str) -> str:
    """Remove the thoughts at the start of the text; nothing remains if they never end."""
    return _THOUGHT_END.sub("", _THOUGHT.sub("", text), count=1).lstrip("\n")

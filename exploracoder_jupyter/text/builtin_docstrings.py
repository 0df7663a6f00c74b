"""Recognizes documentation that a member has inherited from a builtin type."""

from __future__ import annotations

import enum
import inspect
from collections.abc import Mapping, MutableMapping, MutableSequence, MutableSet
from functools import cache

from exploracoder_jupyter.core.types import ApiDoc

_BUILTIN_TYPES = (
    *(str, bytes, bytearray, int, float, complex, list, tuple, dict, set, frozenset, BaseException, OSError),
    *(type, property, enum.Enum, Mapping, MutableMapping, MutableSequence, MutableSet),
)


@cache
def _builtin_openings() -> frozenset[tuple[str, str]]:
    members = [(name, getattr(owner, name)) for owner in _BUILTIN_TYPES for name in dir(owner) if name[0] != "_"]
    return frozenset((name, _opening(doc)) for name, value in members if (doc := inspect.getdoc(value)))


def is_inherited_from_builtin(api: ApiDoc) -> bool:
    """Return whether builtin types have a member of this name with this documentation."""
    return (api.name, _opening(api.description)) in _builtin_openings()


def _opening(text: str) -> str:
    return text.strip().partition("\n")[0]

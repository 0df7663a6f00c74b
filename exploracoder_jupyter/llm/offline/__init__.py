"""A stand-in without a language model: retrieval, documented examples, signatures and the values at hand."""

from __future__ import annotations

from typing import TYPE_CHECKING

from exploracoder_jupyter.core.lazy_imports import lazy_getattr

if TYPE_CHECKING:
    from exploracoder_jupyter.llm.offline.model import OfflineModel

__all__ = ["OfflineModel"]

if not TYPE_CHECKING:  # lazy: the examples of a search need its reader of examples alone
    __getattr__ = lazy_getattr(__name__, {"OfflineModel": "model"})

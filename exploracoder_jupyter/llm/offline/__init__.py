"""A stand-in without a language model: retrieval, documented examples, signatures and the values at hand."""

from exploracoder_jupyter.llm.offline.offline_model import OfflineModel

__all__ = ["OfflineModel"]

"""The embedded model that is no language model: retrieval, documented examples, signatures and the values at hand."""

from exploracoder_jupyter.models.offline.model import OfflineModel

__all__ = ["OfflineModel"]

"""Language models: implementations that answer a `ModelRequest`.

- `OpenAIModel` uses any OpenAI-compatible endpoint; `EndpointEmbedder` gets vectors from one; `probe` checks whether
  one answers. Only `endpoint_connection` and `fault_detection` import the client, on first use.
- `offline` is the built-in default, which is not a language model.
- `ReplayModel` answers from a trace, `RecordedRepliesModel` from one first, `ScriptedModel` from a list or a function.
- `ArchivedRepliesModel` records the replies of another model in a `ReplyArchive`, and answers from it.
- `endpoint_addresses` maps names to addresses; `is_local` checks whether an address is on this machine.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from exploracoder_jupyter.core.lazy_imports import lazy_getattr

if TYPE_CHECKING:
    from exploracoder_jupyter.llm.endpoint.endpoint_addresses import is_local
    from exploracoder_jupyter.llm.endpoint.endpoint_embeddings import EndpointEmbedder
    from exploracoder_jupyter.llm.endpoint.endpoint_probe import Probe, probe, resolve_model
    from exploracoder_jupyter.llm.endpoint.openai_model import OpenAIModel
    from exploracoder_jupyter.llm.recorded_replies import ArchivedRepliesModel, ReplyRecording
    from exploracoder_jupyter.llm.replay_model import RecordedRepliesModel, ReplayModel
    from exploracoder_jupyter.llm.reply_archive import ReplyArchive
    from exploracoder_jupyter.llm.scripted_model import ScriptedModel

__all__ = [
    "ArchivedRepliesModel",
    "EndpointEmbedder",
    "OpenAIModel",
    "Probe",
    "RecordedRepliesModel",
    "ReplayModel",
    "ReplyArchive",
    "ReplyRecording",
    "ScriptedModel",
    "is_local",
    "probe",
    "resolve_model",
]

if not TYPE_CHECKING:  # lazy: who asks an endpoint for vectors needs no model
    __getattr__ = lazy_getattr(
        __name__,
        {
            "EndpointEmbedder": "endpoint.endpoint_embeddings",
            "is_local": "endpoint.endpoint_addresses",
            "Probe": "endpoint.endpoint_probe",
            "probe": "endpoint.endpoint_probe",
            "resolve_model": "endpoint.endpoint_probe",
            "OpenAIModel": "endpoint.openai_model",
            "ArchivedRepliesModel": "recorded_replies",
            "ReplyRecording": "recorded_replies",
            "RecordedRepliesModel": "replay_model",
            "ReplayModel": "replay_model",
            "ReplyArchive": "reply_archive",
            "ScriptedModel": "scripted_model",
        },
    )

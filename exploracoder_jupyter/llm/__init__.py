"""Models: whatever answers a `ModelRequest`.

- `OpenAIModel` talks to any OpenAI-compatible endpoint (`connection` and `fault_detection` alone import the client, at
  the first use); `EndpointEmbedder` takes vectors from one; `probe` says whether one answers.
- `offline` is the embedded default: no language model.
- `ReplayModel` answers from a trace, `RememberingModel` from one first, `ScriptedModel` from a list or a function.
- `presets` knows addresses by name, `is_local` whether one is on this machine.
"""

from exploracoder_jupyter.llm.endpoint_embeddings import EndpointEmbedder
from exploracoder_jupyter.llm.endpoint_presets import is_local
from exploracoder_jupyter.llm.endpoint_probe import Probe, probe, resolve_model
from exploracoder_jupyter.llm.openai_model import OpenAIModel
from exploracoder_jupyter.llm.replay_model import RememberingModel, ReplayModel
from exploracoder_jupyter.llm.scripted_model import ScriptedModel

__all__ = [
    "EndpointEmbedder",
    "OpenAIModel",
    "Probe",
    "RememberingModel",
    "ReplayModel",
    "ScriptedModel",
    "is_local",
    "probe",
    "resolve_model",
]

"""Settings of the model endpoint, and what may be sent to it."""

# No `from __future__ import annotations`: the annotations are read at run time, as objects.
from dataclasses import dataclass
from typing import Annotated, Literal

from exploracoder_jupyter.core.configuration.setting_annotations import Option, Section, Setting

OFFLINE = "offline"
"""Name of the built-in model, which is not a language model and costs nothing."""

Sharing = Literal["values", "schema", "none"]
"""How much of a candidate's output may be sent to the model's endpoint."""


@dataclass(frozen=True, slots=True)
class Endpoint(Section):
    """The model endpoint. Without `model` and `base_url` the built-in offline model is used."""

    model: Annotated[
        str | None,
        Setting("model name at the endpoint, or `offline`", variables=("EXPLORACODER_MODEL", "OPENAI_MODEL")),
        Option(metavar="M"),
    ] = None
    base_url: Annotated[
        str | None,
        Setting("OpenAI-compatible endpoint", variables=("EXPLORACODER_BASE_URL", "OPENAI_BASE_URL")),
        Option(metavar="URL", reading=True),
    ] = None
    embedding_model: Annotated[
        str | None,
        Setting(
            "embedding model at the same endpoint; none: built-in word vectors",
            variables=("EXPLORACODER_EMBEDDING_MODEL",),
        ),
    ] = None
    timeout: Annotated[
        float, Setting("seconds without any data; a request for n replies ends after n + 1 times that", gt=0)
    ] = 120.0
    retries: Annotated[int, Setting("maximum retries of a failed request within that time", ge=0, le=10)] = 3
    max_tokens: Annotated[
        int | None, Setting("maximum tokens of one reply that the endpoint is asked for; none: its own limit", ge=1)
    ] = None
    share: Annotated[
        Sharing, Setting("how much of the experiments' output is sent to the model's endpoint"), Option()
    ] = "values"

"""What of the observations may be sent to the model: `values`, `schema` or `none`.

`schema` keeps names, types and the kind of an error, and blanks every literal in its message; `none` keeps only
whether the code ran. Code is always sent: the model wrote it. Applied to the inputs of every request, so nothing can
slip past it into a prompt.
"""

from __future__ import annotations

import re
from dataclasses import fields, replace

from exploracoder_jupyter.pipeline.requests import Inputs
from exploracoder_jupyter.types import ErrorInfo, Experience, Observation, Sharing

_LITERAL = re.compile(r"'[^']*'|\"[^\"]*\"|\b\d[\d.,:eE+-]*")


def shared(inputs: Inputs, sharing: Sharing) -> Inputs:
    """The inputs with every experience reduced to what may be shared."""
    if sharing == "values":
        return inputs
    changes: dict[str, object] = {}
    for field in fields(inputs):
        value = getattr(inputs, field.name)
        if isinstance(value, Experience):
            changes[field.name] = _reduced(value, sharing)
        elif isinstance(value, tuple) and value and isinstance(value[0], Experience):
            changes[field.name] = tuple(_reduced(item, sharing) for item in value)
    return replace(inputs, **changes) if changes else inputs  # type: ignore[arg-type]


def _reduced(experience: Experience, sharing: Sharing) -> Experience:
    return replace(experience, observation=_observation(experience.observation, sharing))


def _observation(observation: Observation, sharing: Sharing) -> Observation:
    error = observation.error
    if sharing == "none":
        kept = ErrorInfo(error.name, "") if error else None
        return Observation(observation.status, error=kept, seconds=observation.seconds)
    kept = ErrorInfo(error.name, _LITERAL.sub("...", error.message)) if error else None
    return Observation(
        observation.status, error=kept, seconds=observation.seconds, names=observation.names, note=observation.note
    )

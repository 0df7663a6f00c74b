"""What to search by once code was tried: the task, the error, the code, or the code explained (ARKS, section 2.1).

Explained code finds best (their figure 2) and costs a call of the model. The error goes with it, which is free: its
message without values. Where there is no model to explain, or too few tokens are left, the error is all, with the names
that the code calls. What is searched by may reach an endpoint that embeds it, so it holds no more than may be
shared; what the web is asked never holds a value of the user's.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from exploracoder_jupyter.core.errors import EndpointError, ReplyError
from exploracoder_jupyter.core.settings import OFFLINE
from exploracoder_jupyter.core.types import Experience, Formulation, Subtask
from exploracoder_jupyter.pipeline.exploring.called_apis import find_called_names
from exploracoder_jupyter.pipeline.heuristics import heuristic
from exploracoder_jupyter.pipeline.prompting.model_requests import ask_parsed
from exploracoder_jupyter.pipeline.prompting.privacy_filter import redact_experience
from exploracoder_jupyter.pipeline.prompting.prompt_inputs import ExplainInputs
from exploracoder_jupyter.pipeline.retrieval.web_query_filter import find_known_names
from exploracoder_jupyter.pipeline.step_context import Run

_LONGEST: Final = 600
"""Characters of a query."""
_ENOUGH_TOKENS: Final = 8000
"""With fewer left in the budget nothing is explained."""
_MOST_NAMES: Final = 8
_VALUE = re.compile(r"0x[0-9a-fA-F]+|(?<![\w.])-?\d[\d_.,]*(?:[eE][+-]?\d+)?|\[[^\]]*\]|\{[^}]*\}")
_QUOTED = re.compile(r"'([^']*)'|\"([^\"]*)\"")


class Query(NamedTuple):
    """What is searched for, and what it was made of."""

    formulation: Formulation
    text: str
    error: str = ""
    """The error in words, searched for beside a longer text: there its rare words would count for little."""

    @property
    def parts(self) -> tuple[str, ...]:
        """The texts that are searched for, each by itself."""
        return (self.text, self.error) if self.error else (self.text,)


async def build_query(run: Run, subtask: Subtask, failed: Experience) -> Query:
    """The query of a search after this experience, in the formulation of the settings where it can be made."""
    wanted = run.retrieval.formulation
    texts = {"task": run.task.text, "subtask": subtask.title, "code": failed.candidate.code, "error": ""}
    text = await _explain(run, subtask, failed) if wanted == "explained" else texts[wanted]
    if text.strip():
        return Query(wanted, text[:_LONGEST], _error(run, failed) if wanted == "explained" else "")
    error = error_query(run, failed)
    return Query("error", error) if error else Query("subtask", subtask.title)


async def _explain(run: Run, subtask: Subtask, failed: Experience) -> str:
    """The model's words for what the code was to do; empty where it cannot be asked or has none."""
    if run.model.name == OFFLINE or run.meter.tokens_left < _ENOUGH_TOKENS:
        return ""
    inputs = ExplainInputs(run.task, subtask, failed)
    try:
        text = await ask_parsed(run, "explain", inputs, lambda reply: reply, subject=failed.candidate.id)
    except (ReplyError, EndpointError):  # where the endpoint is gone for good, the next request says so
        return ""
    return " ".join(text.split())


@heuristic("writing a search query", lambda run, failed: "")
def error_query(run: Run, failed: Experience) -> str:
    """The error without values and the names that the code calls; empty where there is neither."""
    names = find_called_names(failed.candidate.code)[:_MOST_NAMES]
    return " ".join(part for part in (_error(run, failed), *names) if part)[:_LONGEST]


@heuristic("writing a search query", lambda run, failed: "")
def _error(run: Run, failed: Experience) -> str:
    """Type and message of the error, without values; empty where there is none."""
    error = redact_experience(failed, run.sharing).observation.error
    return f"{error.name} {_strip_values(error.message, failed.candidate.code)}".strip()[:_LONGEST] if error else ""


@heuristic("writing a search query", lambda run, failed: "")
def web_query(run: Run, failed: Experience) -> str:
    """The error as a search engine may know it; empty where there is none.

    Its type, the APIs that what its message says of code names, and documented calls of the code.
    """
    error = redact_experience(failed, "none" if run.sharing == "none" else "schema").observation.error
    if error is None:
        return ""
    words = [*run.task.libraries, error.name, *find_known_names(run, error.message), *failed.apis[:2]]
    return " ".join(dict.fromkeys(words))[:_LONGEST]


def _strip_values(message: str, code: str) -> str:
    """Without addresses, numbers and containers; of what it quotes, what the code has written."""
    line = _QUOTED.sub(lambda found: (found[1] or found[2] or "") if found[0][1:-1] in code else "", message)
    return " ".join(_VALUE.sub("", line).split())

"""Builds the search query after code failed: the task, the error, the code, or the code explained (ARKS, section 2.1).

Explained code retrieves best (their figure 2) and costs a model call. The error message without values is searched
along with it at no cost. If no model can explain the code, or too few tokens are left, the query is only the error with
the names that the code calls. A query may reach an embedding endpoint, so it contains no more than may be shared; a web
query never contains a value of the user's.
"""

from __future__ import annotations

import re
from contextlib import suppress
from typing import Final, NamedTuple

from exploracoder_jupyter.core.configuration.endpoint_settings import OFFLINE
from exploracoder_jupyter.core.configuration.retrieval_settings import Formulation
from exploracoder_jupyter.core.errors import EndpointError, ReplyError
from exploracoder_jupyter.core.types import Experience, Subtask
from exploracoder_jupyter.pipeline.exploring.called_apis import find_called_names
from exploracoder_jupyter.pipeline.guarded_heuristics import heuristic
from exploracoder_jupyter.pipeline.prompting.model_requests import ask_parsed
from exploracoder_jupyter.pipeline.prompting.privacy_filter import redact_experience
from exploracoder_jupyter.pipeline.prompting.prompt_inputs import ExplainInputs
from exploracoder_jupyter.pipeline.retrieval.known_words_filter import find_known_names
from exploracoder_jupyter.pipeline.step_context import Run

LONGEST_QUERY: Final = 600
_ENOUGH_TOKENS: Final = 8000
"""If fewer tokens are left in the budget, nothing is explained."""
_MOST_NAMES: Final = 8
_UNDEFINED: Final = ("NameError", "UnboundLocalError")
_VALUE = re.compile(r"0x[0-9a-fA-F]+|(?<![\w.])-?\d[\d_.,]*(?:[eE][+-]?\d+)?|\[[^\]]*\]|\{[^}]*\}")
_QUOTED = re.compile(r"'([^']*)'|\"([^\"]*)\"")


class Query(NamedTuple):
    """The search query and what it was made of."""

    formulation: Formulation
    text: str
    error: str = ""
    """The error, searched for separately from a longer text, in which its rare words would count for little."""

    @property
    def parts(self) -> tuple[str, ...]:
        """The texts that are searched for separately."""
        return (self.text, self.error) if self.error else (self.text,)


async def build_query(run: Run, subtask: Subtask, failed: Experience) -> Query:
    """Build the query of a search after this experience, using the formulation from the settings if possible."""
    wanted = run.retrieval.formulation
    texts = {"task": run.task.text, "subtask": subtask.title, "code": failed.candidate.code, "error": ""}
    text = texts.get(wanted, "")
    if wanted == "explained" and run.model.name != OFFLINE and run.meter.tokens_left >= _ENOUGH_TOKENS:
        inputs = ExplainInputs(run.task, subtask, failed)
        with suppress(ReplyError, EndpointError):  # if the endpoint is gone for good, the next request reports it
            reply = await ask_parsed(run, "explain", inputs, lambda reply: reply, subject=failed.candidate.id)
            text = " ".join(reply.split())
    if text.strip():
        return Query(wanted, text[:LONGEST_QUERY], _error(run, failed) if wanted == "explained" else "")
    error = error_query(run, failed)
    return Query("error", error) if error else Query("subtask", subtask.title)


@heuristic("writing a search query", lambda run, failed: "")
def error_query(run: Run, failed: Experience) -> str:
    """Return the error without values and the names that the code calls; empty if there is neither."""
    names = find_called_names(failed.candidate.code)[:_MOST_NAMES]
    return " ".join(part for part in (_error(run, failed), *names) if part)[:LONGEST_QUERY]


@heuristic("writing a search query", lambda run, failed: "")
def _error(run: Run, failed: Experience) -> str:
    """Return type and message of the error, without values.

    Empty if there is none, or if a variable is undefined: no documentation helps there, whatever has a similar name.
    """
    error = redact_experience(failed, run.sharing).observation.error
    if error is None or error.name in _UNDEFINED:
        return ""
    code = failed.candidate.code  # quotations that it does not contain are values
    line = _QUOTED.sub(lambda found: (found[1] or found[2] or "") if found[0][1:-1] in code else "", error.message)
    return f"{error.name} {' '.join(_VALUE.sub('', line).split())}".strip()[:LONGEST_QUERY]


@heuristic("writing a search query", lambda run, failed: "")
def web_query(run: Run, failed: Experience) -> str:
    """Return the error in the words that a search engine may know; empty if there is none.

    It consists of the error's type, the APIs named in those parts of its message that are about code, and documented
    calls of the code.
    """
    error = redact_experience(failed, "none" if run.sharing == "none" else "schema").observation.error
    if error is None:
        return ""
    words = [*run.task.libraries, error.name, *find_known_names(run, error.message), *failed.apis[:2]]
    return " ".join(dict.fromkeys(words))[:LONGEST_QUERY]

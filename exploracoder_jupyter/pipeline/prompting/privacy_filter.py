"""Limits what is sent to the model of observations: `values`, `schema` or `none`.

`schema` keeps names, types, shapes, names of columns and files, the type of an error and where it was raised. Of error
messages it keeps only those that are about code and not about data, if they have one of the interpreter's standard
forms: a missing name, attribute or module, or arguments that do not fit. The missing name is kept only if the code that
ran contains it: it may come from data, as in `getattr(row, key)`. `none` keeps only whether the code ran. Code is
always sent, because the model wrote it; the user's own files are not, because they may contain data anywhere. The
filter is applied to the inputs of every request, so that nothing bypasses it on the way into a prompt, and to source
code that a model looks up.

An error report quotes source. A check or a file of the user's may contain data, so a quotation is kept only if it
occurs in the code of the cell.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import fields, replace
from typing import Final

from exploracoder_jupyter.core.configuration.endpoint_settings import Sharing
from exploracoder_jupyter.core.types import ErrorInfo, Experience, Observation, Passage, Task
from exploracoder_jupyter.pipeline.exploring.result_objection import INVENTED
from exploracoder_jupyter.pipeline.guarded_heuristics import heuristic
from exploracoder_jupyter.pipeline.prompting.prompt_inputs import Inputs

INSTALLED: Final = "# Installed, in "
"""Prefix of publicly available source code, written by `kernel_agent.introspection.source_code`."""

_NAME = r"'[A-Za-z_][\w.]*'"
_NAMES = rf"{_NAME}(?:(?:,| and|, and) {_NAME})*"
_CALL = r"[A-Za-z_][\w.<>]*\(\)"
_MISSING_NAME = rf"name {_NAME} is not defined|(?:cannot access )?(?:local|free) variable {_NAME}"
_MISSING_MODULE = rf"No module named {_NAME}|cannot import name {_NAME} from (?:partially initialized module )?{_NAME}"
_ARGUMENTS = (
    rf"{_CALL} (?:got an unexpected keyword argument {_NAME}|got multiple values for argument {_NAME}"
    rf"|missing \d+ required (?:positional|keyword-only) arguments?: {_NAMES}"
    r"|takes (?:no|\d+|from \d+ to \d+) (?:positional |keyword )?arguments?(?: but \d+ (?:was|were) given)?)"
)
_FORMS = {
    "NameError": _MISSING_NAME,
    "UnboundLocalError": _MISSING_NAME,
    "AttributeError": rf"(?:{_NAME} object|module {_NAME}|type object {_NAME}) has no attribute {_NAME}",
    "ImportError": _MISSING_MODULE,
    "ModuleNotFoundError": _MISSING_MODULE,
    "TypeError": _ARGUMENTS,
    INVENTED: r".*",
}
"""Maps the type of an error to the form that its message must begin with to be kept, up to the end of the match."""

_GIVEN = re.compile(rf"\b(name|named|variable|attribute|unexpected keyword argument) ({_NAME})")
"""A name that was looked up and may come from data, unlike names of existing types, modules and parameters."""
_WORD = re.compile(r"\w+")
_WARNING = re.compile(r"[A-Za-z_][\w.]*(?=:|$)")
_PLACE = re.compile(r"  (?P<head>[^:]*\bline [\d,]+(?: of [^:]*)?)(?:: (?P<source>.*))?")
_QUOTATION = re.compile(r"    (?:failed in: (?P<failed>.*)|(?P<value>.+): [\w.<>]+|(?P<line>.*?)\s*\^?)")


def redact_inputs(inputs: Inputs, sharing: Sharing) -> Inputs:
    """Return the inputs with task, experiences and passages reduced to what may be shared."""
    if sharing == "values":
        return inputs
    changes: dict[str, object] = {}
    for field in fields(inputs):
        value = getattr(inputs, field.name)
        if isinstance(value, Task) and sharing == "none":
            changes[field.name] = replace(value, variables=())
        elif isinstance(value, Experience):
            changes[field.name] = redact_experience(value, sharing)
        elif isinstance(value, tuple) and value and isinstance(value[0], Experience):
            changes[field.name] = tuple(redact_experience(item, sharing) for item in value)
        elif isinstance(value, tuple) and value and isinstance(value[0], Passage):
            changes[field.name] = tuple(item for item in value if item.source != "workspace")
    return replace(inputs, **changes) if changes else inputs  # type: ignore[arg-type]


def may_share_source(source: str, sharing: Sharing) -> bool:
    """Whether source code from `Knowledge.source` may be sent; the user's own only with `values`."""
    return sharing == "values" or source.startswith(INSTALLED)


@heuristic("removing values from a result", lambda experience, sharing: _status_only(experience))
def redact_experience(experience: Experience, sharing: Sharing) -> Experience:
    """Return the experience with its observation reduced to what may be shared."""
    if sharing == "values":
        return experience
    if sharing == "none":
        return _status_only(experience)
    observation, code = experience.observation, experience.candidate.code
    error = observation.error
    if error:
        report = "\n".join(_without_foreign_source(error.schema, code))
        form = _FORMS.get(error.name)
        found = re.match(form, error.message) if form else None
        words = {*_WORD.findall(code)}

        def keep_known(match: re.Match[str]) -> str:
            return match[0] if {*_WORD.findall(match[2])} <= words else f"{match[1]} '...'"

        message = _GIVEN.sub(keep_known, found.group()) if found else ""
        error = ErrorInfo(error.name, message, report=report, schema=report, nearest=error.nearest)
    categories = [_WARNING.match(warning) for warning in observation.warnings]
    return replace(
        experience,
        observation=Observation(
            observation.status,
            error=error,
            text=observation.schema,
            seconds=observation.seconds,
            names=observation.names,
            note=observation.note,
            unmet=observation.unmet,
            changes=tuple(replace(change, summary=change.schema) for change in observation.changes),
            schema=observation.schema,
            warnings=tuple(dict.fromkeys(one.group() if one else "a warning" for one in categories)),
            files=observation.files,
            memory=observation.memory,
        ),
    )


def _status_only(experience: Experience) -> Experience:
    """Return the experience with only its status, duration and the type of its error."""
    observation, error = experience.observation, experience.observation.error
    bare_error = ErrorInfo(error.name, "") if error else None
    return replace(
        experience, observation=Observation(observation.status, error=bare_error, seconds=observation.seconds)
    )


def _without_foreign_source(report: str, code: str) -> Iterator[str]:
    """Yield the lines of an error report without quotations of other code; layout and quotes may differ."""

    def is_own(source: str) -> bool:
        return "".join(source.split()).replace('"', "'") in "".join(code.split()).replace('"', "'")

    for line in report.splitlines():
        if place := _PLACE.fullmatch(line):
            yield line if is_own(place["source"] or "") else f"  {place['head']}"
        elif quoted := _QUOTATION.fullmatch(line):
            if is_own(quoted["failed"] or quoted["value"] or quoted["line"] or ""):
                yield line
        else:
            yield line

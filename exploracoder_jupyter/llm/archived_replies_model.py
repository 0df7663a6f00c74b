"""A model that records the replies of another one in an archive, or answers from the archive alone.

Both are the same model: a request whose replies are in the archive is answered from it, at the recorded cost, and
another one is sent to the wrapped model and recorded, or fails if there is none. A recorded reply is therefore
requested once, whatever is interrupted. Requests that fail, or are cancelled before their replies are complete, are not
recorded.
"""

from __future__ import annotations

import difflib
import hashlib
import json
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing
from dataclasses import asdict, dataclass, replace
from typing import Final

from pydantic import JsonValue

from exploracoder_jupyter.core.errors import EndpointError
from exploracoder_jupyter.core.message_formatting import one_line
from exploracoder_jupyter.core.types import Call, Message
from exploracoder_jupyter.llm.reply_archive import RecordedRequest, ReplyArchive
from exploracoder_jupyter.pipeline.ports import Model, ModelRequest, Reply

_MAX_QUOTED: Final = 120


@dataclass(frozen=True, slots=True)
class ReplyRecording:
    """Where the replies of a run are recorded and found."""

    archive: ReplyArchive
    unit: str
    """Name of the unit that the run belongs to; equal requests of different units have replies of their own."""
    asks_model: bool
    """Whether a request without recorded replies is sent to the model, and recorded; else it fails."""


class ArchivedRepliesModel:
    """See the module.

    Args:
        recording: where replies are found and recorded.
        model: answers what is not recorded; `None` if that is an error.
        name: name of the model whose replies are recorded.
        redact: removes secrets from everything that is recorded.
        normalize: removes from a prompt what varies from run to run, such as memory addresses, before it is compared.
    """

    def __init__(
        self,
        recording: ReplyRecording,
        model: Model | None,
        *,
        name: str,
        redact: Callable[[str], str],
        normalize: Callable[[str], str],
    ) -> None:
        self._recording = recording
        self._model = model
        self.name = name
        self._redact = redact
        self._normalize = normalize
        self._known = recording.archive.unit(recording.unit)
        self._ordinals: Counter[str] = Counter()

    async def complete(self, request: ModelRequest) -> AsyncIterator[Reply]:
        """Yield the recorded replies, or those of the model, without secrets. Raises EndpointError if no reply is
        recorded for this request, or the model raised it; UsageError if the replies cannot be recorded.
        """
        record = self._record(request)
        if known := self._known.get(record.key):
            for reply in known.replies:
                yield reply
            return
        if self._model is None:
            raise self._missing(record)
        received: list[Reply] = []
        async with aclosing(self._model.complete(request)) as replies:  # type: ignore[type-var]  # a generator
            async for raw in replies:
                reply = replace(raw, text=self._redact(raw.text), calls=self._redacted_calls(raw))
                received.append(reply)
                yield reply
        self._recording.archive.add(replace(record, replies=tuple(received)))

    def _record(self, request: ModelRequest) -> RecordedRequest:
        messages = tuple(
            replace(one, content=self._normalize(self._redact(one.content)), calls=self._redacted_calls(one))
            for one in request.messages
        )
        parameters = _parameters(request)
        identity = [self.name, request.step, request.subject, list(map(_identity, messages)), parameters]
        same = _digest(identity)
        ordinal = self._ordinals[same]
        self._ordinals[same] += 1
        return RecordedRequest(
            self._recording.unit,
            _digest([same, ordinal]),
            self.name,
            request.step,
            request.subject,
            ordinal,
            messages,
            parameters,
            (),
        )

    def _redacted_calls(self, given: Message | Reply) -> tuple[Call, ...]:
        return tuple(
            replace(call, argument=self._redact(call.argument), extra=self._redact(call.extra)) for call in given.calls
        )

    def _missing(self, wanted: RecordedRequest) -> EndpointError:
        subject = f" for {wanted.subject!r}" if wanted.subject else ""
        return EndpointError(
            f"No reply is recorded in {self._recording.archive.folder} for the step {wanted.step!r}{subject} of"
            f" {wanted.unit!r}: {self._difference(wanted)}.",
            remedy="Use the settings and versions of the recording, or record the missing replies with --record.",
        )

    def _difference(self, wanted: RecordedRequest) -> str:
        same_step = [record for record in self._known.values() if record.step == wanted.step]
        if not same_step:
            return f"none of its {len(self._known)} recorded requests is of this step"

        def likeness(one: RecordedRequest) -> tuple[float, bool]:
            lines, others = _text(one).splitlines(), _text(wanted).splitlines()
            return difflib.SequenceMatcher(None, lines, others, autojunk=False).ratio(), one.subject == wanted.subject

        nearest = max(same_step, key=likeness)
        if nearest.messages != wanted.messages:
            return f"the nearest recorded prompt differs: {_first_difference(nearest, wanted)}"
        names = [name for name in wanted.parameters if wanted.parameters[name] != nearest.parameters.get(name)]
        names += [name for name in ("model", "subject", "ordinal") if getattr(nearest, name) != getattr(wanted, name)]
        return f"the same prompt is recorded with another {' and '.join(names)}"


def _identity(message: Message) -> dict[str, object]:
    """Return what tells a message from another one: without the fields of calls that an endpoint adds."""
    calls = [{name: value for name, value in asdict(call).items() if name != "extra"} for call in message.calls]
    return {**asdict(message), "calls": calls}


def _parameters(request: ModelRequest) -> dict[str, JsonValue]:
    return {
        **asdict(request.sampling),
        "schema": _digest(request.schema) if request.schema else None,
        "tools": [tool.name for tool in request.tools],
        "may_call": request.may_call,
    }


def _digest(content: object) -> str:
    text = json.dumps(content, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()


def _text(record: RecordedRequest) -> str:
    return "\n".join(message.content for message in record.messages)


def _first_difference(recorded: RecordedRequest, wanted: RecordedRequest) -> str:
    one, other = _text(recorded).splitlines(), _text(wanted).splitlines()
    equal = next((place for place, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), None)
    place = min(len(one), len(other)) if equal is None else equal
    return f"line {place + 1} is {_quoted(one, place)} there and {_quoted(other, place)} here"


def _quoted(lines: list[str], place: int) -> str:
    return repr(one_line(lines[place], _MAX_QUOTED)) if place < len(lines) else "missing"

"""Models that answer with recorded replies: those of a run, or of an archive by which an evaluation runs again."""

from __future__ import annotations

import difflib
import hashlib
import json
import os
import zipfile
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import aclosing
from dataclasses import asdict, dataclass, replace
from io import BytesIO
from pathlib import Path
from typing import Final
from uuid import uuid4

import anyio
from pydantic import JsonValue, TypeAdapter, ValidationError

from exploracoder_jupyter.core.errors import EndpointError, UsageError
from exploracoder_jupyter.core.files import write_atomic
from exploracoder_jupyter.core.messages import one_line
from exploracoder_jupyter.core.types import Call, Exchange, Message, Usage
from exploracoder_jupyter.pipeline.ports import Model, ModelRequest, Reply
from exploracoder_jupyter.pipeline.prompting.lookup_notation import pending_calls

# Models that replay recorded replies: all of a run's, or those whose requests need not be repeated.


class ReplayModel:
    """Answers by step, subject and the model's earlier replies, in recorded order; each exchange is used once.

    The earlier replies distinguish choices that continued separately after a look-up. Where the run deviates from the
    recorded one, the next exchange of the same step answers. The recorded usage comes with the first reply. With
    `paced`, replies take as long as when they were recorded.
    """

    def __init__(self, exchanges: Sequence[Exchange], *, paced: bool = False) -> None:
        self._remaining = list(exchanges)
        self.name = exchanges[0].model if exchanges else "replay"
        self._paced = paced

    async def complete(self, request: ModelRequest) -> AsyncIterator[Reply]:
        """Yield the recorded replies. Raises EndpointError if no reply is recorded for this request, or the recorded
        request failed.
        """
        exchange = self._next(request)
        pause = exchange.usage.seconds / max(len(exchange.replies), 1) if self._paced else 0.0
        if not exchange.replies:
            await anyio.sleep(pause)
            raise EndpointError(f"The recorded request had no reply: {exchange.problem or 'it was cut off'}.")
        for reply in _replies(exchange):
            await anyio.sleep(pause)
            yield reply

    def _next(self, request: ModelRequest) -> Exchange:
        same_step = [exchange for exchange in self._remaining if exchange.step == request.step]
        same = [exchange for exchange in same_step if exchange.subject == request.subject]
        earlier = _assistant_messages(request.messages)
        continuing = [exchange for exchange in same if _assistant_messages(exchange.messages) == earlier]
        found = next(iter(continuing or same or same_step), None)
        if found is None:
            name = f"subtask {request.subject}" if request.subject.isdigit() else request.subject
            where = f" for {name}" if name else ""
            if not self._remaining:
                raise EndpointError(f"The recorded run had no further reply{where}.")
            raise EndpointError(f"The recorded run made no such request{where}.")
        self._remaining.remove(found)
        return found


class PartialReplayModel:
    """Reuses replies that a model of the same name gave to the same request, each exchange once and at no cost; other
    requests go to the model itself. A reply that calls a look-up is reused only where look-ups are available.
    """

    def __init__(
        self, model: Model, exchanges: Sequence[Exchange], *, clean: Callable[[str], str] = lambda text: text
    ) -> None:
        """`clean` makes texts comparable with those of the recorded exchanges, by removing what may differ."""
        self._model = model
        self.name = model.name
        self._clean = clean
        whole = [one for one in exchanges if one.replies and one.problem != "interrupted"]
        self._known = [(one, self._comparable(one.messages)) for one in whole]

    async def complete(self, request: ModelRequest) -> AsyncIterator[Reply]:
        """Yield the recorded replies, or those of the model. Raises EndpointError from the model."""
        if known := self._take(request):
            for reply in _replies(known):
                yield replace(reply, usage=Usage())
            return
        async with aclosing(self._model.complete(request)) as replies:  # type: ignore[type-var]  # a generator
            async for reply in replies:
                yield reply

    def _take(self, request: ModelRequest) -> Exchange | None:
        wanted = self._comparable(request.messages) if self._known else ()
        for place, (exchange, known) in enumerate(self._known):
            is_same = (exchange.model, exchange.step, exchange.sampling) == (self.name, request.step, request.sampling)
            looks_up = any(exchange.calls) or any(pending_calls(text) for text in exchange.replies)
            if is_same and known == wanted and (request.tools or not looks_up):
                del self._known[place]
                return exchange
        return None

    def _comparable(self, messages: Sequence[Message]) -> tuple[tuple[str, str], ...]:
        return tuple((message.role, self._clean(message.content)) for message in messages)


def _replies(exchange: Exchange) -> list[Reply]:
    """Return the recorded replies; the first one carries all of the recorded usage."""
    usage = [exchange.usage, *(Usage() for _ in exchange.replies)]
    calls = exchange.calls or ((),) * len(exchange.replies)
    replies = []
    for index, text in enumerate(exchange.replies):
        had_problem = not calls[index] and (len(exchange.replies) == 1 or not text.strip())
        replies.append(Reply(index, text, usage[index], exchange.problem if had_problem else "", calls[index]))
    return replies


def _assistant_messages(messages: Sequence[Message]) -> list[Message]:
    """Return the model's earlier replies, without the fields of calls that an endpoint adds."""
    return [
        replace(message, calls=tuple(replace(call, extra="") for call in message.calls))
        for message in messages
        if message.role == "assistant"
    ]


# A folder of recorded model replies, by which an evaluation can be run again without a model.
#
# Each process appends to a JSON-lines file of its own, one line per request with all its replies, written at once.
# A line that a killed process left incomplete is skipped. `ReplyArchive.pack` merges all files into a compressed
# one, which further files may accompany. Replies are grouped by unit, so that a process reads only what it needs.

_PACKED: Final = "replies.zip"
_SUFFIX: Final = ".jsonl"


@dataclass(frozen=True, slots=True)
class RecordedRequest:
    """One request and its replies, without secrets."""

    unit: str
    key: str
    """Digest of what determines the replies."""
    model: str
    step: str
    subject: str
    ordinal: int
    """Number of the same request within the unit, from 0."""
    messages: tuple[Message, ...]
    """The prompt, without what varies from run to run."""
    parameters: dict[str, JsonValue]
    """Sampling, schema and tools."""
    replies: tuple[Reply, ...]


_RECORD: Final = TypeAdapter(RecordedRequest)


class ReplyArchive:
    """The recorded replies in a folder. It is created with the first reply.

    Args:
        folder: where the files are.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._file: Path | None = None
        self._models: dict[str, None] = {}
        self._places: dict[str, list[tuple[Path, int, int]]] | None = None

    @property
    def models(self) -> tuple[str, ...]:
        """Names of the models whose replies are recorded. Raises UsageError if the folder cannot be read."""
        self._scan()
        return tuple(self._models)

    def unit(self, name: str) -> dict[str, RecordedRequest]:
        """Return the requests of a unit by their keys, as recorded when the archive was first read. Raises UsageError
        if the folder cannot be read.
        """
        found: dict[str, RecordedRequest] = {}
        for path, start, length in self._scan().get(name, []):
            with path.open("rb") as file:
                file.seek(start)
                for record in _records(file.read(length)):
                    found.setdefault(record.key, record)
        packed = self.folder / _PACKED
        if packed.exists():
            with zipfile.ZipFile(packed) as archive:
                if _entry(name) in archive.namelist():
                    for record in _records(archive.read(_entry(name))):
                        found.setdefault(record.key, record)
        return found

    def add(self, record: RecordedRequest) -> None:
        """Append a request to the file of this process. Raises UsageError if the file cannot be written."""
        line = _RECORD.dump_json(record) + b"\n"
        try:
            if self._file is None:
                self.folder.mkdir(parents=True, exist_ok=True)
                self._file = self.folder / f"{uuid4().hex}{_SUFFIX}"
            descriptor = os.open(self._file, os.O_WRONLY | os.O_CREAT | os.O_APPEND | getattr(os, "O_BINARY", 0), 0o600)
            with os.fdopen(descriptor, "wb", buffering=0) as file:
                if file.write(line) != len(line):  # a full disk: the rest of the line would become part of the next
                    self._file = None
                    raise OSError("only a part was written")
        except OSError as error:
            raise UsageError(
                f"Replies cannot be recorded in {self.folder}: {error.strerror or error}.",
                remedy="Name a folder with free space that can be written.",
            ) from error

    def pack(self) -> Path:
        """Merge all files into one that is compressed, and return its path. No process may be recording. Raises
        UsageError if the folder cannot be read or written.
        """
        files = list(self._files())
        units = {record.unit: None for path in files for _, _, record in _lines(path)} | dict.fromkeys(self._packed())
        content = BytesIO()
        with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
            fresh = ReplyArchive(self.folder)
            for unit in sorted(units):
                lines = b"".join(_RECORD.dump_json(record) + b"\n" for record in fresh.unit(unit).values())
                archive.writestr(zipfile.ZipInfo(_entry(unit)), lines, zipfile.ZIP_DEFLATED)
        packed = self.folder / _PACKED
        write_atomic(packed, content.getvalue(), mode=0o600)
        for path in files:
            path.unlink()
        self._places = self._file = None
        return packed

    def _scan(self) -> dict[str, list[tuple[Path, int, int]]]:
        if self._places is None:
            self._places = {}
            for path in self._files():
                for start, length, record in _lines(path):
                    self._places.setdefault(record.unit, []).append((path, start, length))
                    self._models[record.model] = None
            self._packed()
        return self._places

    def _files(self) -> Iterator[Path]:
        try:
            yield from sorted(path for path in self.folder.iterdir() if path.suffix == _SUFFIX)
        except FileNotFoundError:
            return
        except OSError as error:
            raise UsageError(
                f"The recorded replies in {self.folder} cannot be read: {error.strerror}.", remedy="Name their folder."
            ) from None

    def _packed(self) -> Iterator[str]:
        """Return the units of the packed file, and note its models."""
        packed = self.folder / _PACKED
        if not packed.exists():
            return iter(())
        try:
            with zipfile.ZipFile(packed) as archive:
                records = [record for name in archive.namelist() for record in _records(archive.read(name))]
        except (OSError, zipfile.BadZipFile):
            raise UsageError(f"{packed} is damaged.", remedy="Restore it, or record the replies again.") from None
        self._models.update((record.model, None) for record in records)
        return iter(dict.fromkeys(record.unit for record in records))


def _lines(path: Path) -> Iterator[tuple[int, int, RecordedRequest]]:
    start = 0
    with path.open("rb") as file:
        for line in file:
            for record in _records(line):
                yield start, len(line), record
            start += len(line)


def _records(lines: bytes) -> Iterator[RecordedRequest]:
    for line in lines.split(b"\n"):
        try:
            if line:
                yield _RECORD.validate_json(line)
        except ValidationError:  # an incomplete line of a process that was killed
            continue


def _entry(unit: str) -> str:
    return hashlib.sha256(unit.encode("utf-8", "replace")).hexdigest() + _SUFFIX


# A model that records the replies of another one in an archive, or answers from the archive alone.
#
# Both are the same model: a request whose replies are in the archive is answered from it, at the recorded cost, and
# another one is sent to the wrapped model and recorded, or fails if there is none. A recorded reply is therefore
# requested once, whatever is interrupted. Requests that fail, or are cancelled before their replies are complete,
# are not recorded.

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

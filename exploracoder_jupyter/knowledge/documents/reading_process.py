"""Chooses the reader of a document, and reads documents in a process that ends if one takes too long."""

from __future__ import annotations

import codecs
import json
import re
import signal
import subprocess
import sys
import warnings
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import PurePosixPath
from threading import Lock
from typing import BinaryIO, Literal, cast

import anyio
from pydantic import TypeAdapter, ValidationError

from exploracoder_jupyter.core.errors import MissingRequirement
from exploracoder_jupyter.core.platforms import system
from exploracoder_jupyter.knowledge.documents import markup_readers, text_readers
from exploracoder_jupyter.knowledge.documents.document_files import MAX_FILE_SECONDS, File
from exploracoder_jupyter.knowledge.documents.documents import Page, complete_api
from exploracoder_jupyter.knowledge.documents.signature_parser import parse_stubs

# Chooses the reader of a document by its suffix and content.

_BYTE_ORDER_MARKS = ((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))
_PROBED_BYTES = 8_000
_CHANGELOG = re.compile(r"(?:change ?log|changes|history|news|versions?|release|what.?s.?new)s?\b", re.IGNORECASE)
_HTML = (".html", ".htm", ".xhtml")


ReadPage = Callable[[File], Page]
"""Reads one document. Raises what `parse_page` raises, and TookTooLong."""


class NotText(ValueError):
    """A document that should be text is binary."""


class TookTooLong(ValueError):
    """Reading a document exceeded the time limit."""

    def __init__(self, seconds: float) -> None:
        super().__init__(f"longer than {seconds:g} s")
        self.seconds = seconds


def read_page(file: File) -> Page:
    """Parse a document and complete its APIs from their descriptions. Raises what `parse_page` raises."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about invalid escapes in code that is never run
        page = parse_page(file)
        return replace(page, apis=tuple(map(complete_api, page.apis)))


def parse_page(file: File) -> Page:
    """Parse a document; the page is empty if it is not documentation after all, like a configuration of Sphinx.

    APIs that a changelog merely mentions are left out.

    Raises NotText if it is binary; MissingRequirement if the package that reads it is not installed; Exception if it is
    malformed; the type depends on the reader.
    """
    page = _read(file)
    if _CHANGELOG.match(PurePosixPath(file.name).stem) or _CHANGELOG.match(page.title):
        return replace(page, apis=tuple(api for api in page.apis if api.library))
    return page


def _read(file: File) -> Page:
    kind = file.suffix
    if kind == ".inv":
        return markup_readers.read_inventory(file.body)
    text = decode(file.body)
    if kind in _HTML:
        return markup_readers.read_html(text, xhtml=kind == ".xhtml")
    if kind in (".rst", ".rest"):
        return text_readers.read_rst(text)
    if kind == ".ipynb":
        return markup_readers.read_notebook(text)
    if kind == ".pyi":
        return Page(apis=tuple(parse_stubs(text, among_others=True)))
    if kind == ".py":
        is_configuration = PurePosixPath(file.name).stem in ("conf", "setup")
        return Page() if is_configuration else text_readers.read_program(text)
    return text_readers.read_text(text) if kind == ".txt" else markup_readers.read_markdown(text)


def decode(body: bytes) -> str:
    """Decode a document: by its byte order mark, as UTF-8, or as Windows-1252. Raises NotText if it is binary."""
    for mark, encoding in _BYTE_ORDER_MARKS:
        if body.startswith(mark):
            return body.decode(encoding, "replace")
    if b"\0" in body[:_PROBED_BYTES]:
        raise NotText
    try:
        return body.decode("utf-8")
    except UnicodeDecodeError:
        return body.decode("cp1252", "replace")


# Reads documents in a separate process, which ends if one takes too long.
#
# A parser may need time quadratic in the size of a document, and a thread cannot be stopped. The process limits its
# own processor time for each document, so that it ends even if the process that started it is gone.


@dataclass(frozen=True, slots=True)
class _Reply:
    page: Page | None = None
    problem: Literal["binary", "missing", "unreadable"] = "unreadable"
    message: str = ""
    remedy: str = ""


_REPLY: TypeAdapter[_Reply] = TypeAdapter(_Reply)


class PageProcess:
    """A `ReadPage` in another process, which starts with the first document and is restarted after it ended.

    Leaving the context kills the process, even while another thread waits for it.
    """

    def __init__(self, seconds: float = MAX_FILE_SECONDS) -> None:
        """`seconds`: processor time for one document."""
        self._seconds = seconds
        self._process: subprocess.Popen[bytes] | None = None
        self._closed = False
        self._lock = Lock()

    def __enter__(self) -> PageProcess:
        return self

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._closed = True
            if self._process:
                _kill(self._process)

    def __call__(self, file: File) -> Page:
        """Read one document. Blocks. Raises NotText if it is binary; TookTooLong if reading it exceeds the limit of
        processor time; MissingRequirement if the package that reads it is not installed, or no process can be started;
        ValueError if it is malformed, or crashes the process; anyio.ClosedResourceError if the context was left.
        """
        process = self._get_process()
        line = _request(process, file, self._seconds)
        if not line:
            raise self._process_error(process)
        return _parse_reply(line)

    def _get_process(self) -> subprocess.Popen[bytes]:
        with self._lock:
            if self._closed:
                raise anyio.ClosedResourceError
            self._process = self._process or _start_process()
            return self._process

    def _process_error(self, process: subprocess.Popen[bytes]) -> Exception:
        with self._lock:
            self._process = None
            if self._closed:
                return anyio.ClosedResourceError()
            _kill(process)
        took_too_long = process.returncode == -signal.SIGPROF
        return TookTooLong(self._seconds) if took_too_long else ValueError("the reading process ended")


def _start_process() -> subprocess.Popen[bytes]:
    try:
        return subprocess.Popen(
            [sys.executable, "-P", "-m", __name__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            **system.NEW_SESSION,  # interrupts are handled by the parent process
        )
    except OSError as error:
        raise MissingRequirement(
            f"Documentation cannot be read because no process can be started: {error.strerror}.",
            remedy="Raise the process limit, or run without --docs.",
        ) from error


def _request(process: subprocess.Popen[bytes], file: File, seconds: float) -> bytes:
    head = json.dumps({"name": file.name, "size": len(file.body), "seconds": seconds})
    stdin, stdout = cast("BinaryIO", process.stdin), cast("BinaryIO", process.stdout)
    with suppress(OSError, ValueError):  # the process has ended, or its pipes are closed
        stdin.write(head.encode() + b"\n" + file.body)
        stdin.flush()
        line = stdout.readline()
        return line if line.endswith(b"\n") else b""
    return b""


def _kill(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.wait()
    for pipe in (process.stdin, process.stdout):
        with suppress(OSError):
            cast("BinaryIO", pipe).close()


def _parse_reply(line: bytes) -> Page:
    try:
        reply = _REPLY.validate_json(line)
    except ValidationError as error:
        raise ValueError("invalid reply of the reading process") from error
    if reply.page is not None:
        return reply.page
    if reply.problem == "missing":
        raise MissingRequirement(reply.message, remedy=reply.remedy)
    raise NotText if reply.problem == "binary" else ValueError(reply.message)


def _read_document(file: File) -> _Reply:
    try:
        return _Reply(read_page(file))
    except NotText:
        return _Reply(problem="binary")
    except MissingRequirement as error:
        return _Reply(problem="missing", message=error.message, remedy=error.remedy)
    except Exception as error:  # a document may cause any error in its reader
        return _Reply(message=type(error).__name__)


def main() -> None:
    """Read documents from standard input and answer each with a line of JSON, until the input is closed."""
    requests, replies = sys.stdin.buffer, sys.stdout.buffer
    while line := requests.readline():
        head = json.loads(line)
        body = requests.read(head["size"])
        signal.setitimer(signal.ITIMER_PROF, head["seconds"])  # the system kills this process when it has used them
        reply = _REPLY.dump_json(_read_document(File(head["name"], body)))
        signal.setitimer(signal.ITIMER_PROF, 0)
        replies.write(reply + b"\n")
        replies.flush()


if __name__ == "__main__":
    main()

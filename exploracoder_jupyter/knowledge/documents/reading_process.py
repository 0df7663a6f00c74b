"""Reads documents in a process of its own, which ends where one takes too long.

A parser may need time that grows with the square of a document, and no thread can be stopped. The process limits its
own processor time for each document, so it ends by itself whatever happens to the one that started it.
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from threading import Lock
from typing import BinaryIO, Literal, cast

import anyio
from pydantic import TypeAdapter, ValidationError

from exploracoder_jupyter.core.errors import MissingMeans
from exploracoder_jupyter.knowledge.documents.document_files import FILE_SECONDS, File
from exploracoder_jupyter.knowledge.documents.document_page import Page
from exploracoder_jupyter.knowledge.documents.readers.reader_choice import NotText, ReadPage, TookTooLong, read_page

OpenReader = Callable[[], AbstractContextManager[ReadPage]]


@dataclass(frozen=True, slots=True)
class _Answer:
    """What came of one document."""

    page: Page | None = None
    problem: Literal["binary", "missing", "unreadable"] = "unreadable"
    """Why there is no page."""
    message: str = ""
    remedy: str = ""


_ANSWER: TypeAdapter[_Answer] = TypeAdapter(_Answer)


class PageProcess:
    """A `ReadPage` in another process, which starts with the first document and is replaced when it has ended.

    Leaving the context kills the process, also while another thread waits for it.
    """

    def __init__(self, seconds: float = FILE_SECONDS) -> None:
        """`seconds`: processor time for one document."""
        self._seconds = seconds
        self._process: subprocess.Popen[bytes] | None = None
        self._closed = False
        self._changing = Lock()

    def __enter__(self) -> PageProcess:
        return self

    def __exit__(self, *_: object) -> None:
        with self._changing:
            self._closed = True
            if self._process:
                _end(self._process)

    def __call__(self, file: File) -> Page:
        """Read one document. Blocks.

        Raises:
            NotText: it is binary.
            TookTooLong: reading it took more processor time than it may.
            MissingMeans: what reads it is not installed, or no process can be started.
            ValueError: it is broken, or the process did not survive it.
            anyio.ClosedResourceError: the context was left.
        """
        process = self._started()
        line = _asked(process, file, self._seconds)
        if not line:
            raise self._ended(process)
        return _page(line)

    def _started(self) -> subprocess.Popen[bytes]:
        with self._changing:
            if self._closed:
                raise anyio.ClosedResourceError
            self._process = self._process or _start()
            return self._process

    def _ended(self, process: subprocess.Popen[bytes]) -> Exception:
        with self._changing:
            self._process = None
            if self._closed:
                return anyio.ClosedResourceError()
            _end(process)
        took_too_long = process.returncode == -signal.SIGPROF
        return TookTooLong(self._seconds) if took_too_long else ValueError("the reading process ended")


def _start() -> subprocess.Popen[bytes]:
    try:
        return subprocess.Popen(
            [sys.executable, "-P", "-m", __name__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,  # an interrupt is for the process that started it
        )
    except OSError as error:
        raise MissingMeans(
            f"Documentation cannot be read, because no process can be started: {error.strerror}.",
            remedy="Raise the limit of processes, or run without --docs.",
        ) from error


def _asked(process: subprocess.Popen[bytes], file: File, seconds: float) -> bytes:
    """The answer of the process, empty when it has ended."""
    head = json.dumps({"name": file.name, "size": len(file.body), "seconds": seconds})
    to, back = cast("BinaryIO", process.stdin), cast("BinaryIO", process.stdout)
    with suppress(OSError, ValueError):  # it has ended, or its pipes are closed
        to.write(head.encode() + b"\n" + file.body)
        to.flush()
        line = back.readline()
        return line if line.endswith(b"\n") else b""
    return b""


def _end(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.wait()
    for pipe in (process.stdin, process.stdout):
        with suppress(OSError):
            cast("BinaryIO", pipe).close()


def _page(line: bytes) -> Page:
    try:
        answer = _ANSWER.validate_json(line)
    except ValidationError as error:
        raise ValueError("no answer of the reading process") from error
    if answer.page is not None:
        return answer.page
    if answer.problem == "missing":
        raise MissingMeans(answer.message, remedy=answer.remedy)
    raise NotText if answer.problem == "binary" else ValueError(answer.message)


def _answer(file: File) -> _Answer:
    try:
        return _Answer(read_page(file))
    except NotText:
        return _Answer(problem="binary")
    except MissingMeans as error:
        return _Answer(problem="missing", message=error.message, remedy=error.remedy)
    except Exception as error:  # whatever a document does to its reader
        return _Answer(message=type(error).__name__)


def _limited(file: File, seconds: float) -> bytes:
    """The answer on one document; the system ends this process where that takes more processor time."""
    signal.setitimer(signal.ITIMER_PROF, seconds)
    answer = _ANSWER.dump_json(_answer(file))
    signal.setitimer(signal.ITIMER_PROF, 0)
    return answer


def main() -> None:
    """Answer each document that comes by standard input with a line of JSON, until that is closed."""
    asked, answers = sys.stdin.buffer, sys.stdout.buffer
    while line := asked.readline():
        head = json.loads(line)
        body = asked.read(head["size"])
        answers.write(_limited(File(head["name"], body), head["seconds"]) + b"\n")
        answers.flush()


if __name__ == "__main__":
    main()

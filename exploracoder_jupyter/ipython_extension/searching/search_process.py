"""Runs a search in a separate process: reports its progress, parses its output and ends it.

The process has its own session, so that an interrupt reaches it only once, from here. It then ends its own child
processes.
"""

from __future__ import annotations

import json
import signal
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TypeVar

from pydantic import ValidationError

from exploracoder_jupyter.core.errors import ExploraError, MissingRequirement, UsageError
from exploracoder_jupyter.ipython_extension.searching.search_results import Results, parse_results

T = TypeVar("T")

PATIENCE = 3.0
"""Seconds that the process may take to end after an interrupt before it is killed."""


def run_search(command: Sequence[str], *, on_progress: Callable[[str], None]) -> Results:
    """Run the search command and return its results; see `run_command`."""
    return run_command(command, parse_results, on_progress=on_progress)


def run_command(command: Sequence[str], parse: Callable[[bytes], T], *, on_progress: Callable[[str], None]) -> T:
    """Run a command and return what `parse` makes of its output; `on_progress` is called with each step reported.

    `parse` raises pydantic.ValidationError for what it cannot read. After an interrupt all processes of the command
    have ended.
    """
    with tempfile.TemporaryFile() as output:
        process = _start(command, output.fileno())
        try:
            last = ""
            for line in process.stderr or ():
                if message := line.strip():
                    last = message
                    on_progress(message)
            status = process.wait()
        except BaseException:
            _end(process)
            raise
        finally:
            if process.stderr:
                process.stderr.close()
        output.seek(0)
        return _parse_output(output.read(), parse, status=status, last=last)


def _start(command: Sequence[str], output: int) -> subprocess.Popen[str]:
    try:
        return subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            errors="replace",
            start_new_session=True,
        )
    except OSError as error:
        raise MissingRequirement(
            f"The search cannot be started with {command[0]!r}: {error.strerror}.",
            remedy="Check engine_python in `%explora config`.",
        ) from error


def _parse_output(body: bytes, parse: Callable[[bytes], T], *, status: int, last: str) -> T:
    try:
        return parse(body)
    except ValidationError:
        pass
    with suppress(ValueError, KeyError, TypeError):
        error_report = json.loads(body)
        raise UsageError(error_report["error"], remedy=error_report["remedy"])
    raise ExploraError(
        f"The search ended without an answer (exit status {status}).", remedy=f"Its last output: {last[:300]}"
    )


def _end(process: subprocess.Popen[str]) -> None:
    process.send_signal(signal.SIGINT)
    with suppress(subprocess.TimeoutExpired, KeyboardInterrupt):
        process.wait(PATIENCE)
        return
    import psutil

    with suppress(psutil.NoSuchProcess):
        processes = [psutil.Process(process.pid), *psutil.Process(process.pid).children(recursive=True)]
        for child in processes:
            with suppress(psutil.NoSuchProcess):
                child.kill()
        psutil.wait_procs(processes, timeout=PATIENCE)
    process.wait()

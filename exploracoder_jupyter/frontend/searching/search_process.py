"""A search in a process of its own: what it says while it reads, its answer, and its end.

The process has a session of its own, so that an interrupt reaches it once, from here: it then ends what it has started.
"""

from __future__ import annotations

import json
import signal
import subprocess
import tempfile
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress

from pydantic import ValidationError

from exploracoder_jupyter.core.errors import ExploraError, MissingMeans, UsageError
from exploracoder_jupyter.frontend.searching.search_results import Results, parse_results

PATIENCE = 3.0
"""Seconds that the process has to end after an interrupt before it is killed."""


def run_search(command: Sequence[str], *, on_progress: Callable[[str], None]) -> Results:
    """What the command found; `tell` hears each thing that it is about to do.

    Raises:
        MissingMeans: the interpreter cannot be started.
        ExploraError: the command refused, with its own sentence, or ended without an answer.
        KeyboardInterrupt: the user interrupted; nothing of the command is left.
    """
    with tempfile.TemporaryFile() as output:
        process = _started(command, output.fileno())
        try:
            last = _heard(process.stderr or (), on_progress)
            status = process.wait()
        except BaseException:
            _end(process)
            raise
        finally:
            if process.stderr:
                process.stderr.close()
        output.seek(0)
        return _read(output.read(), status=status, last=last)


def _started(command: Sequence[str], output: int) -> subprocess.Popen[str]:
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
        raise MissingMeans(
            f"The search cannot be started with {command[0]!r}: {error.strerror}.",
            remedy="Check engine_python in `%explora config`.",
        ) from error


def _heard(lines: Iterable[str], on_progress: Callable[[str], None]) -> str:
    """Tell every line; returns the last one."""
    kept: deque[str] = deque([""], maxlen=1)
    for line in lines:
        if said := line.strip():
            kept.append(said)
            on_progress(said)
    return kept[0]


def _read(body: bytes, *, status: int, last: str) -> Results:
    try:
        return parse_results(body)
    except ValidationError:
        pass
    with suppress(ValueError, KeyError, TypeError):
        refused = json.loads(body)
        raise UsageError(refused["error"], remedy=refused["remedy"])
    raise ExploraError(
        f"The search ended without an answer (exit status {status}).", remedy=f"It said last: {last[:300]}"
    )


def _end(process: subprocess.Popen[str]) -> None:
    """End the process and all that it has started: by an interrupt, which it heeds, else by force."""
    process.send_signal(signal.SIGINT)
    with suppress(subprocess.TimeoutExpired, KeyboardInterrupt):
        process.wait(PATIENCE)
        return
    import psutil

    with suppress(psutil.NoSuchProcess):
        processes = [psutil.Process(process.pid), *psutil.Process(process.pid).children(recursive=True)]
        for one in processes:
            with suppress(psutil.NoSuchProcess):
                one.kill()
        psutil.wait_procs(processes, timeout=PATIENCE)
    process.wait()

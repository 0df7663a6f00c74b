"""Processes outside this kernel: the engine of a run, and commands of `jupyter explora`."""

from __future__ import annotations

import importlib.util
import json
import re
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any, Final, Literal

from exploracoder_jupyter.core import plugins
from exploracoder_jupyter.core.configuration.sources import Layer, resolve
from exploracoder_jupyter.core.errors import ExploraError, MissingRequirement, UsageError
from exploracoder_jupyter.core.events import RunStarted
from exploracoder_jupyter.core.platforms import system
from exploracoder_jupyter.core.time_limits import scale_limit
from exploracoder_jupyter.core.validation import ValidationError
from exploracoder_jupyter.ipython_extension.tab_completion import FORMS
from exploracoder_jupyter.protocol.messages import (
    Failed,
    Finished,
    ForkKernel,
    KernelForked,
    RecordMessage,
    RunMessage,
    Start,
    ToEngine,
    decode_from_engine,
    encode,
)

# The connection to one engine: a separate process that exchanges lines of JSON over its pipes.
#
# A reader thread puts the engine's messages into a queue. The run's follower takes them from there with a timeout,
# so that a stop, an interrupt and the engine's death are noticed at any moment. The reader thread itself answers
# requests to fork this kernel: there may be no follower, and the main thread may be running a cell. `fork_settled`
# signals that the kernel may be changed.
#
# The engine has its own session, so interrupting a cell does not reach it. Only this connection ends it: with a
# message first, then with signals. When this process dies, the engine sees the end of its standard input and closes
# the trace itself.

_ENGINE_MODULES = ("anyio", "nbformat", "openai", "pydantic")
"""Some that the engine imports and the kernel side does not."""
PATIENCE = 3.0
"""Seconds to wait at each step of ending an engine before the next, harder step."""


def engine_interpreter(python: str | None) -> str:
    """Return the interpreter of the engine: this one, or the other one that `engine_python` names.

    Raises MissingRequirement: none is named, and this one has only what the kernel side needs.
    """
    if python:
        return python
    if missing := [name for name in _ENGINE_MODULES if importlib.util.find_spec(name) is None]:
        raise MissingRequirement(
            f"The engine cannot run in this kernel's environment, which lacks {missing[0]}.",
            remedy="Name an interpreter with a complete installation: `%config ExploraMagics.engine_python = "
            "'/path/to/python'`, or install exploracoder-jupyter here with its dependencies.",
        )
    return sys.executable


def engine_command(python: str | None = None) -> tuple[str, ...]:
    """Return the command that starts an engine. `-P`: a file in the user's folder must not shadow its modules."""
    return (engine_interpreter(python), "-P", "-m", "exploracoder_jupyter.engine")


def with_this_interpreter(layers: Sequence[Layer]) -> list[Layer]:
    """Return the layers, naming this interpreter if the engine uses another one and no layer sets where to explore."""
    sandbox = resolve(*layers).sandbox
    is_same = sandbox.engine_python in (None, sys.executable)
    if is_same or sandbox.kernel or sandbox.python or sandbox.gateway:
        return [*layers]
    return [*layers, {"sandbox": {"python": sys.executable}}]


class FailedEngine:
    """Stands in for the engine of a run that cannot be started: its only message is the error."""

    def __init__(self, error: ExploraError) -> None:
        self.fork_settled = threading.Event()
        self.fork_settled.set()
        self._messages: list[RunMessage] = [Failed(error=error.message, remedy=error.remedy)]

    def messages(self, *, tick: float) -> Iterator[RunMessage | None]:
        """Yield the error once."""
        while self._messages:
            yield self._messages.pop()

    def send(self, message: ToEngine) -> None:
        """Do nothing: there is no engine."""

    def end(self, *, patience: float | None = None) -> None:
        """Do nothing: there is no engine."""


class Relay:
    """One engine process, from start to end."""

    def __init__(self, start: Start, *, command: Sequence[str], fork: Callable[[str], None] | None = None) -> None:
        """Start the engine and send it the start message; `fork` forks this kernel when the engine requests it."""
        self.fork_settled = threading.Event()
        """Set once this kernel was forked, or it is certain that it will not be."""
        self._queue: SimpleQueue[RunMessage | None] = SimpleQueue()
        self._fork = fork
        self._log: deque[str] = deque(maxlen=200)
        self._writing = threading.Lock()
        self._done = False
        self._process = _launch(command)
        threads = (self._read_messages, self._read_log)
        self._threads = [threading.Thread(target=work, daemon=True, name="explora-relay") for work in threads]
        try:
            for thread in self._threads:
                thread.start()
            self.send(start)
        except BaseException:  # the caller gets no object with which to end it
            system.kill(self._process)
            raise

    def messages(self, *, tick: float) -> Iterator[RunMessage | None]:
        """Yield the engine's messages, and `None` after every `tick` seconds without one, until the engine ends.

        May be called again after an interrupt and then continues where it stopped. If the engine ends without a final
        message, a `Failed` message about that is the last one.
        """
        while not self._done:
            try:
                message = self._queue.get(timeout=tick)
            except Empty:
                yield None
                continue
            self._done = message is None or isinstance(message, Finished | Failed)
            yield message or self._unexpected_end()

    def send(self, message: ToEngine) -> None:
        """Send the engine a message, at once. A dead engine is noticed by the end of its output, not here."""
        stdin = self._process.stdin
        assert stdin is not None
        line = encode(message)
        with self._writing, suppress(OSError):
            if not stdin.closed:
                stdin.write(line)
                stdin.flush()

    def end(self, *, patience: float | None = None) -> None:
        """End the engine and release the pipes: end of input, then SIGTERM, then SIGKILL, `patience` seconds each.

        `patience` is `PATIENCE` by default, longer on a busy machine. An interrupt while waiting proceeds to the next,
        harder step.
        """
        with self._writing, suppress(OSError):  # a dead engine's pipe cannot be flushed
            if self._process.stdin:
                self._process.stdin.close()
        for end in (system.ask_to_end, system.kill):
            if self._wait(scale_limit(PATIENCE) if patience is None else patience):
                break
            end(self._process)
        self._process.wait()
        for thread in self._threads:
            thread.join(timeout=1.0)

    def _wait(self, seconds: float) -> bool:
        try:
            self._process.wait(seconds)
        except (subprocess.TimeoutExpired, KeyboardInterrupt):
            return False
        return True

    def _read_messages(self) -> None:
        stdout = self._process.stdout
        assert stdout is not None
        with stdout:
            for line in stdout:
                try:
                    message = decode_from_engine(line)
                except ValidationError:
                    self._log.append(f"not a message: {line.rstrip()[:500]}")
                    continue
                if isinstance(message, ForkKernel):
                    self.send(KernelForked(number=message.number, problem=self._fork_kernel(message)))
                    self.fork_settled.set()
                else:
                    self._queue.put(message)
                    started = isinstance(message, RecordMessage) and isinstance(message.record.event, RunStarted)
                    if started or isinstance(message, Finished | Failed):  # no fork is requested after these
                        self.fork_settled.set()
        self._queue.put(None)
        self.fork_settled.set()

    def _fork_kernel(self, request: ForkKernel) -> str:
        """Fork this kernel; return why that failed, or an empty string."""
        if self._fork is None:
            return "it was not offered for forking"
        try:
            self._fork(request.address)
        except Exception as error:  # whatever it is, the engine waits for an answer and has an alternative
            return str(error) or type(error).__name__
        return ""

    def _read_log(self) -> None:
        stderr = self._process.stderr
        assert stderr is not None
        with stderr:
            for line in stderr:
                self._log.append(line.rstrip())

    def _unexpected_end(self) -> Failed:
        self._wait(1.0)
        self._threads[1].join(timeout=1.0)
        status = self._process.poll()
        how = f"killed by signal {-status}" if status is not None and status < 0 else f"exit status {status}"
        last = next((line for line in reversed(tuple(self._log)) if line.strip()), "")
        return Failed(
            error=f"The engine ended unexpectedly ({how}).", remedy=f"Its last output: {last[:300]}" if last else ""
        )


def _launch(command: Sequence[str]) -> subprocess.Popen[str]:
    try:
        return subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            errors="replace",
            bufsize=1,
            **system.NEW_SESSION,
        )
    except OSError as error:
        raise MissingRequirement(
            f"The engine cannot be started with {command[0]!r}: {error.strerror}.",
            remedy="Check engine_python in `%explora config`.",
        ) from error


# Runs commands of `jupyter explora` in processes: this kernel imports nothing for them, and never has the key.

_FORM = re.compile(r"(?:^|(?<=\s))--to(?:\s+|=)(\S+)(?=\s|$)")

_SECONDS: Final = 60.0
_PREFIX: Final = "jupyter explora: "


def run_command(*words: str, python: str | None = None, environ: Mapping[str, str] | None = None) -> dict[str, Any]:
    """Run a command with `--json`, by default in this interpreter, and return the object that it prints."""
    # `-P`: a file in the user's folder must not shadow one of our modules.
    command = (engine_interpreter(python), "-P", "-m", "exploracoder_jupyter.cli", *words, "--json")
    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, encoding="utf-8", check=False, env=environ
        )
        answer: dict[str, Any] = json.loads(done.stdout)
    except OSError as error:
        raise MissingRequirement(f"{command[0]!r} cannot be started: {error.strerror}.") from error
    except ValueError as error:
        output = done.stderr.strip()[-300:]
        raise ExploraError(f"`jupyter explora {words[0]}` ended without an answer: {output}") from error
    except KeyboardInterrupt:
        raise UsageError(f"`jupyter explora {words[0]}` was stopped.") from None
    if "error" in answer:
        raise UsageError(answer["error"], remedy=answer["remedy"])
    return answer


def change_repository(
    action: Literal["apply", "undo"], source: str, *, repository: str = "", engine_python: str | None = None
) -> str:
    """Apply the patch of a trace or file to a repository (by default that of the trace), or undo it.

    Returns a sentence about it. `engine_python` is the interpreter of the command line, by default that of this kernel.
    """
    python = engine_interpreter(engine_python)
    command = [python, "-P", "-m", "exploracoder_jupyter.cli", "repo", action, source]  # -P: as above
    command += ["--repo", repository] if repository else []
    try:
        done = subprocess.run(
            command, capture_output=True, encoding="utf-8", timeout=scale_limit(_SECONDS), stdin=subprocess.DEVNULL
        )
    except subprocess.TimeoutExpired:
        raise UsageError("The patch was not applied in time.", remedy=f"Run `{' '.join(command[4:])}`.") from None
    if done.returncode:
        lines = done.stderr.strip().splitlines() or ["The command failed."]
        raise UsageError(lines[-1].removeprefix(_PREFIX))
    return f"{done.stdout}{done.stderr}".strip()


def export_trace(trace: Path, arguments: str, *, engine_python: str | None = None) -> Path:
    """Convert the trace and return the path of the result.

    The arguments are `--to script|html|notebook` and a path, in any order; without them the notebook without the
    candidates that were not selected is written beside the trace.
    """
    form, path = _FORM.search(arguments), _FORM.sub("", arguments, count=1).strip()
    if path.startswith("--") or (form and form[1] not in FORMS and not plugins.find("exporters", form[1])):
        raise UsageError("%explora export takes `--to script|html|notebook` and a path.")
    to = ("--to", form[1]) if form else ()
    out = ("--out", path.strip("'\"")) if path else ()
    return Path(run_command("export", str(trace), *to, *out, python=engine_python)["out"])

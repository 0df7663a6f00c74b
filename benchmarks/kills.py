"""Runs that are killed at random moments: whether their traces are valid, and whether they can be resumed.

    python benchmarks/kills.py [--moments 50] [--seed 1] [--kind sibling]

Four kinds in turn: the command is killed, one of its siblings is, the kernel of a notebook is, or the disk is full. The
model is a server of this process that answers like one, so that the benchmark knows which answers were given and are
not in the trace, and which requests were made again although their answers are. Linux, with user namespaces.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import random
import shlex
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import nbformat
import psutil
from jupyter_client.manager import start_new_kernel

from exploracoder_jupyter.core.errors import UsageError
from exploracoder_jupyter.core.events import ModelCalled, Record, RunFinished
from exploracoder_jupyter.trace import load

TASK = "Make three lists of numbers, compute the median of each, and store their sum in `total`."
TITLES = ["Make the first list", "Make the second list", "Make the third list"]
CHECK = "assert total == 15"
CODE = """from statistics import median
import time
time.sleep({pause})
list_{n} = [4, 5, 6]
print(median(list_{n}), {i})"""
SOLUTION = "from statistics import median\ntotal = sum(median([4, 5, 6]) for _ in range(3))\nprint(total)"
COMMAND = [sys.executable, "-m", "exploracoder_jupyter.cli", "run"]
KINDS = ("command", "sibling", "kernel", "disk")
PAUSE = 0.2
"""Seconds that a reply takes, and that a snippet waits."""


class Author(BaseHTTPRequestHandler):
    """Answers like a model; every request and whether it was answered is known to the server."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self._send({"object": "list", "data": [{"id": "toy", "object": "model", "created": 1, "owned_by": "me"}]})

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        time.sleep(PAUSE)
        texts = [_content(body["messages"][-1]["content"], index) for index in range(body.get("n") or 1)]
        choices = [
            {"index": index, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}
            for index, text in enumerate(texts)
        ]
        usage = {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}
        whole = {"id": "x", "object": "chat.completion", "created": 1, "model": "toy"}
        self._send({**whole, "choices": choices, "usage": usage})
        ANSWERED.append(_digest(message["content"] for message in body["messages"]))

    def _send(self, value: object) -> None:
        content = json.dumps(value).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        """Nothing."""


class Server(ThreadingHTTPServer):
    """One whose clients may be killed."""

    daemon_threads = True

    def handle_error(self, *_: object) -> None:
        """A client that is gone is no news."""


ANSWERED: list[str] = []
"""What was asked of the model and answered, in order."""


def _digest(contents: Iterable[str]) -> str:
    return hashlib.sha256("\0".join(contents).encode()).hexdigest()


def _content(prompt: str, index: int) -> str:
    if '"subtasks"' in prompt:
        return json.dumps({"subtasks": TITLES})
    if '"apis"' in prompt or '"planners"' in prompt:
        return json.dumps({"apis": ["statistics.median"], "planners": []})
    if "complete Python program" in prompt:
        return f"```python\n{SOLUTION}\n```"
    place = next((n for n, title in enumerate(TITLES) if f"nothing after it:\n{title}" in prompt), 0)
    return f"```python\n{CODE.format(pause=PAUSE, n=place, i=index)}\n```"


@dataclass
class Result:
    """What became of one run."""

    kind: str
    after: float
    """Seconds after the trace had begun, or kB of the disk."""
    ended: bool = False
    """Whether it came to a solution all the same."""
    valid: bool = False
    resumed: bool = False
    answered: int = 0
    lost: int = 0
    """Answers that are not in the trace."""
    again: int = 0
    """Requests of the resumed run whose answers are."""
    notes: list[str] = field(default_factory=list)


def main() -> None:
    """Kills as often as requested and prints the results."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--moments", type=int, default=50)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--kind", choices=KINDS, help="only this one")
    arguments = parser.parse_args()
    chance = random.Random(arguments.seed)
    server = Server(("127.0.0.1", 0), Author)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_port}/v1"
    with tempfile.TemporaryDirectory(prefix="kills-") as name:
        folder = Path(name)
        os.environ |= {"OPENAI_API_KEY": "sk-of-nobody-0123456789", "XDG_CACHE_HOME": str(folder / "cache")}
        os.environ["XDG_STATE_HOME"] = str(folder / "state")
        os.environ["EXPLORACODER_BASE_URL"] = url  # a resumed run asks nothing at an address that only its trace names
        length = _measured(folder, url)
        results = []
        for number in range(arguments.moments):
            place = folder / str(number)
            place.mkdir()
            results.append(_one(arguments.kind or KINDS[number % len(KINDS)], place, url, length, chance))
            print(f"{number + 1:3} {_row(results[-1])}", flush=True)
    _table(results)


def _options(url: str) -> list[str]:
    settings = ["--candidates", "2", "--no-snippets", "--base-url", url, "--model", "toy"]
    return ["-t", TASK, "--library", "statistics", "--check", CHECK, "--out", "t.ipynb", *settings]


def _measured(folder: Path, url: str) -> float:
    """Seconds from the beginning of the trace to the end of a run that nobody kills."""
    for name in ("warm", "undisturbed"):
        (folder / name).mkdir()
        process = _start(folder / name, url)
        _begun(folder / name)
        began = time.monotonic()
        assert process.wait(120) == 0, (folder / name / "output.txt").read_text()
    return time.monotonic() - began


def _start(place: Path, url: str, command: list[str] | None = None) -> subprocess.Popen[bytes]:
    output = (place / "output.txt").open("wb")
    with output:
        full, temporary = command or [*COMMAND, *_options(url)], place / "tmp"
        temporary.mkdir()
        environment = {**os.environ, "TMPDIR": str(temporary)}
        return subprocess.Popen(
            full, cwd=place, stdout=output, stderr=subprocess.STDOUT, start_new_session=True, env=environment
        )


def _begun(place: Path, seconds: float = 120.0) -> bool:
    """Wait until there is a journal with something in it."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        with suppress(FileNotFoundError):
            if (place / "t.journal.jsonl").stat().st_size:
                return True
        time.sleep(0.01)
    return False


def _one(kind: str, place: Path, url: str, length: float, chance: random.Random) -> Result:
    result = Result(kind, chance.uniform(0, length))
    first = len(ANSWERED)
    if kind == "disk":
        _on_a_small_disk(place, url, result, chance)
    elif kind == "kernel":
        _with_kernel(place, url, result)
    else:
        _with_command(place, url, result, chance)
    time.sleep(PAUSE * 2)  # an answer that was under way is given to nobody
    asked = set(ANSWERED[first:])  # the first one is made twice, until the client knows what the server takes
    records = _records(place, result)
    result.ended = _solved(place / "t.ipynb")
    kept = {_digest(one.content for one in record.event.exchange.messages) for record in records if _whole(record)}
    result.answered, result.lost = len(asked), len(asked - kept)
    _resume(place, result, kept)
    return result


def _whole(record: Record) -> bool:
    return isinstance(record.event, ModelCalled) and record.event.exchange.problem != "interrupted"


def _with_command(place: Path, url: str, result: Result, chance: random.Random) -> None:
    process = _start(place, url)
    _begun(place)
    time.sleep(result.after)
    if result.kind == "command":
        process.send_signal(signal.SIGKILL)
    else:
        result.notes.append(_killed(_siblings(place, process.pid), chance))
    process.wait(120)


def _killed(siblings: list[psutil.Process], chance: random.Random) -> str:
    """Kill one of them, another where that one has just ended; of how many, in words."""
    for victim in chance.sample(siblings, len(siblings)):
        with suppress(psutil.NoSuchProcess):
            victim.kill()
            return f"1 of {len(siblings)}"
    return "none was there"


def _siblings(place: Path, command: int) -> list[psutil.Process]:
    """The processes of a run but its own; a branch is nobody's child, so they are found by where they are."""
    found = []
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            places = (process.cwd() or "", *process.cmdline())
            if process.pid != command and any(str(place) in one for one in places):
                found.append(process)
    return found


def _with_kernel(place: Path, url: str, result: Result) -> None:
    """The cell of a notebook whose kernel is killed; the engine is a process of its own."""
    words = shlex.join(["statistics", *_options(url)[4:]])
    manager, client = start_new_kernel(cwd=str(place), stderr=subprocess.DEVNULL)
    try:
        client.execute_interactive("%load_ext exploracoder_jupyter", timeout=60)
        client.execute(f"%%explora {words}\n{TASK}")
        _begun(place)
        engines = psutil.Process(manager.provisioner.pid).children(recursive=True)
        time.sleep(result.after)
        os.kill(manager.provisioner.pid, signal.SIGKILL)
        _, alive = psutil.wait_procs(engines, timeout=15)
        result.notes += [f"{len(alive)} processes left"] if alive else []
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)


def _on_a_small_disk(place: Path, url: str, result: Result, chance: random.Random) -> None:
    result.after = chance.randrange(12, 200, 4)
    (place / "small").mkdir()
    run = shlex.join([*COMMAND, *_options(url)])
    run = run.replace("--out t.ipynb", "--out small/t.ipynb")
    script = f"mount -t tmpfs -o size={result.after:.0f}k none small && {run}; status=$?; cp small/* .; exit $status"
    _start(place, url, ["unshare", "-Urm", "bash", "-c", script]).wait(120)


def _records(place: Path, result: Result) -> list[Record]:
    """Loads the records of the trace, else notes the last line of output; an existing notebook has to be valid."""
    path = place / "t.ipynb"
    try:
        if path.exists():
            nbformat.validate(nbformat.read(path, as_version=4))
        records = load(path)
        result.valid = True
        return records
    except (UsageError, ValueError, nbformat.ValidationError) as error:
        output = place / "output.txt"
        last_line = output.read_text().splitlines()[-1:] if output.exists() else []
        result.notes += [str(error)[:80], *last_line]
        return []


def _solved(path: Path) -> bool:
    try:
        ends = [record.event for record in load(path) if isinstance(record.event, RunFinished)]
    except UsageError:
        return False
    return bool(ends) and ends[-1].verdict.outcome == "solved"


def _resume(place: Path, result: Result, kept: set[str]) -> None:
    if result.ended:
        return
    first = len(ANSWERED)
    done = subprocess.run(
        [*COMMAND, "--resume", "t.ipynb"], cwd=place, capture_output=True, text=True, timeout=120, check=False
    )
    result.resumed = done.returncode == 0 and _solved(place / "t-resumed.ipynb")
    result.again = sum(one in kept for one in ANSWERED[first:])
    if not result.resumed:
        result.notes.append((done.stderr.strip().splitlines() or ["?"])[-1][-120:])


def _row(one: Result) -> str:
    fate = "ended by itself" if one.ended else "resumed" if one.resumed else "NOT RESUMED"
    where = f"{one.after:5.0f} kB" if one.kind == "disk" else f"{one.after:6.2f} s"
    counts = f"{one.answered} answers, {one.lost} lost, {one.again} asked again"
    return f"{one.kind:8} {where}  {'valid' if one.valid else 'INVALID'}  {fate:15}  {counts}  {'; '.join(one.notes)}"


def _table(results: list[Result]) -> None:
    print("\nkind      n  valid  ended  resumed  answers  lost  at most  asked again")
    for kind in (*KINDS, "all"):
        rows = [one for one in results if kind in (one.kind, "all")]
        if not rows:
            continue
        sums = [sum(one.valid for one in rows), sum(one.ended for one in rows), sum(one.resumed for one in rows)]
        lost = [one.lost for one in rows]
        answers, again = sum(one.answered for one in rows), sum(one.again for one in rows)
        counts = f"{sums[0]:6} {sums[1]:6} {sums[2]:8} {answers:8} {sum(lost):5} {max(lost):8} {again:12}"
        print(f"{kind:8} {len(rows):2} {counts}")


if __name__ == "__main__":
    main()

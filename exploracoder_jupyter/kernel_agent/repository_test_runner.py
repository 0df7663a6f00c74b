"""Runs the tests of a repository in a branch, and displays what came out as JSON.

The source of this module is sent to the branch, whose working directory is a private view of the repository. pytest
runs in a process of its own with a plugin that writes a line for each report, so that nothing is lost if it crashes.
Any other command counts as one test, which passes if the command succeeds.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from typing import Any

Json = dict[str, Any]

MIME = "application/vnd.exploracoder.tests+json"
_MOST_TEXT = 6000
_MOST_OUTPUT = 12000
_PLUGIN = """
import json
import os

_file = open(os.environ["EXPLORA_TEST_REPORT"], "a", encoding="utf-8", errors="replace")  # tests may replace open
_dumps = json.dumps


def _write(row):
    _file.write(_dumps(row) + "\\n")
    _file.flush()


def pytest_runtest_logstart(nodeid):
    _write({"id": nodeid, "when": "start", "outcome": "passed", "text": "", "captured": "", "expected": False})


def pytest_runtest_logreport(report):
    captured = "\\n".join(f"-- {name} --\\n{text}" for name, text in report.sections if report.failed)
    row = {"id": report.nodeid, "when": report.when, "outcome": report.outcome, "text": report.longreprtext}
    _write({**row, "captured": captured, "expected": hasattr(report, "wasxfail")})


def pytest_collectreport(report):
    if report.failed:
        row = {"id": report.nodeid, "when": "collect", "outcome": "failed", "text": report.longreprtext}
        _write({**row, "captured": "", "expected": False})
"""


def run_tests(request: Json) -> None:
    """Write the files of a request, run its tests and display the report.

    Args:
        request: `files` (texts by path), `tests` (arguments of pytest), `command` (for a shell, in place of pytest;
            empty for none), `seconds` (time limit).
    """
    for path, text in request["files"].items():
        if os.path.isabs(path):
            raise ValueError(f"{path} is not relative to the repository")
        with open(path, "w", encoding="utf-8", errors="surrogateescape", newline="") as file:
            file.write(text)
    with tempfile.TemporaryDirectory() as folder:
        report = _run(request, folder)
    from IPython import display

    display.display({MIME: report, "text/plain": f"{len(report['rows'])} reports"}, raw=True)  # type: ignore[no-untyped-call]


def _run(request: Json, folder: str) -> Json:
    log = os.path.join(folder, "report.jsonl")
    with open(os.path.join(folder, "explora_report.py"), "w", encoding="utf-8") as file:
        file.write(_PLUGIN)
    options = ["-p", "explora_report", "-q", "--color=no", "--continue-on-collection-errors"]
    command = request["command"] or [sys.executable, "-m", "pytest", *request["tests"], *options]
    here = os.getcwd()
    path = [folder, here, os.path.join(here, "src"), os.environ.get("PYTHONPATH", "")]
    environment = {
        **os.environ,
        "EXPLORA_TEST_REPORT": log,
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONPATH": os.pathsep.join(filter(None, path)),
    }
    began = time.monotonic()
    status, output = _execute(command, environment, request["seconds"])
    seconds = time.monotonic() - began
    rows = []
    with suppress(OSError, ValueError), open(log, encoding="utf-8") as file:  # pytest may be killed while it writes
        for line in file:
            row = json.loads(line)
            texts = {"text": _cut(row["text"], _MOST_TEXT), "captured": _cut(row["captured"], _MOST_TEXT // 4)}
            rows.append({**row, **texts})
    return {"rows": rows, "status": status, "output": _cut(output, _MOST_OUTPUT), "seconds": round(seconds, 3)}


def _execute(command: str | list[str], environment: dict[str, str], seconds: float) -> tuple[int | None, str]:
    """Return the exit status, which is None after the time limit, and the output."""
    process = subprocess.Popen(
        command,
        shell=isinstance(command, str),
        env=environment,
        start_new_session=True,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    try:
        output, _ = process.communicate(timeout=seconds)
        return process.returncode, output.decode("utf-8", "replace")
    except subprocess.TimeoutExpired:
        _kill(process)
        output, _ = process.communicate()
        return None, output.decode("utf-8", "replace")
    finally:
        _kill(process)


def _kill(process: subprocess.Popen[bytes]) -> None:
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except (OSError, AttributeError):
        process.kill()


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most // 2]}\n... (cut) ...\n{text[-most // 2 :]}"

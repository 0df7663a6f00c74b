"""Runs the tests of a repository in a branch, and displays what came out as JSON.

The source of this module is sent to the branch, whose working directory is a private view of the repository. pytest
runs in a process of its own with a plugin that writes a line for each report, so that nothing is lost if it crashes.
A test that does not end within its limit, or that ends the process, costs only itself: pytest is started again for the
tests that are left. Any other command counts as one test, which passes if the command succeeds.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from typing import Any

Json = dict[str, Any]

MIME = "application/vnd.exploracoder.tests+json"
_MOST_TEXT = 12000
_MOST_OUTPUT = 12000
MOST_HANGS = 5
"""Tests that hang may take this many times the limit of one test together; then the rest is not run."""
_MOST_CRASHES = 5
_LEAST_LIMIT = 5.0
"""Seconds that a test always has."""
_SLOWER = 4
"""A test after one that hangs may take this many times as long as the slowest one so far."""
_UNKNOWN_OPTIONS = re.compile("unrecognized arguments|required plugins|Unknown config option")
_OF_PYTEST = re.compile(r"[/\\\\](?:_pytest|pluggy|pytest)[/\\\\]|\\bin _run_(?:module_as_main|code)$")
_NO_OPTIONS = ["-o", "addopts=", "-o", "required_plugins="]
_OPTIONS = ["-p", "explora_report", "-q", "--color=no", "--tb=auto", "--maxfail=0", "--continue-on-collection-errors"]
_USAGE = 4
_PLUGIN = """
import faulthandler
import json
import os

import pytest

_file = open(os.environ["EXPLORA_TEST_REPORT"], "a", encoding="utf-8", errors="replace")  # tests may replace open
_stack = open(os.environ["EXPLORA_TEST_STACK"], "w", encoding="utf-8")
_limit = float(os.environ["EXPLORA_TEST_LIMIT"])
_dumps = json.dumps
with open(os.environ["EXPLORA_TESTS_ENDED"], encoding="utf-8") as _known:
    _ended = set(json.load(_known))


def _write(id, when, outcome="passed", text="", captured="", expected=False, seconds=0.0):
    row = {"id": id, "when": when, "outcome": outcome, "text": text, "captured": captured, "expected": expected}
    _file.write(_dumps({**row, "seconds": seconds}) + "\\n")
    _file.flush()


def _begin(id, when):
    _write(id, when)
    faulthandler.dump_traceback_later(_limit, exit=True, file=_stack)


def _end(id, when):
    faulthandler.cancel_dump_traceback_later()
    _write(id, when)


@pytest.hookimpl(hookwrapper=True)
def pytest_cmdline_main(config):
    if getattr(config.option, "numprocesses", None):  # the limit of a test needs it to run here
        config.option.numprocesses = 0
    yield


@pytest.hookimpl(hookwrapper=True)
def pytest_make_collect_report(collector):
    _begin(collector.nodeid, "collecting")
    yield
    _end(collector.nodeid, "collected")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items):
    items[:] = [item for item in items if item.nodeid not in _ended]
    for item in items:
        _write(item.nodeid, "selected")


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_logstart(nodeid):
    _begin(nodeid, "start")


@pytest.hookimpl(trylast=True)
def pytest_runtest_logfinish(nodeid):
    _end(nodeid, "end")


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish():
    faulthandler.dump_traceback_later(_limit, exit=True, file=_stack)


def pytest_runtest_logreport(report):
    if report.outcome in ("passed", "failed", "skipped"):  # plugins have others
        captured = "\\n".join(f"-- {name} --\\n{text}" for name, text in report.sections if report.failed)
        expected, seconds = hasattr(report, "wasxfail"), report.duration
        _write(report.nodeid, report.when, report.outcome, report.longreprtext, captured, expected, seconds)


def pytest_collectreport(report):
    if not report.passed:
        _write(report.nodeid, "collect", report.outcome, report.longreprtext)
"""


def run_tests(request: Json) -> None:
    """Write the files of a request, run its tests and display the report.

    Args:
        request: `files` (texts by path), `tests` (arguments of pytest), `command` (for a shell, in place of pytest;
            empty for none), `seconds` (time limit of all tests, without those that hang), `each` (that of one test).
    """
    for path, text in request["files"].items():
        if os.path.isabs(path):
            raise ValueError(f"{path} is not relative to the repository")
        with open(path, "w", encoding="utf-8", errors="surrogateescape", newline="") as file:
            file.write(text)
    with tempfile.TemporaryDirectory() as folder:
        began = time.monotonic()
        if request["command"]:
            status, output = _execute(request["command"], _environment(folder), request["seconds"])
            report: Json = {"rows": [], "status": status, "output": output}
        else:
            report = _run_pytest(request, folder)
        report["seconds"] = round(time.monotonic() - began, 3)
    report["output"] = _cut(report["output"], _MOST_OUTPUT)
    from IPython import display

    display.display({MIME: report, "text/plain": f"{len(report['rows'])} reports"}, raw=True)  # type: ignore[no-untyped-call]


def _run_pytest(request: Json, folder: str) -> Json:
    """Run pytest until every test that it selects has run, or the time is over."""
    with open(os.path.join(folder, "explora_report.py"), "w", encoding="utf-8") as file:
        file.write(_PLUGIN)
    here = f"--rootdir={os.getcwd()}"  # ids of tests begin here, also below a folder with a configuration of its own
    command = [sys.executable, "-m", "pytest", *request["tests"], *_OPTIONS, here]
    environment = _environment(folder)
    limit, left, hung, crashes, ended, more = request["each"], request["seconds"], 0.0, 0, list[Json](), list[str]()
    while True:
        began = time.monotonic()
        _write_json(environment["EXPLORA_TESTS_ENDED"], [row["id"] for row in ended])
        environment["EXPLORA_TEST_LIMIT"] = str(limit)
        status, output = _execute([*command, *more], environment, left + limit)
        rows, stack = _read_rows(environment["EXPLORA_TEST_REPORT"]), _read(environment["EXPLORA_TEST_STACK"])
        left -= time.monotonic() - began
        if status == _USAGE and not rows and not more and _UNKNOWN_OPTIONS.search(output):
            more = _NO_OPTIONS  # of plugins that are not installed here
            continue
        running = _unfinished(rows, {row["id"] for row in ended})
        if running is None or status is None:
            break
        ended.append(_ended_early(running, status, stack, limit, output))
        if stack:
            left, hung = left + limit, hung + limit
            slowest = max(row["seconds"] for row in rows)
            limit = min(limit, max(limit / 2, _LEAST_LIMIT, _SLOWER * slowest))
        else:
            crashes += 1
        if running["when"] == "collecting" or hung > MOST_HANGS * request["each"] or crashes > _MOST_CRASHES:
            break
    left_over = _not_run(rows, ended)
    return {
        "rows": [*_shown(rows), *ended, *left_over],
        "status": status,
        "output": output,
        "options_dropped": bool(more),
        "gave_up": bool(left_over) and running is None and status is not None,
        "never_ended": _cut(stack, _MOST_TEXT) if running is None else "",
    }


def _environment(folder: str) -> dict[str, str]:
    here = os.getcwd()
    folders = [os.path.join(here, name) for name in ("src", "lib", "python")]
    sources = [name for name in folders if not os.path.isfile(os.path.join(name, "__init__.py"))]
    path = [folder, here, *sources, os.environ.get("PYTHONPATH", "")]  # what is installed comes last
    return {
        **os.environ,
        "EXPLORA_TEST_REPORT": os.path.join(folder, "report.jsonl"),
        "EXPLORA_TEST_STACK": os.path.join(folder, "stack.txt"),
        "EXPLORA_TESTS_ENDED": os.path.join(folder, "ended.json"),
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONPATH": os.pathsep.join(filter(None, path)),
    }


def _unfinished(rows: list[Json], known: set[str]) -> Json | None:
    """Return the row with which the last test, or the collection of a file, began that has not ended."""
    running: Json | None = None
    for row in rows:
        if row["when"] in ("start", "collecting"):
            running = row
        elif row["when"] in ("end", "collected"):
            running = None
    return running if running and running["id"] not in known else None


def _ended_early(running: Json, status: int, stack: str, limit: float, output: str) -> Json:
    """Return the row of a test that hung or ended the process."""
    text = f"It ended the process of the tests with status {status}.\n{output[-_MOST_TEXT // 4 :]}"
    if stack:
        calls = "\n".join(line for line in stack.splitlines() if not _OF_PYTEST.search(line))
        text = f"It did not end within {limit:g} s. Then it was here, the innermost call first:\n{calls}"
    when = "collect" if running["when"] == "collecting" else "call"
    return {**running, "when": when, "outcome": "slow" if stack else "failed", "text": _cut(text, _MOST_TEXT)}


def _not_run(rows: list[Json], ended: list[Json]) -> list[Json]:
    done = {row["id"] for row in ended} | {row["id"] for row in rows if row["when"] == "end"}
    left = dict.fromkeys(row["id"] for row in rows if row["when"] in ("selected", "start"))
    blank = {"when": "call", "outcome": "not run", "text": "", "captured": "", "expected": False}
    return [{"id": id, **blank} for id in left if id not in done]


def _shown(rows: list[Json]) -> list[Json]:
    """Return the reports among the rows, with their texts shortened."""
    return [
        {**row, "text": _cut(row["text"], _MOST_TEXT), "captured": _cut(row["captured"], _MOST_TEXT // 4)}
        for row in rows
        if row["when"] not in ("selected", "start", "end", "collecting", "collected")
    ]


def _read_rows(path: str) -> list[Json]:
    rows = []
    for line in _read(path).splitlines():
        with suppress(ValueError):  # pytest may be killed while it writes
            rows.append(json.loads(line))
    return rows


def _read(path: str) -> str:
    with suppress(OSError), open(path, encoding="utf-8", errors="replace") as file:
        return file.read()
    return ""


def _write_json(path: str, value: object) -> None:
    with open(path, "w", encoding="utf-8") as file:
        json.dump(value, file)


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

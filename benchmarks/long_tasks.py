"""Whose the long tasks of a page are, from a trace of Chromium: what the page's thread was at, some thousand times a
second.

A task is put down to what it was at for longest: to the *extension*, when one of its functions is on the stack,
whatever that has called; to the *garbage* collector; to the *rest*, which is JupyterLab and the drawing of frames. Its
length is reported twice, as wall-clock time and as the CPU time of the thread: where more threads want to run than
there are cores, the thread also waits for its turn.
"""

import json
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

CATEGORIES = [
    "-*",
    "toplevel",
    "blink.user_timing",
    "disabled-by-default-devtools.timeline",
    "disabled-by-default-v8.cpu_profiler",
]
"""What has to be traced."""

BEGIN = "long tasks begin"
"""A mark that the page sets (`performance.mark`) when it is to be watched: to start a trace is a long task too."""

WHOSE = ("extension", "garbage", "rest")

Event = dict[str, Any]


@dataclass(frozen=True)
class Task:
    """One task of the page's main thread; times in milliseconds."""

    clock: float
    own: float
    """The time that the thread had."""
    at: dict[str, float]
    """By the clock, for each of `WHOSE`."""

    @property
    def whose(self) -> str:
        """What it was at for longest."""
        return max(WHOSE, key=lambda name: self.at[name])


@dataclass(frozen=True)
class _Sample:
    at: float
    took: float
    whose: str


def long_tasks(trace: Path, script: str, over: float = 200) -> list[Task]:
    """Those of the page after its mark, over so many milliseconds; `script` is in the extension's URLs."""
    events: list[Event] = json.loads(trace.read_text())["traceEvents"]
    [begin] = [event for event in events if event["name"] == BEGIN]
    thread = begin["pid"], begin["tid"]
    samples = list(_samples(events, thread, script))
    times = [sample.at for sample in samples]
    found = []
    for task in (e for e in events if e["name"] == "RunTask" and (e["pid"], e["tid"]) == thread and e["ph"] == "X"):
        if task["ts"] > begin["ts"] and task["dur"] > 1000 * over:
            within = samples[bisect_left(times, task["ts"]) : bisect_left(times, task["ts"] + task["dur"])]
            found.append(Task(task["dur"] / 1000, task["tdur"] / 1000, _sums(within)))
    return found


def _sums(samples: list[_Sample]) -> dict[str, float]:
    return {name: sum(sample.took for sample in samples if sample.whose == name) / 1000 for name in WHOSE}


def _samples(events: list[Event], thread: tuple[int, int], script: str) -> Iterator[_Sample]:
    """What one thread was at, in order of time."""
    [profile] = [e for e in events if e["name"] == "Profile" and (e["pid"], e["tid"]) == thread]
    chunks = [e for e in events if e["name"] == "ProfileChunk" and (e["pid"], e["id"]) == (thread[0], profile["id"])]
    now = profile["args"]["data"]["startTime"]
    whose: dict[int | None, str] = {}
    for data in (chunk["args"]["data"] for chunk in sorted(chunks, key=lambda chunk: chunk["ts"])):
        part = data.get("cpuProfile", {})
        for node in part.get("nodes", []):
            whose[node["id"]] = _whose(node["callFrame"], whose.get(node.get("parent")), script)
        for node, took in zip(part.get("samples", []), data.get("timeDeltas", []), strict=False):
            now += took
            yield _Sample(now, took, whose[node])


def _whose(frame: dict[str, Any], caller: str | None, script: str) -> str:
    if frame["functionName"] == "(garbage collector)":
        return "garbage"
    return "extension" if caller == "extension" or script in frame.get("url", "") else "rest"

"""Runs the tests in a branch, in which an attempt is written first; the repository itself never changes.

The working directory of a branch is an overlay over the repository, or a copy where overlays are not possible
(`kernels.sandbox`). Attempts run in forks of the same state, so that none sees the files of another.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from importlib import resources
from typing import Final

import anyio

from exploracoder_jupyter.core.errors import BranchingChanged
from exploracoder_jupyter.core.types import RepositoryTask, Usage
from exploracoder_jupyter.kernel_agent.repository_test_runner import MOST_HANGS
from exploracoder_jupyter.pipeline.branch_operations import MOST_CHANGES, notify_branching_change
from exploracoder_jupyter.pipeline.ports import Branch
from exploracoder_jupyter.pipeline.step_context import Run
from exploracoder_jupyter.repository.testing.testing_report import TestReport, read_report

_CODE: Final = """
_explora = {{"__name__": "explora_tests"}}
exec({source!r}, _explora)
_explora["run_tests"](__import__("json").loads({request!r}))
"""
_GRACE: Final = 10.0
"""Seconds that an execution may take longer than the tests in it."""
_FIRST: Final = 10
"""All tests may take this many times the limit of one while it is not known how long they take."""
_SLOWER: Final = 3
"""After that they may take this many times as long as before."""


async def run_tests(
    run: Run, task: RepositoryTask, files: Mapping[str, str], *, before: float | None = None
) -> TestReport:
    """Write files, texts by their paths, in a new branch, run the tests there and return the report.

    One test may take `exploration.timeout`; all together three times the seconds that they took `before`, if that is
    more, or ten times the limit of one if that is not known.
    """
    for changes in range(MOST_CHANGES + 1):
        run.meter.reserve()
        try:
            report = await run_tests_in_fork(run.root, task, files, each=run.settings.timeout, before=before)
            break
        except BranchingChanged as change:
            if changes == MOST_CHANGES:
                raise
            notify_branching_change(run, change)
    run.meter.charge("execute", Usage(seconds=report.seconds))
    return report


async def run_tests_in_fork(
    root: Branch, task: RepositoryTask, files: Mapping[str, str], *, each: float, before: float | None = None
) -> TestReport:
    """Write files in a new fork of a branch, run the tests there, each for at most so many seconds; see `run_tests`."""
    seconds = _FIRST * each if before is None else max(each, _SLOWER * before)
    runner = resources.files("exploracoder_jupyter.kernel_agent").joinpath("repository_test_runner.py")
    limits = {"seconds": seconds, "each": each}
    request = {"files": dict(files), "tests": list(task.tests), "command": task.command, **limits}
    longest = seconds + MOST_HANGS * each * 2 + _GRACE
    code = _CODE.format(source=runner.read_text("utf-8"), request=json.dumps(request))
    [branch] = await root.fork(1)
    try:
        return read_report(await branch.run(code, timeout=longest), command=task.command)
    finally:
        with anyio.CancelScope(shield=True):
            await branch.close()

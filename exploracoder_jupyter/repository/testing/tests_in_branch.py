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


async def run_tests(run: Run, task: RepositoryTask, files: Mapping[str, str]) -> TestReport:
    """Write files, texts by their paths, in a new branch, run the tests there and return the report."""
    for changes in range(MOST_CHANGES + 1):
        run.meter.reserve()
        try:
            report = await run_tests_in_fork(run.root, task, files, seconds=run.settings.timeout)
            break
        except BranchingChanged as change:
            if changes == MOST_CHANGES:
                raise
            notify_branching_change(run, change)
    run.meter.charge("execute", Usage(seconds=report.seconds))
    return report


async def run_tests_in_fork(
    root: Branch, task: RepositoryTask, files: Mapping[str, str], *, seconds: float
) -> TestReport:
    """Write files in a new fork of a branch, run the tests there for at most `seconds`, and return the report."""
    runner = resources.files("exploracoder_jupyter.kernel_agent").joinpath("repository_test_runner.py")
    request = {"files": dict(files), "tests": list(task.tests), "command": task.command, "seconds": seconds}
    code = _CODE.format(source=runner.read_text("utf-8"), request=json.dumps(request))
    [branch] = await root.fork(1)
    try:
        return read_report(await branch.run(code, timeout=seconds + _GRACE), command=task.command)
    finally:
        with anyio.CancelScope(shield=True):
            await branch.close()

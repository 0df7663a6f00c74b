"""Strategies on real kernels with scripted replies: their traces are complete, render, and pass a check."""

import sys
from pathlib import Path

import anyio
import nbformat
import pytest

from exploracoder_jupyter.core.run_state import fold_all
from exploracoder_jupyter.core.types import Task
from exploracoder_jupyter.llm.scripted_model import ScriptedModel
from exploracoder_jupyter.runs import Order, run
from exploracoder_jupyter.trace import load
from tests.integration import command_line

TIDES = '''
"""Basins of water."""

class Basin:
    """A basin that is empty at first."""

    def __init__(self):
        self._level = 0

    def fill(self, amount):
        """Add an amount of water in litres, and return the basin."""
        self._level += amount
        return self

    def gauge(self):
        """Return the level in litres."""
        return self._level
'''
TASK = "Write a function `fill_twice(amount)` that fills a basin of `tides` twice and returns its level."
BROKEN = "import tides\ndef fill_twice(amount):\n    basin = tides.Basin().fill(amount)\n    return basin.level"
WRONG = "import tides\ndef fill_twice(amount):\n    return tides.Basin().fill(amount).gauge()"
RIGHT = "import tides\ndef fill_twice(amount):\n    return tides.Basin().fill(amount).fill(amount).gauge()"
PROSE = f"{TASK}\n\nExample: filled twice with 2 litres, the level is 4."


def fenced(code, example=""):
    return f"```python\n{code}\n{example}\n```"


def explored(folder, strategy, replies, text, *, check=None, branching="auto"):
    """The model, the summary and the trace of a run with a strategy on the library `tides`."""
    (folder / "tides.py").write_text(TIDES)
    model = ScriptedModel(replies)

    async def choose(*_, **__):
        return model

    layer = {
        "exploration": {"strategy": strategy},
        "endpoint": {"model": "offline"},
        "retrieval": {"snippets": False},
        "sandbox": {"branching": branching},
        "view": {"out": str(folder / "explorations" / "trace.ipynb")},
    }
    order = Order(Task(text, ("tides",), check=check, solution_name="fill_twice"), (layer,), workdir=folder)

    async def main():
        return await run(order, lambda record: None)

    with pytest.MonkeyPatch.context() as patch:  # a replay chooses its own
        patch.setattr(sys.modules[run.__module__], "choose_model", choose)
        summary = anyio.run(main)
    return model, summary, Path(summary["trace"])


def passes_check(trace, command="check"):
    """Whether `check`, or `replay`, finds the same again, and what it reports."""
    done = command_line.explora(command, trace, "--json", folder=trace.parents[2])
    return done.returncode == 0, done.stdout + done.stderr


def outcomes(trace):
    """The status of each execution, by id."""
    section = fold_all(load(trace)).sections["solution"]
    return {attempt.id: attempt.state for attempt in section.candidates}


@pytest.mark.parametrize("branching", ["fork", "rerun"])
def test_example_repair_leaves_a_trace_that_passes(tmp_path, branching):
    example = "# --- example ---\nfill_twice(2)"
    replies = [fenced(code, example) for code in (BROKEN, WRONG, RIGHT)] + ["unchanged"]
    model, summary, trace = explored(tmp_path, "example-repair", replies, PROSE, branching=branching)
    _, after_error, after_result, last = (request.messages[1].content for request in model.requests)
    assert "has no attribute 'level'" in after_error
    assert "tides.Basin has: fill(self, amount), gauge(self)" in after_error, "the object at hand was inspected"
    assert "Output:\n2" in after_result and "Output:\n4" in last
    assert summary["status"] == "unchecked" and summary["solution"] == RIGHT
    expected = {"s1": "ok", "s1e": "error", "s2": "ok", "s2e": "ok", "s3": "ok", "s3e": "ok"}
    assert outcomes(trace) == expected
    if branching == "fork":
        same, report = passes_check(trace, "replay")
        assert same, report
    cells = [cell for cell in nbformat.read(trace, 4).cells if cell.source.startswith("%%explored s3e")]
    assert cells[0].outputs[0].data["text/plain"] == "4"
    same, report = passes_check(trace)
    assert same, report


def test_the_default_explores_when_no_program_convinces(tmp_path):
    wrong = [f"{BROKEN}_{number}" for number in range(4)]
    program = [*map(fenced, wrong), fenced(RIGHT)]
    cell = fenced("import tides\nbasin = tides.Basin().fill(2).fill(2)\nprint(basin.gauge())")
    replies = {"plan": '{"subtasks": ["Fill a basin twice and read its level"]}', "propose": [cell, cell]}

    def reply(request):
        return replies.get(request.step) or program.pop(0)

    check = "assert fill_twice(3) == 6"
    model, summary, trace = explored(tmp_path, "adaptive", reply, TASK, check=check)
    assert [request.step for request in model.requests] == ["solve", *["repair"] * 3, "plan", "propose", "repair"]
    assert summary["status"] == "solved" and summary["solution"] == RIGHT
    assert outcomes(trace) == dict.fromkeys(["s1", "s2", "s3", "s4"], "check failed") | {"s5": "ok"}
    assert "level_3" in model.requests[4].messages[1].content
    for command in ("check", "replay"):
        same, report = passes_check(trace, command)
        assert same, report

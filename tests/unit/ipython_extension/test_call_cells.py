"""Cells that the page writes (`newExploration/callingCellSource.ts`) arrive at the magic as they were entered."""

import ast
import json
from pathlib import Path

import pytest

from exploracoder_jupyter.core.configuration.options import split_call
from exploracoder_jupyter.core.errors import UsageError
from exploracoder_jupyter.ipython_extension.magic_line import parse_magic_line

CASES = Path(__file__).parents[3] / "labextension" / "src" / "newExploration" / "__tests__" / "callingCells.json"


def as_the_magic_gets_it(shell, source):
    """Line and cell, after IPython's own rules for lines."""
    [statement] = ast.parse(shell.transform_cell(source)).body
    _, line, cell = (ast.literal_eval(argument) for argument in statement.value.args)
    return line, cell


@pytest.mark.parametrize("case", json.loads(CASES.read_text("utf-8")), ids=lambda case: case["what"])
def test_a_cell_is_parsed_as_entered(shell, case):
    line, task = split_call(*as_the_magic_gets_it(shell, case["source"]))
    call = parse_magic_line(line)
    assert (list(call.libraries), task.strip()) == (case["libraries"], case["task"])
    assert (call.check or "", call.setup) == (case.get("check", ""), case.get("setup", ""))
    given = {name: value for section in call.layer.values() for name, value in section.items()}
    assert given == {name: case["given"][name] for name in ("model", "effort") if name in case["given"]}


@pytest.mark.parametrize("task", ["the task\nin lines", "don't", "a" + "\nb" * 3000])
def test_unclosed_quotes_are_an_error(task):
    line, rest = split_call('x --check "assert a', task)
    assert rest == task
    with pytest.raises(UsageError, match="Close every quote"):
        parse_magic_line(line)

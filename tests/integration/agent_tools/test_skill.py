"""A skill is written from what ran, and its check names what the library has changed."""

import json
import subprocess
import sys

import pytest

from exploracoder_jupyter.core.configuration.sources import snippets_path
from exploracoder_jupyter.core.types import Snippet
from exploracoder_jupyter.knowledge.sources import SnippetStore
from tests.json_output import json_result
from tests.patience import patience

TASK = {"task": "Compute the median of [1, 5, 2]", "check": "assert result == 2"}


def explora(folder, *arguments):
    command = [sys.executable, "-m", "exploracoder_jupyter.cli", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=patience(200))


@pytest.fixture
def stored():
    """What earlier explorations have stored: code that still runs, and code that does not."""
    rows = [
        ("Mean of values", "import statistics\nstatistics.mean([1, 2, 6])"),
        ("Old call", "import statistics\nstatistics.meen([1])"),
    ]
    snippets = [Snippet("statistics", "", title, code, (), "", "3.11") for title, code in rows]
    SnippetStore(snippets_path()).add(snippets, "values")


def test_only_what_runs_becomes_a_recipe(tmp_path, stored):
    (tmp_path / "tasks.jsonl").write_text(json.dumps(TASK))
    done = explora(tmp_path, "skill", "statistics", "--tasks", "tasks.jsonl", "--json")
    assert done.returncode == 0, done.stderr
    answer = json_result("skill", done.stdout)
    assert {one["title"]: one["ran"] for one in answer["recipes"]} == {
        "Compute the median of [1, 5, 2]": True, "Mean of values": True, "Old call": False
    }  # fmt: skip
    path = tmp_path / ".agents" / "skills" / "statistics" / "SKILL.md"
    text = path.read_text()
    assert "## Mean of values" in text and "assert result == 2" in text and "Old call" not in text

    done = explora(tmp_path, "skill", "statistics", "--check")
    assert done.returncode == 0 and "2 of 2 recipes" in done.stderr

    path.write_text(
        text.replace("statistics.mean(", "statistics.arithmetic_mean(").replace("result == 2", "result == 3")
    )
    done = explora(tmp_path, "skill", "statistics", "--check", "--json")
    assert done.returncode == 1
    why = {one["title"]: one["why"] for one in json_result("skill", done.stdout)["recipes"]}
    assert "has no attribute 'arithmetic_mean'" in why["Mean of values"]
    assert "AssertionError" in why["Compute the median of [1, 5, 2]"]


def test_without_code_that_ran_nothing_is_written(tmp_path):
    done = explora(tmp_path, "skill", "statistics")
    assert done.returncode == 1 and "nothing was written" in done.stderr
    assert [*tmp_path.iterdir()] == []


@pytest.mark.parametrize(
    "arguments, problem",
    [
        (["skill", "../statistics"], "not the name of a library"),
        (["skill", "statistics", "--check"], "cannot be read"),
        (["skill", "statistics", "--tasks", "tasks.jsonl"], "Line 1"),
        (["skill", "statistics", "--check", "--tasks", "x"], "cannot be combined"),
    ],
)
def test_wrong_use_is_one_sentence(tmp_path, arguments, problem):
    (tmp_path / "tasks.jsonl").write_text('{"task": "no check"}')
    done = explora(tmp_path, *arguments)
    assert done.returncode == 2 and problem in done.stderr and "Traceback" not in done.stderr

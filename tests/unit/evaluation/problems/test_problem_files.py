"""Problem files: what is loaded, and that every fault is reported with its line before anything runs."""

import gzip
import json
import runpy
from dataclasses import replace
from pathlib import Path

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from exploracoder_jupyter.core.errors import UsageError
from exploracoder_jupyter.core.types import RepositoryTask
from exploracoder_jupyter.evaluation.problem_files import load_problems
from exploracoder_jupyter.evaluation.problems import Problem, RepositoryRow

ROW = {"id": "a", "task": "Add two numbers.", "libraries": ["math"], "tests": ["assert add(1, 2) == 3"]}
FIELDS = st.sampled_from([*ROW, "prompt", "test", "task_id", "canonical_solution", "code_context", "metadata"])
VALUES = st.recursive(
    st.none() | st.integers() | st.text(), lambda inner: st.lists(inner) | st.dictionaries(FIELDS, inner)
)


def _write(folder, *rows, name="own.jsonl"):
    path = folder / name
    path.write_text("\n".join(row if isinstance(row, str) else json.dumps(row) for row in rows))
    return path


def _load(path):
    return anyio.run(load_problems, path)


def _message(path):
    with pytest.raises(UsageError) as caught:
        _load(path)
    return str(caught.value)


def test_a_problem_has_what_its_line_says(tmp_path):
    (tmp_path / "guide.md").write_text("# Guide")
    more = {"setup": "n = 1", "docs": "guide.md", "name": "add", "solution": "add = sum", "gold_apis": [["a", "b"]]}
    more |= {"live": "n", "check": "assert add(n, 1) == 2"}
    (problem,) = _load(_write(tmp_path, "", ROW | more)).problems
    expected = Problem("a", ROW["task"], ("math",), tuple(ROW["tests"]), "n = 1", "add", solution="add = sum")
    docs = (str(tmp_path.resolve() / "guide.md"),)
    expected = replace(expected, docs=docs, gold_apis=(("a", "b"),), problem_set="own")
    assert problem == replace(expected, live=("n",), check="assert add(n, 1) == 2")


def test_a_file_may_bring_a_private_library(tmp_path):
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "tides_of_problems.py").write_text("")
    path = tmp_path / "own.jsonl.gz"
    path.write_bytes(gzip.compress(json.dumps({**ROW, "libraries": "tides_of_problems", "tests": "assert 1"}).encode()))
    (problem,) = _load(path).problems
    assert (problem.tests, problem.problem_set) == (("assert 1",), "own")


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"id": "first"}, "line 1 too"),
        ({"tests": []}, "tests"),
        ({"tests": ["assert ("]}, "tests"),
        ({"task": ""}, "task"),
        ({"id": 7}, "id"),
        ({"libraries": []}, "libraries"),
        ({"libraries": ["no_such_library_anywhere"]}, "no_such_library_anywhere"),
        ({"docs": ["nowhere.md"]}, "nowhere.md"),
        ({"name": "two words"}, "name"),
        ({"solution": "def"}, "solution"),
        ({"live": ["two words"]}, "live"),
        ({"check": "assert ("}, "check"),
        ({"test": "assert True"}, "test"),
    ],
)
def test_a_fault_is_named_with_its_line(tmp_path, changes, named):
    message = _message(_write(tmp_path, {**ROW, "id": "first"}, {**ROW, **changes}))
    assert "line 2:" in message and named in message and "line 1:" not in message
    missing = {name: value for name, value in ROW.items() if name not in changes}
    if len(missing) < len(ROW):
        assert f"The field '{next(iter(changes))}' is missing" in _message(_write(tmp_path, missing))


def test_ten_faults_are_listed_and_other_files_refused(tmp_path):
    message = _message(_write(tmp_path, *["{"] * 9, "[]", *["{"] * 5))
    assert [f"line {line}:" in message for line in (1, 9, 10, 11)] == [True, True, True, False]
    assert "15" in message and "5 more" in message
    for path in (_write(tmp_path, "", "  "), tmp_path, tmp_path / "none.jsonl"):
        assert str(path) in _message(path)
    (tmp_path / "binary.jsonl").write_bytes(b"\xff\xfe\x00")
    assert "UTF-8" in _message(tmp_path / "binary.jsonl")


@given(st.text() | VALUES.map(json.dumps))
def test_any_line_is_loaded_or_a_usage_error(tmp_path_factory, line):
    path = tmp_path_factory.getbasetemp() / "any.jsonl"
    path.write_bytes(line.encode("utf-8", "replace"))
    try:
        assert _load(path).problems
    except UsageError as error:
        assert str(error)


def test_a_repository_problem_names_an_existing_definition(tmp_path):
    pytest.importorskip("tree_sitter")
    (tmp_path / "shop").mkdir()
    (tmp_path / "shop" / "cart.py").write_text("class Cart: ...\n")
    row = {"id": "cart", "task": "Holds items.", "repository": "shop", "target": "cart.py::Cart", "tests": "tests"}
    (problem,) = _load(_write(tmp_path, row)).problems
    assert problem.folder == tmp_path / "shop" and problem.repository == RepositoryTask("cart.py::Cart", ("tests",))
    message = _message(_write(tmp_path, {**row, "target": "cart.py::Crat"}, {**row, "id": "b", "libraries": ["math"]}))
    assert "line 1: cart.py has no Crat." in message and "line 2: The field 'libraries' is unknown." in message


def test_the_problems_of_published_packages_name_pinned_ones():
    folder = Path(__file__).parents[4] / "benchmarks" / "problems"
    packages = runpy.run_path(str(folder / "published_packages.py"))["PACKAGES"]
    rows = [RepositoryRow.model_validate_json(line) for line in (folder / "published.jsonl").read_text().splitlines()]
    used = {row.repository.removeprefix("published/") for row in rows}
    assert used == {name.replace("==", "-") for name in packages} and len(rows) == len({row.id for row in rows}) == 12
    assert all(len(digest) == 64 for digest in packages.values())

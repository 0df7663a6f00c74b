"""RRR on a real repository with real tests and scripted replies: the run, its trace, its patch, the command line."""

import json
import sys
import venv
from dataclasses import replace
from pathlib import Path

import anyio
import nbformat
import pytest

from exploracoder_jupyter.cli import main
from exploracoder_jupyter.core.configuration.sources import resolve
from exploracoder_jupyter.core.errors import UsageError
from exploracoder_jupyter.core.events import Progress
from exploracoder_jupyter.core.types import Observation, RepositoryTask, Task
from exploracoder_jupyter.evaluation import EvaluationRequest, Unit, aevaluate, run_unit, verify_problem
from exploracoder_jupyter.evaluation.problem_files import load_problems
from exploracoder_jupyter.kernel_agent.repository_test_runner import run_tests
from exploracoder_jupyter.llm.scripted_model import ScriptedModel
from exploracoder_jupyter.repository.index import RepositoryIndex
from exploracoder_jupyter.repository.testing import read_report
from exploracoder_jupyter.repository.tools import RepositoryTools
from exploracoder_jupyter.runs import Order, in_repository, replay, resume_order, run
from exploracoder_jupyter.runs.replay import prepare_replay
from tests.json_output import json_result
from tests.patience import patience
from tests.toy_model import offer_toy, reply
from tests.unit.repository.shop import CART, IMPORTS, contents, without_cart, write_shop

TARGET = "src/shop/cart.py::Cart"
WRONG = CART.replace("self.put(self", "self.insert(self")
OTHER_TEST = "def test_other():\n    assert 1 + 1 == 3\n"


def fenced(code):
    return f"```python\n{IMPORTS}\n\n{code}\n```"


def ordered(folder, text="Holds items of the catalogue.", **settings):
    layer = {"endpoint": {"model": "offline"}, "retrieval": {"snippets": False}, **settings}
    (folder.parent / "notes").mkdir(exist_ok=True)
    return Order(Task(text, ()), (layer,), workdir=folder.parent / "notes")


def executed(order, monkeypatch, replies, listen=lambda record: None):
    """The model and the summary of a run."""
    model = ScriptedModel(replies)

    async def choose(*_, **__):
        return model

    monkeypatch.setattr(sys.modules[run.__module__], "choose_model", choose)
    return model, anyio.run(lambda: run(order, listen))


def written(folder, monkeypatch, replies, task, listen=lambda record: None, **settings):
    """The model and the summary of a run in a repository."""
    return executed(in_repository(ordered(folder, **settings), folder, task), monkeypatch, replies, listen)


@pytest.mark.parametrize("branching", ["auto", "rerun"])
def test_attempts_are_tested_and_the_user_applies_patches(tmp_path, monkeypatch, capsys, branching):
    folder = write_shop(tmp_path / "repository", **{"src/shop/cart.py": None, "tests/test_other.py": OTHER_TEST})
    before = contents(folder)
    replies = [fenced(WRONG), "get_signature: Container.put", "It is put.", fenced(CART)]
    model, summary = written(
        folder, monkeypatch, replies, RepositoryTask(TARGET, ("tests",)), sandbox={"branching": branching}
    )
    assert summary["status"] == "solved" and summary["reason"].startswith("3 tests passed.")
    assert contents(folder) == before  # no cache, no byte code, no trace
    shown = model.requests[1].messages[-1].content
    assert "'Cart' object has no attribute 'insert'" in shown and "tests/test_cart.py::test_size" in shown
    assert "test_other" not in shown
    assert "def put(self, entry: object, count: int = 1) -> None" in model.requests[2].messages[-1].content

    trace = Path(summary["trace"])
    assert trace.parent == tmp_path / "notes" / "explorations"
    cells = nbformat.read(trace, 4).cells
    assert main(["check", str(trace)]) == 2 and "replay" in capsys.readouterr().err
    assert any("```diff" in cell.source and "+class Cart(Container):" in cell.source for cell in cells)
    assert main(["repo", "apply", str(trace)]) == 2 and f"--repo {folder}" in capsys.readouterr().err
    assert contents(folder) == before
    monkeypatch.chdir(folder)
    assert main(["repo", "apply", str(trace)]) == 0
    assert (folder / "src/shop/cart.py").read_text().split() == (IMPORTS + CART).split()
    assert main(["repo", "apply", str(trace)]) == 2 and "has changed" in capsys.readouterr().err
    assert main(["repo", "undo", str(trace), "--json"]) == 0
    assert json_result("repo", capsys.readouterr().out)["files"] == ["src/shop/cart.py"]
    assert contents(folder) == before


CONFTEST = "import pytest\n\nfrom shop import Cart\n\n\n@pytest.fixture\ndef kind():\n    return Cart\n"


@pytest.mark.parametrize("shown", ["conftest.py", "src/shop/__init__.py"])
def test_a_target_that_every_test_needs_is_written(tmp_path, monkeypatch, shown):
    package = '"""A shop."""\n\nfrom shop.cart import Cart\n'
    files = {"src/shop/__init__.py": package, "src/shop/cart.py": '"""Carts."""\n'}
    if shown == "conftest.py":
        files |= {shown: CONFTEST.replace("shop import", "shop.cart import"), "src/shop/__init__.py": '"""A shop."""\n'}
    folder = write_shop(tmp_path / "repository", **files)
    replies = [fenced(WRONG), "get_signature: Container.put", "It is put.", fenced(CART)]
    model, summary = written(folder, monkeypatch, replies, RepositoryTask(TARGET, ("tests",)))
    assert summary["status"] == "solved" and summary["reason"].startswith("3 tests passed.")
    assert "'Cart' object has no attribute 'insert'" in model.requests[1].messages[-1].content


def test_attempts_do_not_see_others_written_files(tmp_path, monkeypatch):
    writing = "from pathlib import Path\n\ndef test_file():\n    with Path('src/shop/made.py').open('x') as file:\n"
    files = {"src/shop/cart.py": None, "tests/test_file.py": f"{writing}        file.write('x = 1')\n"}
    folder = write_shop(tmp_path / "repository", **files)
    before, records = contents(folder), []
    replies, task = [fenced(WRONG), "", "", fenced(CART)], RepositoryTask(TARGET, ("tests",))
    _, summary = written(folder, monkeypatch, replies, task, records.append)
    assert summary["status"] == "solved" and summary["reason"].startswith("4 tests passed.")
    assert contents(folder) == before
    assert not any("APIs" in record.event.what for record in records if isinstance(record.event, Progress))


def test_repository_not_starting_otherwise_is_refused(tmp_path, monkeypatch):
    folder = without_cart(tmp_path / "repository")
    (folder / "conftest.py").write_text("from shop.nothing import Thing\n")
    with pytest.raises(UsageError, match=r"ModuleNotFoundError: No module named 'shop.nothing'"):
        written(folder, monkeypatch, [], RepositoryTask(TARGET, ("tests",)))


def test_a_test_command_replaces_pytest_and_replays(tmp_path, monkeypatch):
    folder = without_cart(tmp_path / "repository")
    program = 'import sys; sys.path.insert(0, "src"); from shop.cart import Cart; assert hasattr(Cart, "total")'
    command = f"{sys.executable} -c '{program}' && touch made"
    before, replies = contents(folder), [fenced(CART.replace("def total", "def sum")), "", "", fenced(CART)]
    _, summary = written(folder, monkeypatch, replies, RepositoryTask(TARGET, command=command))
    assert summary["status"] == "solved" and contents(folder) == before
    monkeypatch.undo()
    asked = prepare_replay(Path(summary["trace"]), tmp_path / "again.ipynb")
    again = anyio.run(lambda: replay(asked, lambda record: None))
    assert again["status"] == "solved" and again["patch"] == summary["patch"]
    assert again["replay"]["same_course"]


def test_a_stopped_run_continues_with_its_replies(tmp_path, monkeypatch):
    folder = without_cart(tmp_path / "repository")
    replies = [fenced(WRONG), "", "", fenced(CART)]
    model, stopped = written(folder, monkeypatch, replies, RepositoryTask(TARGET), budget={"executions": 2})
    assert stopped["status"] == "stopped" and "+class Cart" in stopped["patch"] and len(model.requests) == 1
    order = resume_order(ordered(folder, "", budget={"executions": 9}), Path(stopped["trace"]))
    model, resumed = executed(order, monkeypatch, replies[1:])
    assert resumed["status"] == "solved" and len(model.requests) == 3
    assert Path(resumed["trace"]).parent == Path(stopped["trace"]).parent


EARLY_END = """import os
from unittest import mock
import pytest

@pytest.fixture
def emptied():
    with mock.patch.dict(os.environ, clear=True), mock.patch("builtins.open"):
        yield

def test_fixture(emptied):
    pass

def test_before():
    pass

@pytest.fixture
def ending():
    os._exit(0)

def test_end(ending):
    pass

def test_after():
    pass
"""


def test_tests_that_break_the_report_are_reported(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "test_early.py").write_text(EARLY_END)
    shown = []
    monkeypatch.setattr("IPython.display.display", lambda data, raw: shown.append(data))
    run_tests({"files": {}, "tests": ["test_early.py"], "command": "", "seconds": patience(60), "each": patience(60)})
    observation = Observation("ok", ({"output_type": "display_data", "data": shown[0], "metadata": {}},))
    report = read_report(observation, command="")
    assert report.passed == {f"test_early.py::test_{name}" for name in ("fixture", "before", "after")}
    assert [item.id for item in report.failed] == ["test_early.py::test_end"] and not report.complete
    venv.create(tmp_path / "bare")
    monkeypatch.setattr(sys, "executable", str(tmp_path / "bare" / "bin" / "python"))
    monkeypatch.delenv("PYTHONPATH", raising=False)
    run_tests({"files": {}, "tests": [], "command": "", "seconds": patience(60), "each": patience(60)})
    observation = Observation("ok", ({"output_type": "display_data", "data": shown[1], "metadata": {}},))
    assert read_report(observation, command="").problem.startswith("pytest is not installed")


def test_the_command_line_refuses_in_a_sentence(tmp_path, capsys, monkeypatch):
    folder = without_cart(tmp_path / "repository")
    monkeypatch.chdir(tmp_path)
    task = ["run", "-t", "Holds items.", "--model", "offline", "--repo", "repository"]
    for more, words in (
        ([], "--target"),
        (["--target", "src/shop/cart.py::Cart", "--library", "networkx"], "cannot be used with --repo"),
        (["--target", "nowhere/cart.py::Cart"], "no folder nowhere"),
        (["--target", "src/shop/cart.py::Cart", "--tests", "tests"], "offline model cannot write code"),
    ):
        assert main([*task, *more]) == 2
        assert words in capsys.readouterr().err
    assert main(["run", "-t", "x", "--target", "a.py::A", "--library", "networkx"]) == 2
    assert "--target requires --repo" in capsys.readouterr().err
    assert sorted(contents(folder)) == sorted(contents(without_cart(tmp_path / "other")))


async def test_a_repository_problem_hides_its_reference(tmp_path, httpserver):
    write_shop(tmp_path / "shop")
    row = {"id": "cart", "task": "Holds items.", "repository": "shop", "target": TARGET, "tests": ["tests"]}
    (tmp_path / "set.jsonl").write_text(json.dumps(row))
    [problem] = (await load_problems(tmp_path / "set.jsonl")).problems
    assert await verify_problem(problem) == ""
    prompts = []

    def answer(request):
        prompts.append(json.loads(request.data)["messages"][-1]["content"])
        return reply(request, lambda prompt, at: fenced(CART.replace("round_price(sum", "(sum")))

    layer = {"endpoint": {"model": "toy", "base_url": offer_toy(httpserver, answer)}}
    unit = Unit(problem, "repository-rag", settings=layer)
    result = await run_unit(unit, tmp_path / "results")
    assert (result.fault, result.tests_passed, result.tests, result.failure) == ("", 2, 3, "wrong result")
    assert not result.passed and result.calls == len(prompts)
    assert "round_price(sum" not in prompts[0] and "self.catalogue.find" not in prompts[0]

    absent = replace(problem, repository=replace(problem.repository, tests=("absent",)))
    with pytest.raises(UsageError):  # before a request
        await aevaluate(EvaluationRequest((absent,), ("repository-rag",), resolve(layer), out=tmp_path / "none"))
    assert len(prompts) == result.calls and not (tmp_path / "none").exists()


def test_jedi_reads_members_of_external_classes(tmp_path):
    folder = write_shop(tmp_path / "repository")
    tools = RepositoryTools(RepositoryIndex.open(folder, cache=tmp_path / "cache"), tmp_path / "cache")
    for _ in range(20):  # the first look-ups may be too early
        [info] = tools.get_class_info("UnknownItem", "note traceback")
        if "with_traceback" in info.text:
            break
    assert "(from KeyError)" in info.text
    [signature] = tools.get_signature("UnknownItem", "with_traceback")
    assert signature.text.startswith("def with_traceback(")


BASE = "class Base:\n    def offer(self, price: int) -> str: ...\n"


def test_other_packages_are_read_where_tests_run(tmp_path):
    venv.create(tmp_path / "other")
    [site] = (tmp_path / "other").glob("lib/python*/site-packages")
    (site / "outside.py").write_text(BASE)
    code = "from typing import Generic, TypeVar\n\nfrom outside import Base\n\nT = TypeVar('T')\n\n\n"
    files = {"src/shop/offer.py": f"{code}class Offer(Base, Generic[T]):\n    pass\n"}
    index = RepositoryIndex.open(write_shop(tmp_path / "repository", **files), cache=tmp_path / "cache")
    there = RepositoryTools(index, tmp_path / "cache", patience=patience(60), python=str(tmp_path / "other/bin/python"))
    [info], [external] = there.get_class_info("Offer"), there.get_class_info("Base")
    for found in (info, external):
        assert "def offer(self, price: int) -> str" in found.text
        assert not any(name in found.text for name in ("mro", "copy_with", "could not be read"))
    [info] = RepositoryTools(index, tmp_path / "cache", patience=patience(60)).get_class_info("Offer")
    assert "The members of Base could not be read" in info.text and "Generic" not in info.text.partition("\n")[2]
    [builtin] = there.get_class_info("KeyError")
    assert "def with_traceback(" in builtin.text and there.get_class_info("Nothing") == []
    for class_ in ("Offer", "Base"):
        assert [one.text for one in there.get_method_body(class_, "offer")] == ["def offer(self, price: int) -> str"]
    nowhere = RepositoryTools(index, tmp_path / "cache", python="/nowhere/python")
    assert nowhere.get_class_info("KeyError") == []

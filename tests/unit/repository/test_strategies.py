"""RRR and the methods that it is compared with, on a branch that gives reports of tests without running any."""

import json
from dataclasses import replace

import pytest

from exploracoder_jupyter.core.configuration.sections import Budget
from exploracoder_jupyter.core.errors import MissingRequirement, UsageError
from exploracoder_jupyter.core.types import Observation, RepositoryTask
from exploracoder_jupyter.kernel_agent.repository_test_runner import MIME
from exploracoder_jupyter.llm.scripted_model import ScriptedModel
from exploracoder_jupyter.pipeline import run_task
from exploracoder_jupyter.repository import tools as repository_tools
from exploracoder_jupyter.repository.source_files import Definition
from exploracoder_jupyter.repository.strategies.rrr import basic_prompting, naive_rag, reflexion, repocoder, rrr
from tests.unit.repository.shop import CART, IMPORTS, contents, without_cart
from tests.unit.strategies.replies import fenced, prompts
from tests.unit.world import a_run, happened

TARGET = "src/shop/cart.py::Cart"
RIGHT = f"{IMPORTS}\n\n{CART}"
NO_IMPORTS, NO_TOTAL = CART, RIGHT.replace("def total", "def sum")
TOOLS = "I do not know Container.\nget_imports\nget_class_info: Container"


def row(test, outcome="passed", text="", when="call"):
    return {"id": test, "when": when, "outcome": outcome, "text": text, "captured": "", "expected": False}


IMPORT_ERROR = row("tests/test_cart.py", "failed", "ImportError: cannot import name 'Cart' from 'shop.cart'", "collect")


def passing(*tests):
    """The rows of tests that pass."""
    return [row(test, when=when) for test in tests for when in ("setup", "call", "teardown")]


PASSED = passing("test_total", "test_size")
ONE_FAILED = [
    row("test_total", "failed", "AttributeError: 'Cart' object has no attribute 'total'"),
    *passing("test_size"),
]


class ReportBranch:
    """Gives reports in order; what was written into the files of the branch is kept."""

    def __init__(self, *reports):
        self.reports, self.requests = list(reports), []

    async def fork(self, n):
        return [self]

    async def run(self, code, *, timeout):
        [line] = [line for line in code.splitlines() if line.startswith("_explora[")]
        self.requests.append(json.loads(eval(line.partition(".loads(")[2].removesuffix("))"))))
        report = self.reports.pop(0)
        if isinstance(report, list):
            report = {"rows": report, "status": 1, "output": "", "seconds": 0.1}
        return Observation("ok", ({"output_type": "display_data", "data": {MIME: report}, "metadata": {}},))

    async def close(self):
        pass


@pytest.fixture
def solved(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    folder = without_cart(tmp_path / "repository")

    async def solve(strategy, replies, reports, task=None, budget=None, **settings):
        model, branch = ScriptedModel(replies), ReportBranch(*reports)
        run = a_run(model, "Holds items of the catalogue.", budget=budget, **settings)
        given = replace(run.task, libraries=(), repository=task or RepositoryTask(TARGET, ("tests",)))
        run = replace(run, task=given, root=branch, workdir=folder)
        before = contents(folder)
        result = await run_task(run, strategy)
        assert contents(folder) == before
        return result, prompts(model), run, branch

    return solve


async def test_an_attempt_that_passes_becomes_a_patch(solved):
    result, [prompt], run, branch = await solved(rrr, [fenced(RIGHT)], [[IMPORT_ERROR], PASSED])
    assert result.verdict.outcome == "solved" and "2 tests passed" in result.verdict.reason
    assert "+class Cart(Container):" in result.solution.patch and result.solution.code == RIGHT.strip("\n")
    assert "Counts what is put into it." in prompt and "def test_total" not in prompt
    assert [request["tests"] for request in branch.requests] == [["tests"], ["tests"]]
    assert branch.requests[0]["files"] == {} and "class Cart" in branch.requests[1]["files"]["src/shop/cart.py"]
    assert [event.observation.ran for event in happened(run, "candidate_observed")] == [True]


async def test_what_the_target_is_connected_with_comes_first(solved):
    _, [prompt], *_ = await solved(rrr, [fenced(RIGHT)], [[IMPORT_ERROR], PASSED])
    catalogue, uses = (
        prompt.index("shop.catalogue.Catalogue (src/shop/catalogue.py"),
        prompt.index("How tests use Cart"),
    )
    assert "def find(self, code: str) -> Item" in prompt[catalogue:uses] and "shop.catalogue.Item" in prompt[:uses]
    assert "return Cart(Catalogue([" in prompt[uses:] and "assert cart.size == 3" in prompt[uses:]
    snippets = prompt.index("Counts what is put into it.")
    assert uses < snippets and "def test_" not in prompt


async def test_bases_in_other_files_come_with_their_members(solved, tmp_path):
    files = {"src/shop/base.py": "class Basket:\n    def weigh(self, unit: str) -> float: ...\n"}
    text = "from shop.base import Basket\n\n\nclass Gift(Basket):\n    pass\n"
    for path, content in {**files, "src/shop/gift.py": text}.items():
        (tmp_path / "repository" / path).write_text(content)
    task = RepositoryTask("src/shop/gift.py::Gift", ("tests",))
    _, [prompt], *_ = await solved(rrr, [fenced("class Gift(Basket): ...")], [ONE_FAILED, PASSED], task)
    assert "def weigh(self, unit: str) -> float" in prompt.partition("shop.base.Basket (src/shop/base.py:1)")[2]


async def test_a_long_file_is_shown_as_signatures(solved, tmp_path):
    filler = "".join(f"def helper_{n}(text):\n    return {'x' * 60!r}\n\n\n" for n in range(80))
    base = 'class Base:\n    def limit(self, most: int) -> int:\n        """Cut it."""\n        return 1234567\n'
    path = tmp_path / "repository" / "src" / "shop" / "long.py"
    path.write_text(f"import sys\n\n\n{filler}{base}")
    task = RepositoryTask("src/shop/long.py::Late", ("tests",))
    code = fenced("class Late(Base): ...")
    _, [prompt], *_ = await solved(naive_rag, [code], [PASSED, PASSED], task)
    assert "import sys" in prompt and "def helper_79(text)\n" in prompt
    assert "    def limit(self, most: int) -> int  # Cut it." in prompt


async def test_a_failure_leads_to_tools_reflection_and_retry(solved):
    invalid = [fenced("class Cart(:\n    pass"), "", ""]  # is not tested
    replies = [*invalid, fenced(NO_IMPORTS), TOOLS, "Import it from shop.container.", fenced(RIGHT)]
    error = row("tests/test_cart.py", "failed", "NameError: name 'Container' is not defined", "collect")
    result, shown, run, _ = await solved(rrr, replies, [[IMPORT_ERROR], [error], PASSED])
    assert result.verdict.outcome == "solved" and "not valid Python" in shown[1]
    tools, reflection, improved = shown[-3:]
    assert "name 'Container' is not defined" in tools and "get_class_info" in tools
    looked_up = "from shop.container import Container"
    assert looked_up in reflection and looked_up in improved and looked_up not in tools
    assert "def put(self, entry: object, count: int = 1) -> None" in improved
    assert "Import it from shop.container." in improved
    assert [event.tool for event in happened(run, "looked_up")] == ["get_imports", "get_class_info"]
    _, first, second = (event.candidate for event in happened(run, "candidate_proposed"))
    assert second.repairs == first.id


async def test_latest_attempt_and_first_failure_are_whole(solved):
    methods = "".join(f"    def step_{n}(self):\n        return {'y' * 60!r}\n\n" for n in range(150))
    attempt = f"{IMPORTS}\n\nclass Cart(Container):\n{methods}"
    body = "\n".join(f"    value_{n} = cart.step_{n}()" for n in range(150))
    failure = row("test_total", "failed", f"def test_total(cart):\n{body}\nE   assert 1 == 2")
    others = [row(f"test_{n}", "failed", f"{'z' * 5000}") for n in range(9)]
    replies = [fenced(attempt), TOOLS, "Hm.", fenced("def step_7(self):\n    return 7")]
    _, shown, run, _ = await solved(rrr, replies, [[IMPORT_ERROR], [failure, *others], PASSED])
    for prompt in shown[1:]:
        assert methods.strip() in prompt and body in prompt and "E   assert 1 == 2" in prompt
    assert "only those of its methods" in shown[-1] and "only those of its methods" not in shown[0]
    second = happened(run, "candidate_proposed")[-1].candidate.code
    assert "        return 7\n" in second and "def step_8" in second and second.count("def step_7(") == 1


async def test_slow_reading_leaves_no_member_out(solved, monkeypatch):
    def read(root, base, *, seconds, python):
        return (Definition("method", "narrate", base.name, "", 0, 0, "def narrate()"),) if seconds > 1 else None

    monkeypatch.setattr(repository_tools, "external_members", read)
    replies = [fenced(NO_TOTAL), "Hm.\nget_class_info: UnknownItem", "Hm.", fenced(RIGHT)]
    _, shown, *_ = await solved(rrr, replies, [[IMPORT_ERROR], ONE_FAILED, PASSED])
    assert "def narrate()" in shown[-1].partition("What you looked up")[2]


async def test_attempts_are_limited_and_the_best_remains(solved):
    replies = [fenced(RIGHT), "", "", fenced(NO_TOTAL), TOOLS, "Hm.", fenced(NO_IMPORTS)]
    reports = [[IMPORT_ERROR], ONE_FAILED, [row("test_total", "failed"), row("test_size", "failed")], [IMPORT_ERROR]]
    result, shown, _, branch = await solved(rrr, replies, reports, oracle_calls=3)
    assert result.verdict.outcome == "unsolved" and "1 of 2 tests failed" in result.verdict.reason
    assert result.solution.candidate == "s1" and len(branch.requests) == 1 + 3 and branch.reports == []
    assert "Passed before, and fail now: test_size" in shown[4]


async def test_a_reply_without_the_target_is_repeated_once(solved):
    result, shown, _, _ = await solved(rrr, ["No.", fenced(RIGHT)], [[IMPORT_ERROR], PASSED])
    assert result.verdict.outcome == "solved" and len(shown) == 2
    result, _, _, branch = await solved(rrr, ["No.", "No."], [[IMPORT_ERROR]])
    assert result.verdict.outcome == "unsolved" and result.solution is None and len(branch.requests) == 1


@pytest.mark.parametrize(
    "other",
    [
        row("test_other", "failed", "assert 1 == 2"),
        row("tests/test_queue.py", "failed", "ModuleNotFoundError: No module named 'redis'", "collect"),
    ],
)
async def test_failures_unrelated_to_the_target_do_not_count(solved, other):
    skipped = [row("test_a", "skipped", when="setup"), row("test_a", when="teardown")]
    expected = {**row("test_b", "failed"), "expected": True}
    failing = [row("test_b", when="setup"), expected, row("test_b", when="teardown")]
    reports = [[IMPORT_ERROR, other], [*PASSED, *skipped, *failing, other]]
    result, _, run, _ = await solved(rrr, [fenced(RIGHT)], reports)
    assert result.verdict.outcome == "solved" and "2 tests passed" in result.verdict.reason
    assert any(other["id"] in notice.text for notice in happened(run, "notice"))


def _ended(status, output, rows=()):
    return {"rows": list(rows), "status": status, "output": output, "seconds": 0.1}


@pytest.mark.parametrize(
    ("report", "error", "word"),
    [
        (_ended(5, "no tests ran"), UsageError, "no tests"),
        (_ended(4, "ERROR: file or directory not found: nowhere\n"), UsageError, "not found: nowhere"),
        (_ended(1, "/usr/bin/python: No module named pytest"), MissingRequirement, "pytest"),
        (_ended(None, ""), UsageError, "time limit"),
        (_ended(4, "ImportError while loading conftest\nE   KeyError: 'TOKEN'\n"), UsageError, "KeyError: 'TOKEN'"),
        (_ended(3, "INTERNALERROR> RuntimeError: no disk\n"), UsageError, "no disk"),
        (_ended(0, "", [row("test_a", "skipped", "no network", "setup")]), UsageError, "no network"),
        ([row("x", "failed", "ModuleNotFoundError: No module named 'redis'", "collect")], MissingRequirement, "redis"),
        ([row("test_other", "failed", "assert 1 == 2")], UsageError, "test_other"),
    ],
)
async def test_undecided_tests_end_the_run_before_requests(solved, report, error, word):
    with pytest.raises(error, match=word):
        await solved(rrr, [], [report])


CONFTEST = (
    "ImportError while loading conftest '/r/conftest.py'.\nE   ImportError: cannot import name 'Cart' from 'shop'\n"
)


@pytest.mark.parametrize(
    "before",
    [
        _ended(4, CONFTEST),
        _ended(3, "INTERNALERROR> ImportError: cannot import name 'Cart' from 'shop.cart'\n"),
        _ended(4, "ERROR: found no collectors for /r/tests/test_cart.py::test_total\n", [IMPORT_ERROR]),
        _ended(5, "no tests ran", [row("tests/test_cart.py", "skipped", "could not import 'shop.cart'", "collect")]),
    ],
)
async def test_failing_for_want_of_the_target_is_expected(solved, before):
    result, *_ = await solved(rrr, [fenced(RIGHT)], [before, PASSED])
    assert result.verdict.outcome == "solved"


async def test_tests_that_lack_something_are_not_counted(solved):
    lacking = [
        row("tests/test_web.py", "failed", "E   ModuleNotFoundError: No module named 'redis'", "collect"),
        row("tests/test_cart.py::test_mail", "failed", "ConnectionRefusedError: [Errno 111] Connection refused"),
        row("tests/test_cart.py::test_mock", "failed", "fixture 'mocker' not found", "setup"),
    ]
    own = row("tests/test_cart.py::test_own", "failed", "src/shop/cart.py:3: No module named 'redis'")
    replies = [fenced(RIGHT), "", "", fenced(RIGHT)]
    reports = [_ended(4, CONFTEST), [*PASSED, *lacking, own], [*PASSED, *lacking]]
    result, _, run, _ = await solved(rrr, replies, reports)
    assert result.verdict.outcome == "solved" and "2 tests passed. 3 that" in result.verdict.reason
    [notice] = (event.text for event in happened(run, "notice") if "not counted" in event.text)
    assert all(item["id"] in notice for item in lacking) and own["id"] not in notice


async def test_target_tests_lacking_a_module_end_the_run(solved):
    lacking = row("tests/test_cart.py", "failed", "E   ModuleNotFoundError: No module named 'redis'", "collect")
    for reports in ([[lacking, *PASSED]], [_ended(4, CONFTEST), [lacking, *PASSED]]):
        with pytest.raises(MissingRequirement, match="redis"):
            await solved(rrr, [fenced(RIGHT)], reports)


async def test_tests_passing_before_are_said_to_show_little(solved, tmp_path):
    task = RepositoryTask("src/shop/container.py::Container", ("tests",))
    code = "class Container:\n    pass"
    _, _, run, _ = await solved(rrr, [fenced(code)], [PASSED, PASSED], task)
    assert any("as Container is now" in event.text for event in happened(run, "notice"))


async def test_time_for_all_follows_from_time_before(solved):
    replies = [fenced(NO_TOTAL), "", "", fenced(NO_TOTAL + "\n"), "", "", fenced(RIGHT)]
    slow = {"rows": ONE_FAILED, "status": 1, "output": "", "seconds": 90.0}
    _, _, _, branch = await solved(rrr, replies, [[IMPORT_ERROR], slow, slow, PASSED], timeout=60.0)
    assert [request["each"] for request in branch.requests] == [60.0] * 4
    assert [request["seconds"] for request in branch.requests] == [600.0, 600.0, 270.0, 270.0]


async def test_a_spent_budget_keeps_the_best_attempt(solved):
    replies = [fenced(RIGHT), TOOLS, "Hm.", fenced(RIGHT)]
    result, _, _, _ = await solved(rrr, replies, [[IMPORT_ERROR], ONE_FAILED], budget=Budget(executions=2))
    assert result.verdict.outcome == "stopped" and result.verdict.stopped_by == "budget"
    assert "+class Cart(Container):" in result.solution.patch


@pytest.mark.parametrize(
    ("status", "rows"),
    [
        (0, [*passing("test_total"), row("test_size", when="setup")]),  # os._exit(0) in a test
        (0, [*passing("test_total"), row("test_size", when="setup"), row("test_size")]),  # while it was torn down
        (-11, passing("test_total")),
    ],
)
async def test_an_attempt_that_ends_tests_early_fails(solved, status, rows):
    report = _ended(status, "", rows)
    result, _, _, _ = await solved(rrr, [fenced(RIGHT)], [[IMPORT_ERROR], report], oracle_calls=1)
    assert result.verdict.outcome == "unsolved"


async def test_java_is_written_and_tested_by_a_command(solved, tmp_path):
    (tmp_path / "repository" / "Box.java").write_text(
        "package shop;\n\nclass Item {\n    int price() { return 1; }\n}\n"
    )
    task = RepositoryTask("Box.java::Box", command="javac Box.java")
    replies = [
        "```java\nclass Box { int total() { return new Item().cost(); } }\n```",
        "get_class_info: Item",
        "It is price().",
        "```java\nimport java.util.List;\n\nclass Box { int total() { return new Item().price(); } }\n```",
    ]
    reports = [_ended(1, "no Box"), _ended(1, "cannot find symbol: method cost()"), _ended(0, "")]
    result, shown, _, branch = await solved(rrr, replies, reports, task=task)
    assert result.verdict.outcome == "solved" and "cannot find symbol" in shown[1] and "int price()" in shown[2]
    written = branch.requests[-1]["files"]["Box.java"]
    assert written.startswith("package shop;\nimport java.util.List;\n") and written.count("class Box") == 1


async def test_basic_prompting_and_rag_are_tested_once(solved):
    for strategy, retrieves in ((basic_prompting, False), (naive_rag, True)):
        result, shown, run, _ = await solved(strategy, [fenced(RIGHT)], [[IMPORT_ERROR], ONE_FAILED])
        assert result.verdict.outcome == "unsolved" and len(shown) == 1
        assert ("Counts what is put into it." in shown[0]) == retrieves
        assert len(happened(run, "knowledge_searched")) == retrieves


async def test_repocoder_retrieves_with_what_it_has_written(solved):
    result, shown, run, _ = await solved(repocoder, [fenced(NO_IMPORTS), fenced(RIGHT)], [[IMPORT_ERROR], PASSED])
    assert result.verdict.outcome == "solved" and len(shown) == 2
    first, second = happened(run, "knowledge_searched")
    assert first.query.startswith("Holds") and "round_price" in second.query


async def test_reflexion_has_feedback_without_repository_code(solved):
    replies = [fenced(NO_IMPORTS), "Import what is missing.", fenced(RIGHT)]
    result, shown, run, _ = await solved(reflexion, replies, [[IMPORT_ERROR], ONE_FAILED, PASSED])
    assert result.verdict.outcome == "solved" and "Import what is missing." in shown[2]
    assert "has no attribute 'total'" in shown[1] and not any("Counts what is put into it." in text for text in shown)
    assert happened(run, "looked_up") == []

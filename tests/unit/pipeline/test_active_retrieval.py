"""Active retrieval: the query after a failure, the use of its results, when it ends, and what it never reveals."""

import json
from dataclasses import replace

import pytest

from exploracoder_jupyter.core.configuration.sections import Budget, Retrieval
from exploracoder_jupyter.core.errors import EndpointError
from exploracoder_jupyter.core.types import Candidate, ErrorInfo, Experience, Observation, Parameter, Passage, Subtask
from exploracoder_jupyter.pipeline import run_task
from exploracoder_jupyter.pipeline.code_analysis import find_called_names
from exploracoder_jupyter.pipeline.retrieval.queries import error_query, web_query
from tests.unit.pipeline.test_task_run import answers, fenced, ran
from tests.unit.world import FewPassages, a_run, api, happened

APIS = (
    *(api(f"math.root{i}", f"the root of a number variant {i}") for i in range(6)),
    *(api(f"math.other{i}", "unrelated thing") for i in range(9)),
    api("math.isqrt", "integer part obtained by truncation"),
)
PAGE = Passage("documentation", "Truncation", "integer truncation by isqrt", "docs/page.md", licence="BSD")
ONLINE = Passage("web", "Answer", "AttributeError math: use isqrt", "https://answers.example/1", licence="CC BY-SA")


def paths(apis):
    return [item.path for item in apis]


def failing_at_first(debugged, **steps):
    """A model whose first snippets call missing APIs; it repairs the root once the prompt names `math.isqrt`."""

    def debug(request):
        debugged.append(request)
        named = "math.isqrt" in request.messages[1].content.split("APIs that may help:")[1]
        return fenced("import math\nprint(math.isqrt(16))" if named else "import math\nprint(math.introot(16))")

    return answers(
        plan=("the root of a number",),
        recommend=json.dumps({"apis": [f"math.root{i}" for i in range(6)]}),
        propose=[fenced("import math\nprint(math.introot(16))")],
        **{"debug": debug, "explain": "It wants the integer part obtained by truncation.", **steps},
    )


def searches(run, *, anew=True):
    return [event for event in happened(run, "knowledge_searched") if bool(event.round) is anew]


async def test_a_failing_subtask_is_done_after_another_search():
    debugged = []
    run, _ = await ran(failing_at_first(debugged), apis=APIS, retrieved=6)
    first, whole = searches(run, anew=False)
    assert (whole.subject, whole.query) == ("solution", "the root of a number")
    assert "math.isqrt" in whole.apis
    [again] = searches(run)
    assert "math.isqrt" not in first.apis and first.subject == "1" and first.formulation == "subtask"
    assert again.apis[0] == "math.isqrt" and again.subject == "1.1" and again.formulation == "explained"
    explained, error = again.query.splitlines()
    assert explained == "It wants the integer part obtained by truncation."
    assert error == "AttributeError module math has no attribute introot"
    assert [event.status for event in happened(run, "subtask_finished")] == ["done"]
    assert len(debugged) == 1


async def test_without_rounds_it_fails_without_another_search():
    run = a_run(failing_at_first([]), apis=APIS, retrieved=6)
    await run_task(replace(run, retrieval=Retrieval(rounds=0)))
    assert searches(run) == []
    assert [event.status for event in happened(run, "subtask_finished")] == ["failed"]


@pytest.mark.parametrize(
    ("formulation", "query"),
    [
        ("task", "Compute the root of 16"),
        ("subtask", "the root of a number"),
        ("error", "AttributeError module math has no attribute intro"),
        ("code", "import math\nprint(math.intro"),
        ("explained", "It wants the integer part"),
    ],
)
async def test_the_query_follows_the_settings_and_is_recorded(formulation, query):
    run = a_run(failing_at_first([]), apis=APIS, retrieved=6)
    await run_task(replace(run, retrieval=Retrieval(formulation=formulation)))
    first = searches(run)[0]
    assert first.formulation == formulation
    assert first.query.startswith(query)
    assert ("explain" in run.meter.by_step) is (formulation == "explained")


async def test_an_unexplained_error_is_the_query():
    def refused(request):
        raise EndpointError("Nothing is recorded.")

    for steps, name, budget in (
        ({"explain": ""}, "scripted", None),
        ({"explain": refused}, "scripted", None),
        ({}, "offline", None),
        ({}, "scripted", Budget(tokens=7000)),
    ):
        run = a_run(failing_at_first([], name=name, **steps), apis=APIS, retrieved=6, budget=budget)
        await run_task(run)
        assert {event.formulation for event in searches(run)} == {"error"}


async def test_the_rounds_end_when_two_agree():
    def debug(request):
        return fenced(f"import math\nprint(math.intro{request.subject.count('r')}t(16))")

    run = a_run(failing_at_first([], debug=debug), apis=APIS, retrieved=6, debug_rounds=4)
    await run_task(replace(run, retrieval=Retrieval(rounds=4, formulation="explained")))
    rounds = [(event.round, event.agreed) for event in searches(run) if event.subject != "s1"]
    assert rounds == [(1, False), (2, True)]
    assert run.meter.by_step["explain"].calls == 2


async def test_a_silent_candidate_is_rewritten_once_after_search():
    def debug(request):
        assert "it ran, and showed nothing" in request.messages[1].content
        return fenced("x = 4\nprint(x)")

    run, _ = await ran(answers(propose=[fenced("x = 4"), fenced("import math")], debug=debug), apis=APIS)
    assert len(searches(run)) == 1
    assert happened(run, "candidate_selected")[0].selection.candidate == "1.1r1"
    assert run.meter.by_step["debug"].calls == 1


async def test_what_ran_survives_a_failing_rewrite():
    run, _ = await ran(answers(propose=[fenced("x = 4")], debug=fenced("1 / 0")), apis=APIS)
    assert happened(run, "candidate_selected")[0].selection.candidate == "1.1"


async def test_a_failed_solution_is_searched_before_repair():
    repair_inputs = []

    def repair(request):
        repair_inputs.append(request.inputs)
        return fenced("import math\nroot = math.isqrt(16)")

    model = answers(solve="import math\nroot = math.introot(16)", repair=repair, explain="truncation integer part")
    run, ending = await ran(model, apis=APIS, check="assert root == 4")
    assert ending.verdict.outcome == "solved"
    [again] = searches(run)
    assert (again.subject, again.round, again.apis[0]) == ("s1", 1, "math.isqrt")
    assert repair_inputs[0].apis[0].path == "math.isqrt"


async def test_the_context_is_as_small_as_set():
    long = tuple(api(f"math.f{i}", "the root of a number " * 200) for i in range(20))
    sizes = []
    for tokens in (500, 4000):
        model = answers(plan=("the root",), recommend=json.dumps({"apis": [item.path for item in long]}))
        await run_task(replace(a_run(model, apis=long), retrieval=Retrieval(context_tokens=tokens)))
        [prompt] = [r.messages[1].content for r in model.requests if r.step == "propose"]
        sizes.append(len(prompt))
    assert 3500 * 3 < sizes[1] - sizes[0] < 3500 * 4


async def test_the_web_sees_only_marked_plans_and_errors():
    marked = json.dumps({"subtasks": [{"subtask": "the root of a number", "search": "python integer root"}]})
    model = failing_at_first([])
    run = a_run(answers(plan=lambda request: marked), apis=APIS, retrieved=6)
    sources = FewPassages(PAGE, ONLINE)
    await run_task(replace(run, sources=sources))
    assert [query for query, kinds in sources.asked if "web" in kinds] == ["python integer root"]
    run, sources = a_run(model, apis=APIS, retrieved=6), FewPassages(PAGE, ONLINE)
    await run_task(replace(run, sources=sources))
    [query] = [query for query, kinds in sources.asked if "web" in kinds]
    assert query == "math AttributeError"
    found = [event for event in searches(run) if event.passages == (ONLINE,)]
    assert [(event.formulation, event.query) for event in found] == [("error", query)]


def failed(code, name, message, apis=()):
    error = ErrorInfo(name, message, f"{name}: {message}")
    return Experience(Subtask("1", "t"), Candidate("1.1", "1", code), Observation("error", error=error), apis)


@pytest.mark.parametrize(
    ("code", "name", "message"),
    [
        ("df.loc[key]", "KeyError", "'Miller 4711'"),
        ("float(row)", "ValueError", "could not convert string to float: 'Miller 4711'"),
        ("getattr(cfg, key)", "AttributeError", "'Config' object has no attribute 'Miller'"),
        ("f(**row)", "TypeError", "f() got an unexpected keyword argument 'Miller'"),
        ("open(path)", "FileNotFoundError", "[Errno 2] No such file or directory: '/home/Miller/4711.csv'"),
        ("check(x)", "AssertionError", "expected Miller, got 4711"),
    ],
)
@pytest.mark.parametrize("sharing", ["values", "schema", "none"])
def test_no_value_is_in_a_web_query(code, name, message, sharing):
    run = replace(a_run(answers()), sharing=sharing)
    query = web_query(run, failed(code, name, message, ("math.sqrt",)))
    assert "Miller" not in query and "4711" not in query
    assert query.startswith(f"math {name}")
    if sharing != "values":
        assert "Miller" not in error_query(run, failed(code, name, message))


@pytest.mark.parametrize(
    ("name", "message", "query"),
    [
        ("AttributeError", "'Frame' object has no attribute 'acme_revenue'", "math AttributeError Frame math.sqrt"),
        ("AttributeError", "module 'math' has no attribute 'isqrt'", "math AttributeError isqrt math.sqrt"),
        ("TypeError", "income_of() got an unexpected keyword argument 'x'", "math TypeError x math.sqrt"),
        ("NameError", "name 'miller' is not defined", "math NameError math.sqrt"),
    ],
)
def test_only_api_names_of_errors_reach_the_web(name, message, query):
    apis = (*APIS, api("math.Frame"), replace(api("math.at"), parameters=(Parameter("x"),)))
    code = "row.acme_revenue, income_of(x=1), miller, math.isqrt"
    run = a_run(answers(), "Compute the revenue of miller", apis=apis)
    assert web_query(run, failed(code, name, message, ("math.sqrt",))) == query


def test_without_sharing_only_kinds_and_calls_are_searched():
    run = replace(a_run(answers()), sharing="none")
    item = failed("import math\nmath.introot(16)", "AttributeError", "module 'math' has no attribute 'introot'")
    assert error_query(run, item) == "AttributeError math.introot"
    assert web_query(run, item) == "math AttributeError"


@pytest.mark.parametrize(
    ("code", "name", "message", "query"),
    [
        ("lib.show(df)", "NameError", "name 'df' is not defined", "show"),
        (
            "nx.pagerank(G, alpha=2)",
            "ValueError",
            "<Graph at 0x7f00deadbeef> with 34 nodes: 'Miller' [1, 2]",
            "ValueError <Graph at > with nodes: pagerank",
        ),
    ],
)
def test_an_error_is_searched_without_values(code, name, message, query):
    assert error_query(a_run(answers()), failed(code, name, message)) == query


@pytest.mark.parametrize(
    ("code", "names"),
    [
        ("import networkx as nx\nG = nx.path_graph(3)\nG.nodes()", ("networkx.path_graph", "nodes")),
        ("from lib.sub import f as g\ng(print(1))", ("lib.sub.f",)),
        ("half(x)\nnot python (", ("half",)),
    ],
)
def test_names_that_code_calls(code, names):
    assert find_called_names(code) == names


async def test_files_of_the_user_need_shared_values():
    file = Passage("workspace", "notes", "the root of a number is 4711", "notes.md")
    for sharing in ("values", "schema", "none"):
        sources, model = FewPassages(PAGE, file), answers(plan=("the root",))
        await run_task(replace(a_run(model), sources=sources, sharing=sharing))
        sent = any("4711" in message.content for request in model.requests for message in request.messages)
        assert sent is (sharing == "values")
        assert any("workspace" in kinds for _, kinds in sources.asked) is (sharing == "values")


async def test_apis_that_kept_code_calls_are_recommended_too():
    kept = Passage("snippet", "truncate", "math.isqrt(16)", "snippet 1", ("math.isqrt", "math.gone"), code=True)
    run = a_run(answers(plan=("the root",)), apis=APIS, retrieved=3)
    await run_task(replace(run, sources=FewPassages(kept)))
    found = next(event for event in searches(run, anew=False) if event.subject == "1")
    assert found.apis == ("math.root0", "math.root1", "math.root2", "math.isqrt")

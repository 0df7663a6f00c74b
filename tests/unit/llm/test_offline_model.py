"""The offline model through its port: every step answered in the form that the pipeline reads."""

import ast
from dataclasses import replace

import pytest

from exploracoder_jupyter.core.types import (
    ApiDoc,
    Candidate,
    Change,
    ErrorInfo,
    Experience,
    Introduction,
    Observation,
    Sampling,
    Subtask,
    Task,
)
from exploracoder_jupyter.llm.offline import OfflineModel
from exploracoder_jupyter.pipeline.ports import ModelRequest
from exploracoder_jupyter.pipeline.prompting.prompt_inputs import (
    IntroduceInputs,
    PlanInputs,
    PlannersInputs,
    ProposeInputs,
    RecommendInputs,
    RepairInputs,
    SolveInputs,
)
from exploracoder_jupyter.pipeline.prompting.replies import (
    PlannersReply,
    PlanReply,
    RecommendReply,
    parse_code,
    parse_json,
)
from exploracoder_jupyter.pipeline.task_run import run_task
from tests.unit.world import FewApis, a_run

STATISTICS = tuple(
    ApiDoc(f"statistics.{name}", "function", signature, doc, "statistics", "3")
    for name, signature, doc in (
        ("median", "(data)", "Return the median (middle value) of numeric data.\n\n>>> median([1, 3, 5])\n3\n"),
        ("mean", "(data)", "Return the sample arithmetic mean of data.\n\n>>> mean([1, 2, 3, 4, 4])\n2.8\n"),
        ("mode", "(data)", "Return the most common data point.\n\n>>> mode([1, 1, 2])\n1\n"),
    )
)
TASK = Task("Compute the median of [7, 1, 4] and store it in `m`", ("statistics",), check="assert m == 4")


async def ask(step, inputs, *, n=1, model=None):
    request = ModelRequest(step, inputs, (), Sampling(n=n))
    model = model or OfflineModel(FewApis(STATISTICS))
    return [reply async for reply in model.complete(request)]


def tried(code, *, error=None, unmet=""):
    observation = Observation("error" if error else "ok", error=error, unmet=unmet)
    return Experience(Subtask("solution", "all"), Candidate("s1", "solution", code), observation)


async def test_the_introduction_is_an_extract_without_planners():
    readme = "# Lib\n\nA library that does many things with numbers and words.\n\n```\ncode\n```\n"
    [reply] = await ask("introduce", IntroduceInputs(("lib",), readme))
    assert reply.text == "A library that does many things with numbers and words."
    example = "# Count words\nimport lib\nc = lib.count('a b')\nlib.show(c)\n"
    [reply] = await ask("planners", PlannersInputs(("lib",), (example,), 2))
    assert not parse_json(reply.text, PlannersReply).planners


async def test_plan_and_recommendation_are_json():
    [reply] = await ask("plan", PlanInputs(TASK, Introduction(""), 8))
    assert parse_json(reply.text, PlanReply).subtasks
    inputs = RecommendInputs(TASK, Subtask("1", "Compute the median"), (), STATISTICS[::-1], (), False)
    [reply] = await ask("recommend", inputs)
    assert parse_json(reply.text, RecommendReply).apis[0] == "statistics.median"
    assert len(parse_json(reply.text, RecommendReply).apis) == 3


async def test_candidates_run_and_show_what_they_learn(capsys):
    inputs = ProposeInputs(TASK, Subtask("1", TASK.text), Introduction(""), STATISTICS, ())
    replies = await ask("propose", inputs, n=5)
    assert 1 <= len(replies) <= 5
    codes = [parse_code(reply.text) for reply in replies]
    assert len(set(codes)) == len(codes)
    namespace = {}
    exec(codes[0], namespace)
    assert namespace["m"] == 4
    assert capsys.readouterr().out.startswith("int 4")
    assert all(len(line) < 80 for code in codes for line in code.splitlines())


@pytest.mark.parametrize("hint", ["use median_low", "try `mode`", "it is statistics.mean"])
async def test_what_a_hint_names_goes_first(hint):
    low = ApiDoc("statistics.median_low", "function", "(data)", "Low middle value.", "statistics", "3")
    apis, name = (*STATISTICS, low), next(word for word in ("median_low", "mode", "mean") if word in hint)
    subtask = Subtask("1", TASK.text)
    model = OfflineModel(FewApis(apis))
    [reply] = await ask("recommend", RecommendInputs(TASK, subtask, (), apis, (), False, hint), model=model)
    assert parse_json(reply.text, RecommendReply).apis[0] == f"statistics.{name}"
    inputs = ProposeInputs(TASK, subtask, Introduction(""), apis, (), hint)
    first, *_ = await ask("propose", inputs, n=5, model=model)
    assert f"m = {name}([7, 1, 4])" in parse_code(first.text)


GROUPBY = ApiDoc(
    "frames.Frame.groupby",
    "method",
    "(by)",
    "Group rows by a column.\n\n>>> df = Frame({'A': [1], 'B': [2]})\n>>> df.groupby('A')['B'].mean()\n2\n",
    "frames",
    "1",
)


@pytest.mark.parametrize(("uses", "found"), [(("df",), True), ((), False)])
async def test_words_of_the_task_may_be_columns(uses, found):
    task = Task("Group df by city and compute the mean of temp; store it in `m`", ("frames",), uses=uses)
    model = OfflineModel(FewApis((GROUPBY,)))
    [plan] = await ask("plan", PlanInputs(task, Introduction(""), 8), model=model)
    [title] = parse_json(plan.text, PlanReply).subtasks
    inputs = ProposeInputs(task, Subtask("1", title), Introduction(""), (GROUPBY,), ())
    codes = [parse_code(reply.text) for reply in await ask("propose", inputs, n=5, model=model)]
    assert ("m = df.groupby('city')['temp'].mean()" in codes[0]) is found


async def test_nothing_is_guessed_without_matching_documentation():
    task = Task("Which town has the highest rain in df?", ("statistics",), uses=("df",))
    apis = (replace(STATISTICS[2], description="Count.\n\n>>> data = ['x', 'y']\n>>> mode(data)\n'x'\n>>> data\n"),)
    model = OfflineModel(FewApis(apis))
    inputs = ProposeInputs(task, Subtask("1", task.text), Introduction(""), apis, ())
    for step, given in (("propose", inputs), ("solve", SolveInputs(task, apis, ()))):
        [reply] = await ask(step, given, model=model)
        assert reply.problem == "empty"


async def test_an_ordinary_word_of_a_hint_names_nothing():
    inputs = ProposeInputs(TASK, Subtask("1", TASK.text), Introduction(""), STATISTICS, (), "I mean the middle one")
    first, *_ = await ask("propose", inputs, n=5)
    assert "m = median([7, 1, 4])" in parse_code(first.text)


LISTS = tuple(
    ApiDoc(f"lists.{name}", "function", signature, doc, "lists", "1")
    for name, signature, doc in (
        ("merge", "(a, b)", "Merge two lists."),
        ("sort", "(items)", "Sort a list."),
        ("size", "(items)", "Return the number of items."),
    )
)
MERGE = Task("Merge [3, 1] and [2, 5] into a list; sort it; store it in `merged`", ("lists",))


async def proposed(task, apis):
    """All programs that are proposed, one after the other, while each fails its check."""
    model, codes = OfflineModel(FewApis(apis)), []
    [reply] = await ask("solve", SolveInputs(task, apis, ()), model=model)
    while reply.text:
        codes.append(parse_code(reply.text))
        attempts = tuple(tried(code, error=ErrorInfo("AssertionError", ""), unmet="check") for code in codes)
        [reply] = await ask("repair", RepairInputs(task, apis, (), attempts), model=model)
    return codes


@pytest.mark.parametrize(
    "check", ["assert len(merged) == 4", "assert 5 in merged", "assert merged", "assert merged[0] == 1"]
)
async def test_with_a_weak_check_programs_do_everything_named(check):
    codes = await proposed(replace(MERGE, check=check), LISTS)
    assert codes
    for code in codes:
        assert "[3, 1]" in code and "[2, 5]" in code and "merge(" in code and "sort(" in code


async def test_a_comparing_check_lets_more_be_tried():
    codes = await proposed(replace(MERGE, check="assert merged == [1, 2, 3, 5]"), LISTS)
    assert any("sort(" not in code for code in codes)
    assert all("[3, 1]" in code or "[2, 5]" in code for code in codes)


async def test_with_a_weak_check_weak_matches_propose_nothing():
    task = Task("Merge [3, 1] with [2, 5]; store it in `merged`", ("lists",), check="assert len(merged) == 4")
    assert await proposed(task, LISTS)
    text = "Merge [3, 1] with [2, 5] the way careful colleagues arrange luggage on Mondays; store it in `merged`"
    assert await proposed(replace(task, text=text), LISTS) == []


async def test_repairs_never_repeat_and_end():
    codes = await proposed(TASK, STATISTICS)
    assert len(set(codes)) == len(codes) > 1
    assert all(ast.parse(code) for code in codes)


async def test_what_crashed_is_not_tried_in_other_clothes():
    model = OfflineModel(FewApis(STATISTICS))
    [reply] = await ask("solve", SolveInputs(TASK, STATISTICS, ()), model=model)
    code = parse_code(reply.text)
    trace = f'File "<cell>", line {len(code.splitlines())}, in <module>'
    attempt = tried(code, error=ErrorInfo("KeyError", "'a'", trace))
    [reply] = await ask("repair", RepairInputs(TASK, STATISTICS, (), (attempt,)), model=model)
    assert code.splitlines()[-1] not in parse_code(reply.text).splitlines()


GRAPHS = tuple(
    ApiDoc(f"nets.{name}", "function", "(n)", doc, "nets", "1")
    for name, doc in (("path_graph", "Return a path of n nodes."), ("order", "Return the number of nodes."))
)
PATH = Task("Make a path graph of 4 nodes and store it in `G`", ("nets",))


def explored(code, *changes, subtask="1", error=None):
    """A selected candidate that bound these names, each with a type and a summary."""
    names = tuple((change.name, change.type) for change in changes)
    observation = Observation("error" if error else "ok", error=error, names=names, changes=changes)
    return Experience(Subtask(subtask, "step"), Candidate(f"{subtask}.1", subtask, code), observation)


MADE = explored(
    "from nets import path_graph\n\nG = path_graph(4)\nprint(type(G).__name__, G)",
    Change("G", "new", "nets.Graph", "nets.Graph: 4 nodes\n  properties: nodes\n  methods: number_of_nodes()"),
)


@pytest.mark.parametrize("check", [None, "assert G.order() == 4"])
async def test_explored_code_is_the_first_solution(check):
    task = replace(PATH, check=check)
    model = OfflineModel(FewApis(GRAPHS))
    [reply] = await ask("solve", SolveInputs(task, GRAPHS, (MADE,)), model=model)
    assert parse_code(reply.text) == "from nets import path_graph\n\nG = path_graph(4)"


async def test_no_solution_drops_a_wanted_name():
    task = Task("Compute the mean of [1, 2, 6] in `avg`; compute the median of [5, 1, 2] in `mid`", ("statistics",))
    codes = await proposed(task, STATISTICS)
    assert len(codes) > 2 and all("avg = " in code and "mid = " in code for code in codes)


async def test_repairs_end_with_the_time():
    model = OfflineModel(FewApis(STATISTICS), seconds=0)
    [solved] = await ask("solve", SolveInputs(TASK, STATISTICS, ()), model=model)
    attempt = tried(parse_code(solved.text), error=ErrorInfo("AssertionError", ""), unmet="check")
    [repaired] = await ask("repair", RepairInputs(TASK, STATISTICS, (), (attempt,)), model=model)
    assert repaired.problem == "empty"


async def test_it_gives_up_when_checks_keep_failing():
    failing = [tried(f"m = {number}", error=ErrorInfo("AssertionError", ""), unmet="check") for number in range(8)]
    [reply] = await ask("repair", RepairInputs(TASK, STATISTICS, (), tuple(failing[:7])))
    assert reply.text
    [reply] = await ask("repair", RepairInputs(TASK, STATISTICS, (), tuple(failing)))
    assert reply.problem == "empty"


@pytest.mark.parametrize(
    ("wording", "type_", "converted"),
    [
        ("store the list in `m`", "generator", "m = list(m)"),
        ("store the list in `m`", "dict_keys", "m = list(m)"),
        ("store it in `m`", "generator", "m = list(m)"),
        ("store it in `m`", "numpy.ndarray", ""),
        ("store it as a set in `m`", "nets.views.NodeView", "m = set(m)"),
        ("store it as a dict in `m`", "zip", "m = dict(m)"),
        ("store the number of values in `m`", "generator", "m = len(list(m))"),
        ("store it in `m`", "list", ""),
        ("store it in `m`", "int", ""),
    ],
)
async def test_a_result_of_another_kind_is_converted_first(wording, type_, converted):
    task = replace(TASK, text=f"Compute the median of [7, 1, 4]; {wording}")
    attempt = tried("m = made()", error=ErrorInfo("AssertionError", ""), unmet="check")
    attempt = replace(attempt, observation=replace(attempt.observation, names=(("m", type_),)))
    [reply] = await ask("repair", RepairInputs(task, STATISTICS, (), (attempt,)))
    if converted:
        assert parse_code(reply.text) == f"m = made()\n{converted}"
    else:
        assert "made()" not in reply.text


async def test_the_check_is_not_read_for_its_values():
    plain, revealing = (
        Task(TASK.text, ("statistics",), check=check) for check in ("assert m == 4", "assert m == 'secret'")
    )
    replies = [await ask("solve", SolveInputs(task, STATISTICS, ())) for task in (plain, revealing)]
    assert replies[0][0].text == replies[1][0].text


async def test_the_same_inputs_give_the_same_replies():
    inputs = ProposeInputs(TASK, Subtask("1", TASK.text), Introduction(""), STATISTICS, ())
    first, second = await ask("propose", inputs, n=5), await ask("propose", inputs, n=5)
    assert [reply.text for reply in first] == [reply.text for reply in second]


async def test_a_function_is_written_when_asked_for():
    task = Task(
        "Write a function `middle(data)` that gives the median of the data.", ("statistics",), solution_name="middle"
    )
    [reply] = await ask("solve", SolveInputs(task, STATISTICS, ()))
    namespace = {}
    exec(parse_code(reply.text), namespace)
    assert namespace["middle"]([9, 1, 5]) == 5


@pytest.mark.parametrize(
    ("text", "check", "outcome"),
    [
        (TASK.text, "assert m == 4", "solved"),
        (
            "Compute the mean of [1, 2, 6] in `avg`; compute the median of [5, 1, 2] in `mid`",
            "assert (avg, mid) == (3, 2)",
            "solved",
        ),
        ("Compute the median of [7, 1, 4] and store it in `m`", "assert m == 'never'", "unsolved"),
    ],
)
async def test_it_carries_a_task_through_the_pipeline(text, check, outcome):
    knowledge = FewApis(STATISTICS)
    run = a_run(OfflineModel(knowledge), text, check=check, knowledge=knowledge, candidates=5, solution_rounds=12)
    ending = await run_task(run)
    assert ending.verdict.outcome == outcome


async def test_example_data_is_left_out_for_weak_checks():
    doc = "Join words.\n\n>>> join(['x', 'y'], sep='--')\n'x--y'\n"
    apis = (ApiDoc("texts.join", "function", "(words, sep=' ')", doc, "texts", "1"),)
    task = Task("Join the words 'red' and 'blue'; store it in `joined`", ("texts",), check="assert 'red' in joined")
    assert all("--" not in code for code in await proposed(task, apis))


@pytest.mark.parametrize(
    ("call", "type_"),
    [("mode()", "int"), ("mode([7, 1, 4])", "list")],
    ids=["without the task's value", "of another kind"],
)
async def test_explored_code_that_cannot_be_right_waits(call, type_):
    made = explored(f"from statistics import mode\n\nm = {call}", Change("m", "new", type_, type_))
    task = Task("Compute the median of [7, 1, 4] and store the number in `m`", ("statistics",))
    [reply] = await ask("solve", SolveInputs(task, STATISTICS, (made,)))
    assert "m = median([7, 1, 4])" in parse_code(reply.text)

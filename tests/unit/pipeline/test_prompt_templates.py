"""Prompts: each reads as it did (golden files).

Run with EXPLORA_GOLDEN=write to write the golden files anew, then read the diff.
"""

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import get_args

import pytest

from exploracoder_jupyter.core.types import (
    ApiDoc,
    Candidate,
    Change,
    ErrorInfo,
    Experience,
    Introduction,
    Observation,
    Planner,
    Step,
    Subtask,
    Task,
    UserVariable,
)
from exploracoder_jupyter.pipeline.prompting import observations, prompt_inputs, requests

GOLDEN = Path(__file__).parents[1] / "golden"
TASK = Task("Fill the jar with 3 beans and count them", ("beanlib",), uses=("jar",), solution_name="count_beans")
SUBTASKS = (Subtask("1", "Fill the jar with 3 beans"), Subtask("2", "Count the beans in the jar"))
INTRODUCTION = Introduction("Beans live in jars.", (Planner("Sort beans", ("Open the jar.", "Sort by size.")),))
APIS = (
    ApiDoc("beanlib.fill", "function", "(jar, n)", "Put n beans into the jar. Slow.\n\nReturns it.", "beanlib", "1"),
    ApiDoc("beanlib.Jar.count", "method", "(self)", "Number of beans.", "beanlib", "1", deprecated="use len"),
)
RAN = Experience(
    SUBTASKS[0],
    Candidate("1.1", "1", "jar = beanlib.fill(jar, 3)\nprint(jar)"),
    Observation("ok", text="<Jar of 3>", names=(("jar", "beanlib.Jar"),)),
    ("beanlib.fill",),
)
FAILED = Experience(
    SUBTASKS[1],
    Candidate("2.1", "2", "lid = jar.lid\njar.size()"),
    Observation(
        "error",
        error=ErrorInfo("AttributeError", "no 'size'", "AttributeError: no 'size'"),
        names=(("lid", "beanlib.Lid"),),
    ),
)
INPUTS = {
    "introduce": prompt_inputs.IntroduceInputs(("beanlib",), "Beanlib keeps beans in jars."),
    "planners": prompt_inputs.PlannersInputs(("beanlib",), ("import beanlib\nbeanlib.fill(jar, 1)",), 4),
    "plan": prompt_inputs.PlanInputs(TASK, INTRODUCTION, 8),
    "recommend": prompt_inputs.RecommendInputs(TASK, SUBTASKS[0], SUBTASKS[1:], APIS, (RAN,), True, "look at len"),
    "recommend_global": prompt_inputs.RecommendGlobalInputs(TASK, SUBTASKS, APIS, 20, (RAN,)),
    "propose": prompt_inputs.ProposeInputs(TASK, SUBTASKS[1], INTRODUCTION, APIS, (RAN,), "look at len", True),
    "debug": prompt_inputs.DebugInputs(TASK, SUBTASKS[1], APIS, (RAN,), FAILED, True),
    "explain": prompt_inputs.ExplainInputs(TASK, SUBTASKS[1], FAILED),
    "solve": prompt_inputs.SolveInputs(TASK, APIS, (RAN,)),
    "repair": prompt_inputs.RepairInputs(TASK, APIS, (RAN,), (FAILED,)),
    "invent": prompt_inputs.InventInputs(TASK, RAN, 3),
    "strategy": prompt_inputs.StrategyInputs(
        "exploracoder_jupyter.strategies:epigen", TASK, subtasks=SUBTASKS, apis=APIS
    ),
    "judge": prompt_inputs.JudgeInputs(TASK, APIS[:1], (RAN,), RAN, (FAILED,)),
}


def rendered(task, sharing="values"):
    """The prompt for a whole program, with what may be shared."""
    inputs = observations.redact_inputs(prompt_inputs.SolveInputs(task, APIS, ()), sharing)
    return requests.render("solve", inputs)[-1].content


@pytest.mark.parametrize(("sharing", "shown"), [("values", True), ("schema", True), ("none", False)])
def test_a_prompt_has_the_schema_of_variables(sharing, shown):
    schema = "beanlib.Jar: 3 beans\n  columns: size (float), colour (str)"
    lid = UserVariable("lid", "__main__.Lid", lacking="it cannot be sent")
    task = replace(TASK, variables=(UserVariable("jar", "beanlib.Jar", given=True, schema=schema), lid))
    text = rendered(task, sharing)
    assert "jar" in text
    assert ("columns: size (float), colour (str)" in text) == shown
    assert ("__main__.Lid" in text) == shown


@pytest.mark.parametrize("step", get_args(Step))
def test_a_prompt_reads_as_it_did(step):
    messages = requests.render(step, INPUTS[step])
    text = "\n\n".join(f"[{message.role}]\n{message.content}" for message in messages) + "\n"
    golden = GOLDEN / f"{step}.md"
    if os.environ.get("EXPLORA_GOLDEN") == "write":
        golden.write_text(text, encoding="utf-8")
    assert text == golden.read_text(encoding="utf-8")


@pytest.mark.parametrize("step", [step for step in get_args(Step) if hasattr(INPUTS[step], "task")])
def test_every_prompt_with_the_task_has_its_setup(step):
    inputs = replace(INPUTS[step], task=replace(TASK, setup="jar = beanlib.Jar('green')"))
    assert "jar = beanlib.Jar('green')" in requests.render(step, inputs)[1].content


@pytest.mark.parametrize("may_revise", [True, False])
def test_the_recommendation_form_is_valid_json(may_revise):
    text = requests.render("recommend", replace(INPUTS["recommend"], may_revise=may_revise))[1].content
    [form] = [line for line in text.splitlines() if line.startswith("{")]
    example = json.loads(form)
    assert example["satisfied"] is False and example.get("remaining") is None
    assert ("remaining" in example) is may_revise


@pytest.mark.parametrize("step", ["propose", "debug"])
def test_a_failed_cell_is_not_listed_as_existing(step):
    text = requests.render(step, replace(INPUTS[step], experience=(FAILED, RAN)))[1].content
    exists, gone = text.index("that ran, in order:"), text.index("nothing is left:")
    assert exists < text.index("beanlib.fill(jar, 3)") < gone < text.index("jar.size()")
    assert "beanlib.Lid" not in text
    failed = requests.render(step, replace(INPUTS[step], experience=(FAILED,)))[1].content
    assert "that ran, in order:" not in failed


@pytest.mark.parametrize("step", ["debug", "explain"])
def test_a_silent_cell_is_not_described_as_failed(step):
    silent = replace(FAILED, observation=Observation("ok"))
    text = requests.render(step, replace(INPUTS[step], failed=silent))[1].content
    assert "it ran, and showed nothing of a result" in text
    assert "tried for it and failed" not in text and "failing part" not in text and "error message" not in text


@pytest.mark.parametrize("step", ["propose", "debug"])
def test_assertions_are_asked_for_only_with_tests(step):
    assert "assertion" in requests.render(step, INPUTS[step])[1].content
    assert "assertion" not in requests.render(step, replace(INPUTS[step], tests=False))[1].content


def test_braces_and_tags_in_a_task_stay():
    inputs = prompt_inputs.SolveInputs(Task("use {{ x }} and <b>", ("beanlib",)), (), ())
    assert "use {{ x }} and <b>" in requests.render("solve", inputs)[1].content


EXPLORING = ("recommend", "propose", "debug", "solve", "repair")


def start_in_common(one, other):
    """Characters with which two prompts begin alike."""
    texts = ["".join(message.content for message in prompt) for prompt in (one, other)]
    different = (place for place, (left, right) in enumerate(zip(*texts, strict=False)) if left != right)
    return next(different, min(map(len, texts)))


def test_prompts_of_an_exploration_begin_alike():
    prompts = [requests.render(step, INPUTS[step]) for step in EXPLORING]
    whole = prompts[0][1].content
    shown = len(prompts[0][0].content) + whole.index("<Jar of 3>")
    assert all(start_in_common(prompts[0], prompt) > shown for prompt in prompts)


def test_a_prompt_begins_like_the_one_before():
    more = replace(RAN, subtask=SUBTASKS[1], candidate=Candidate("2.1", "2", "print(jar.count())"))
    before, after = (
        requests.render("propose", replace(INPUTS["propose"], experience=seen)) for seen in ((RAN,), (RAN, more))
    )
    text = before[1].content
    assert start_in_common(before, after) > len(before[0].content) + text.index("New names: jar")


@pytest.mark.parametrize("setup", ["", "jar = beanlib.Jar('green')"])
@pytest.mark.parametrize("step", ["solve", "repair", "invent"])
def test_programs_with_variables_are_not_asked_for_none(step, setup):
    there = requests.render(step, replace(INPUTS[step], task=replace(TASK, setup=setup)))[1].content
    bare = requests.render(step, replace(INPUTS[step], task=replace(TASK, uses=())))[1].content
    assert "a fresh session" in bare
    assert "fresh session" not in there and "exist before anything else runs" in there


@pytest.mark.parametrize("step", ["debug", "explain"])
def test_a_repair_names_what_contradicts_the_subtask(step):
    warned = replace(FAILED, observation=Observation("ok", text="3", warnings=("UserWarning: it has no effect",)))
    text = requests.render(step, replace(INPUTS[step], failed=warned))[1].content
    assert "it ran, but it warned that a statement had no effect" in text


def test_members_of_a_type_are_listed_once():
    jar = "beanlib.Jar: <Jar of {}>\n  size = {}\n  properties: full\n  methods: count()"
    changes = tuple(Change(f"jar{n}", "new", "beanlib.Jar", jar.format(n, n)) for n in range(3))
    cell = replace(RAN, observation=replace(RAN.observation, changes=changes))
    text = requests.render("solve", replace(INPUTS["solve"], experience=(cell, cell)))[1].content
    assert text.count("methods: count()") == 1 == text.count("properties: full")
    assert all(text.count(f"size = {n}") == 2 for n in range(3))


@pytest.mark.parametrize("step", sorted(set(INPUTS) - {"introduce", "planners", "strategy"}))
def test_every_task_prompt_has_the_schema_of_variables(step):
    """The two others are about a library alone."""
    jar = UserVariable("jar", "beanlib.Jar", given=True, schema="beanlib.Jar: columns: size (float), colour (str)")
    inputs = replace(INPUTS[step], task=replace(TASK, variables=(jar,)))
    assert "columns: size (float), colour (str)" in requests.render(step, inputs)[-1].content

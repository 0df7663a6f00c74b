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
from exploracoder_jupyter.pipeline.prompting import privacy_filter, prompt_inputs, prompt_templates

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
    inputs = privacy_filter.redact_inputs(prompt_inputs.SolveInputs(task, APIS, ()), sharing)
    return prompt_templates.render("solve", inputs)[-1].content


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
    messages = prompt_templates.render(step, INPUTS[step])
    text = "\n\n".join(f"[{message.role}]\n{message.content}" for message in messages) + "\n"
    golden = GOLDEN / f"{step}.md"
    if os.environ.get("EXPLORA_GOLDEN") == "write":
        golden.write_text(text, encoding="utf-8")
    assert text == golden.read_text(encoding="utf-8")


@pytest.mark.parametrize("step", [step for step in get_args(Step) if hasattr(INPUTS[step], "task")])
def test_every_prompt_that_states_the_task_has_its_setup(step):
    inputs = replace(INPUTS[step], task=replace(TASK, setup="jar = beanlib.Jar('green')"))
    assert "jar = beanlib.Jar('green')" in prompt_templates.render(step, inputs)[1].content


@pytest.mark.parametrize("may_revise", [True, False])
def test_the_form_of_a_recommendation_is_valid_json_that_changes_nothing(may_revise):
    text = prompt_templates.render("recommend", replace(INPUTS["recommend"], may_revise=may_revise))[1].content
    [form] = [line for line in text.splitlines() if line.startswith("{")]
    example = json.loads(form)
    assert example["satisfied"] is False and example.get("remaining") is None
    assert ("remaining" in example) is may_revise


@pytest.mark.parametrize("step", ["propose", "debug"])
def test_a_failed_cell_is_not_listed_as_existing(step):
    text = prompt_templates.render(step, replace(INPUTS[step], experience=(FAILED, RAN)))[1].content
    exists, gone = text.index("that ran, in order:"), text.index("nothing is left:")
    assert exists < text.index("beanlib.fill(jar, 3)") < gone < text.index("jar.size()")
    assert "beanlib.Lid" not in text
    failed = prompt_templates.render(step, replace(INPUTS[step], experience=(FAILED,)))[1].content
    assert "that ran, in order:" not in failed


@pytest.mark.parametrize("step", ["debug", "explain"])
def test_a_cell_that_ran_and_showed_nothing_is_not_described_as_failed(step):
    silent = replace(FAILED, observation=Observation("ok"))
    text = prompt_templates.render(step, replace(INPUTS[step], failed=silent))[1].content
    assert "it ran, and showed nothing of a result" in text
    assert "tried for it and failed" not in text and "failing part" not in text and "error message" not in text


@pytest.mark.parametrize("step", ["propose", "debug"])
def test_assertions_are_asked_for_only_with_tests(step):
    assert "assertion" in prompt_templates.render(step, INPUTS[step])[1].content
    assert "assertion" not in prompt_templates.render(step, replace(INPUTS[step], tests=False))[1].content


def test_braces_and_tags_in_a_task_stay_as_they_are():
    inputs = prompt_inputs.SolveInputs(Task("use {{ x }} and <b>", ("beanlib",)), (), ())
    assert "use {{ x }} and <b>" in prompt_templates.render("solve", inputs)[1].content


EXPLORING = ("recommend", "propose", "debug", "solve", "repair")


def start_in_common(one, other):
    """Characters with which two prompts begin alike."""
    texts = ["".join(message.content for message in prompt) for prompt in (one, other)]
    different = (place for place, (left, right) in enumerate(zip(*texts, strict=False)) if left != right)
    return next(different, min(map(len, texts)))


def test_the_prompts_of_an_exploration_begin_alike_up_to_the_cells_that_ran():
    prompts = [prompt_templates.render(step, INPUTS[step]) for step in EXPLORING]
    whole = prompts[0][1].content
    shown = len(prompts[0][0].content) + whole.index("<Jar of 3>")
    assert all(start_in_common(prompts[0], prompt) > shown for prompt in prompts)


def test_a_prompt_begins_as_the_one_before_it_when_another_cell_has_run():
    more = replace(RAN, subtask=SUBTASKS[1], candidate=Candidate("2.1", "2", "print(jar.count())"))
    before, after = (
        prompt_templates.render("propose", replace(INPUTS["propose"], experience=seen))
        for seen in ((RAN,), (RAN, more))
    )
    text = before[1].content
    assert start_in_common(before, after) > len(before[0].content) + text.index("New names: jar")


@pytest.mark.parametrize("setup", ["", "jar = beanlib.Jar('green')"])
@pytest.mark.parametrize("step", ["solve", "repair", "invent"])
def test_a_program_that_starts_from_variables_is_not_asked_for_a_session_without_them(step, setup):
    there = prompt_templates.render(step, replace(INPUTS[step], task=replace(TASK, setup=setup)))[1].content
    bare = prompt_templates.render(step, replace(INPUTS[step], task=replace(TASK, uses=())))[1].content
    assert "a fresh session" in bare
    assert "fresh session" not in there and "exist before anything else runs" in there


@pytest.mark.parametrize("step", ["debug", "explain"])
def test_a_repair_names_what_contradicts_the_subtask(step):
    warned = replace(FAILED, observation=Observation("ok", text="3", warnings=("UserWarning: it has no effect",)))
    text = prompt_templates.render(step, replace(INPUTS[step], failed=warned))[1].content
    assert "it ran, but it warned that a statement had no effect" in text


def test_members_of_a_type_are_listed_once_in_a_prompt():
    jar = "beanlib.Jar: <Jar of {}>\n  size = {}\n  properties: full\n  methods: count()"
    changes = tuple(Change(f"jar{n}", "new", "beanlib.Jar", jar.format(n, n)) for n in range(3))
    cell = replace(RAN, observation=replace(RAN.observation, changes=changes))
    text = prompt_templates.render("solve", replace(INPUTS["solve"], experience=(cell, cell)))[1].content
    assert text.count("methods: count()") == 1 == text.count("properties: full")
    assert all(text.count(f"size = {n}") == 2 for n in range(3))


@pytest.mark.parametrize("step", sorted(set(INPUTS) - {"introduce", "planners", "strategy"}))
def test_every_prompt_about_a_task_has_the_schema_of_variables(step):
    """The two others are about a library alone."""
    jar = UserVariable("jar", "beanlib.Jar", given=True, schema="beanlib.Jar: columns: size (float), colour (str)")
    inputs = replace(INPUTS[step], task=replace(TASK, variables=(jar,)))
    assert "columns: size (float), colour (str)" in prompt_templates.render(step, inputs)[-1].content

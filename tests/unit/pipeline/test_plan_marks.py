"""Subtasks that the web is searched for: how a plan names them."""

import json
from dataclasses import replace

import pytest

from exploracoder_jupyter.core.types import Introduction
from exploracoder_jupyter.llm.scripted_model import ScriptedModel
from exploracoder_jupyter.pipeline.context import NoSources
from exploracoder_jupyter.pipeline.exploring.planning import make_plan, revise
from exploracoder_jupyter.pipeline.prompting.replies import MarkedReply, SearchingPlanReply, parse_json
from tests.unit.world import a_run, happened

PLAIN, QUERY = "Read the file", "haversine formula numpy"
TASK = "Compute distances with numpy by the haversine formula"
MARKED = {"subtask": "Get the distances", "search": QUERY}


class Searched(NoSources):
    kinds = frozenset({"web"})


def planned(text):
    items = parse_json(text, SearchingPlanReply).subtasks
    return [(item.subtask, item.search) if isinstance(item, MarkedReply) else (item, "") for item in items]


@pytest.mark.parametrize(
    "text",
    [
        json.dumps({"subtasks": [PLAIN, MARKED]}),
        json.dumps([PLAIN, MARKED]),
        json.dumps({"subtasks": {"1": PLAIN, "2": MARKED}}),
        json.dumps({"subtasks": [{"subtask": PLAIN, "search": "none"}, MARKED]}),
        json.dumps({"subtasks": [{"subtask": PLAIN, "search": False}, MARKED]}),
        json.dumps({"subtasks": [{"step": PLAIN}, {"step": MARKED["subtask"], "query": QUERY}]}),
        "```json\n" + json.dumps({"plan": ["**" + PLAIN + "**", "", None, MARKED]}) + "\n```",
    ],
)
def test_a_subtask_may_have_a_query_in_disguise(text):
    assert planned(text) == [(PLAIN, ""), (MARKED["subtask"], QUERY)]


@pytest.mark.parametrize("query", ["", " ", "No search needed.", "no need to search", None, False, 7, ["a"]])
def test_words_for_no_search_are_no_query(query):
    assert planned(json.dumps({"subtasks": [{"subtask": PLAIN, "search": query}]})) == [(PLAIN, "")]


async def plan_of(reply, sources):
    asked = []

    def answer(request):
        asked.append(request)
        return json.dumps(reply)

    run = replace(a_run(ScriptedModel(answer), TASK), sources=sources)
    await make_plan(run, Introduction("a library"))
    [made] = happened(run, "plan_made")
    return made.plan, asked[0]


@pytest.mark.parametrize(("sources", "query"), [(Searched(), QUERY), (NoSources(), "")], ids=["web", "no web"])
async def test_queries_are_requested_where_the_web_is_searched(sources, query):
    plan, request = await plan_of({"subtasks": [PLAIN, MARKED]}, sources)
    assert [(subtask.id, subtask.online) for subtask in plan.subtasks] == [("1", ""), ("2", query)]
    assert request.inputs.online is bool(query)
    assert ("The web can be searched" in request.messages[-1].content) is bool(query)


async def test_a_revised_plan_keeps_queries():
    plan = json.dumps({"subtasks": [PLAIN, "Draw it", MARKED]})
    run = replace(a_run(ScriptedModel(lambda request: plan), TASK), sources=Searched())
    await make_plan(run, Introduction("a library"))
    revise(run, run.agenda.plan.subtasks[0], [MARKED["subtask"], "Save it"], "nothing to draw")
    assert [(subtask.id, subtask.online) for subtask in run.agenda.plan.subtasks] == [
        ("1", ""),
        ("4", QUERY),
        ("5", ""),
    ]

"""What of a model's query a search engine is sent, where private text was before the model."""

import json
from dataclasses import replace

import pytest

from exploracoder_jupyter.core.types import Parameter, Passage
from exploracoder_jupyter.pipeline import run_task
from exploracoder_jupyter.pipeline.retrieval.queries import filter_queries
from tests.unit.pipeline.test_task_run import answers
from tests.unit.world import FewApis, FewPassages, a_run, api, happened

TASK = "Group the sales of 2024-05 by region, with 4.5 % tax"
APIS = (
    replace(
        api("tables.read_rows", "Reads rows of a churned file. Names are 'smith' or Jones, `quoted`, code_name=1."),
        parameters=(Parameter("*cols"),),
        aliases=("tables.io.read_all",),
    ),
    api("tables.Frame.pivot", "Turn long rows into wide ones."),
)
PRIVATE = Passage("workspace", "notes", "group sales: customer Miller, 4711 EUR, acme_revenue", "notes.md")
FOUND = Passage("web", "Pages", "group sales by region", "https://answers.example/1")


def run_of(task=TASK, model=None, **more):
    knowledge = FewApis(APIS, readme="tables is for wide tables of any kind.")
    return replace(a_run(model or answers(), task, knowledge=knowledge), **more)


@pytest.mark.parametrize(
    ("query", "sent"),
    [
        ("group SALES by region", "group SALES by region"),
        ("pivot rows wide python math", "pivot rows wide python math"),
        ("tables.Frame.pivot cols read_all", "tables.Frame.pivot cols read_all"),
        ("sales of Miller by region", "sales of by region"),
        ("acme_revenue rows", "rows"),
        ("sales 4711 4.5 2024-05", "sales 4.5 2024-05"),
        ("sales 5 2024 4.5.2024", "sales"),
        ("smith jones quoted code_name", ""),
        ("tables.Miller.pivot sales/Miller 'region'", "'region'"),
        ("Mil\u200bler M\u00fcller rows", "rows"),
        ("- ? \u2026", ""),
        ("", ""),
    ],
)
def test_a_query_keeps_words_of_task_and_library(query, sent):
    assert filter_queries(run_of(), [query]) == [sent]


@pytest.mark.parametrize("sharing", ["values", "schema", "none"])
async def test_no_word_of_files_reaches_the_web(sharing):
    seen = []

    def plan(request):
        seen.append(request.messages[-1].content)
        marked = [
            {"subtask": "Group the sales", "search": "group sales of customer Miller 4711 acme_revenue by region"},
            {"subtask": "Find Miller", "search": "Miller 4711"},
        ]
        return json.dumps({"subtasks": marked})

    sources = FewPassages(PRIVATE, FOUND)
    run = run_of(model=answers(plan=plan, introduce="It is for tables."), sources=sources, sharing=sharing)
    await run_task(run)
    assert any("Miller" in prompt for prompt in seen) is (sharing == "values")
    assert [query for query, kinds in sources.asked if "web" in kinds] == ["group sales of by region"]
    [made] = happened(run, "plan_made")
    assert [subtask.online for subtask in made.plan.subtasks] == ["group sales of by region", ""]

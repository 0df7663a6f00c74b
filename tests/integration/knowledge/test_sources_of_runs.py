"""What one run learned, the next one finds; and what a run finds in the user's files."""

import json
from functools import partial

import anyio
import pytest

from exploracoder_jupyter.core.configuration.sources import snippets_path
from exploracoder_jupyter.core.types import Task
from exploracoder_jupyter.knowledge.sources import SnippetStore
from exploracoder_jupyter.runs import Order, run
from tests.toy_model import offer_toy, reply

CODE = "```python\nfrom statistics import median\nm = median([3, 1, 2])\nprint('seen', m)\n```"
KEY = "sk-planted-0123456789abcdef"


class Endpoint:
    """A server that answers as a model would, and records its prompts."""

    def __init__(self, server):
        self.prompts = []
        self.url = offer_toy(server, partial(reply, write=self._write))

    def _write(self, prompt, _):
        self.prompts.append(prompt)
        replies = {'"subtasks"': {"subtasks": ["Compute the median of a list"]}, '"planners"': {"planners": []}}
        found = next((json.dumps(reply) for mark, reply in replies.items() if mark in prompt), None)
        return found or (json.dumps({"apis": ["statistics.median"]}) if '"apis"' in prompt else CODE)


@pytest.fixture
def endpoint(httpserver, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    return Endpoint(httpserver)


@pytest.fixture
def explore(endpoint, tmp_path):
    """Run the task with these settings of retrieval, and how much is shared; what was searched and found."""

    def call(*, share="values", **retrieval):
        endpoint.prompts.clear()
        records = []
        layer = {
            "endpoint": {"base_url": endpoint.url, "retries": 0, "share": share},
            "exploration": {"candidates": 1, "planners": 0},
            "retrieval": retrieval,
        }
        task = Task("Compute the median of [3, 1, 2] and store it in `m`", ("statistics",), check="assert m == 2")
        summary = anyio.run(run, Order(task, (layer,), workdir=tmp_path), records.append)
        assert summary["status"] == "solved"
        events = [record.event for record in records if record.event.kind == "knowledge_searched"]
        return [passage for event in events for passage in event.passages]

    return call


def test_a_run_keeps_what_ran_for_the_next(explore, endpoint, tmp_path):
    (tmp_path / "unasked.py").write_text("def median_of_list(values):\n    return median(values)\n")
    assert explore() == []
    kept = [one.snippet for one in SnippetStore(snippets_path()).all()]
    assert kept and all("median([3, 1, 2])" in one.code and one.library == "statistics" for one in kept)
    found = explore()
    assert {passage.source for passage in found} == {"snippet"}
    assert any("seen 2" in passage.text for passage in found)
    assert any("# seen 2" in prompt for prompt in endpoint.prompts)
    assert len(SnippetStore(snippets_path()).all()) == len(kept)
    assert explore(snippets=False) == []
    assert explore(share="schema") == []
    assert "# seen 2" not in "".join(endpoint.prompts)


def test_files_of_the_user_are_searched_on_request(explore, endpoint, tmp_path):
    code = f"def median_of_list(values):\n    return median(values)\n\n\nkey_of_mine = {KEY!r}\n"
    (tmp_path / "mine.py").write_text(code)
    found = explore(snippets=False, workspace=True)
    assert {(passage.source, passage.origin) for passage in found} == {("workspace", "mine.py, line 1")}
    assert any("def median_of_list" in prompt for prompt in endpoint.prompts)
    assert explore(snippets=False, workspace=True, share="schema") == []
    assert "def median_of_list" not in "".join(endpoint.prompts) and KEY not in "".join(endpoint.prompts)

"""Which sources a run has is what its settings say."""

from contextlib import AsyncExitStack
from types import SimpleNamespace

import anyio
import pytest
from pydantic import SecretStr

from exploracoder_jupyter.core.configuration.sources import Secrets, resolve, snippets_path
from exploracoder_jupyter.core.types import LibraryInfo, Passage, Snippet, Task
from exploracoder_jupyter.knowledge.documents.document_source import DocumentSource
from exploracoder_jupyter.knowledge.sources import SnippetStore
from exploracoder_jupyter.runs.factories import open_sources
from exploracoder_jupyter.runs.order import Order

KEY = "planted-by-the-test"
DOCUMENTS = DocumentSource([Passage("documentation", "Medians", "How medians are made", "docs.md")])


def _opened(tmp_path, use, *, documents=None, share="values", base_url=None, **retrieval):
    """The result of `use` for the sources of these settings, and the notices."""
    notices = []
    knowledge = SimpleNamespace(libraries=[LibraryInfo("statistics", "python", "3.11.7")], documents=documents)
    settings = resolve({"retrieval": retrieval, "endpoint": {"share": share, "base_url": base_url}}, environ={})
    order = Order(Task("x", ("statistics",)), workdir=tmp_path)

    async def main():
        async with AsyncExitStack() as stack:
            keys = Secrets(api_key=SecretStr(KEY))
            sources = await open_sources(order, settings, keys, knowledge=knowledge, emit=notices.append, stack=stack)
            return await use(sources)

    return anyio.run(main), [event.text for event in notices]


async def _kinds(sources):
    return sources.kinds


@pytest.mark.parametrize(
    ("given", "kinds"),
    [
        ({}, {"snippet"}),
        ({"snippets": False}, set()),
        ({"documents": DOCUMENTS}, {"snippet", "documentation"}),
        ({"workspace": True}, {"snippet", "workspace"}),
        ({"web": "https://searx.example"}, {"snippet", "web"}),
    ],
)
def test_the_sources_are_those_of_the_settings(tmp_path, given, kinds):
    assert _opened(tmp_path, _kinds, **given)[0] == kinds


def test_files_of_the_user_need_shared_values(tmp_path):
    kinds, notices = _opened(tmp_path, _kinds, workspace=True, share="schema")
    assert kinds == {"snippet"}
    assert notices == ["Your files are not searched, because `--share schema` sends none of their content to a model."]


def test_lessons_belong_to_versions_and_omit_the_key(tmp_path):
    snippet = Snippet("statistics", "3.11.7", "Compute a median", f"ask({KEY!r})", (), "", "3.11")

    async def learn_and_search(sources):
        await sources.learn([snippet, snippet.__class__("statistics", "2.7", "Compute a median", "x", (), "", "2.7")])
        return await sources.search("compute a median", 5)

    found, _ = _opened(tmp_path, learn_and_search)
    assert [hit.passage.text for hit in found] == ["ask('[redacted]')"]
    assert KEY.encode() not in snippets_path().read_bytes()
    assert len(SnippetStore(snippets_path()).all()) == 2


@pytest.mark.parametrize(
    ("base_url", "share", "expected"),
    [
        ("https://models.example.org/v1", "values", ["Code that ran in earlier explorations (1 snippets stored for"]),
        ("https://models.example.org/v1", "schema", []),
        ("http://localhost:11434/v1", "values", []),
        (None, "values", []),
    ],
)
def test_a_notice_says_that_earlier_code_is_sent(tmp_path, base_url, share, expected):
    SnippetStore(snippets_path()).add([Snippet("statistics", "3.11.7", "x", "x", (), "", "3.11")], "values")
    notices = _opened(tmp_path, _kinds, base_url=base_url, share=share)[1]
    assert [text[: len(start)] for text, start in zip(notices, expected, strict=True)] == expected


PLUGIN = """
from exploracoder_jupyter.core.types import Passage, ScoredPassage

class Tides:
    kind = "{kind}"

    async def search(self, query, k):
        return [ScoredPassage(Passage(self.kind, "Tides", "high water", "tides"), 1.0)]

async def open_tides(context):
    assert context.workdir and context.clean("x") == "x"
    return Tides()
"""
TIDES = {"sources": "tides = explora_tides:open_tides"}


def test_the_source_of_a_plugin_is_searched_too(tmp_path, register_plugin):
    register_plugin(TIDES, PLUGIN.format(kind="documentation"))

    async def search(sources):
        return [hit.passage.text for hit in await sources.search("high water", 3)]

    assert _opened(tmp_path, search) == (
        ["high water"],
        ["The source 'tides' of explora-tides 0.1 is searched too."],
    )


@pytest.mark.parametrize("kind", ["web", "workspace"])
def test_a_plugin_respects_unwanted_web_and_files(tmp_path, register_plugin, kind):
    register_plugin(TIDES, PLUGIN.format(kind=kind))
    assert _opened(tmp_path, _kinds) == ({"snippet"}, [])


@pytest.mark.parametrize(
    ("code", "why"),
    [
        ("import missing_tides", "cannot be loaded: ModuleNotFoundError: No module named 'missing_tides'"),
        ("async def open_tides(context): context.nothing", "AttributeError"),
        ("open_tides = len", "TypeError"),
    ],
)
def test_an_unopenable_source_is_named_once(tmp_path, register_plugin, code, why):
    register_plugin(TIDES, code)
    kinds, [text] = _opened(tmp_path, _kinds)
    assert kinds == {"snippet"}
    assert text.startswith("The source 'tides' of explora-tides 0.1 is not searched: ") and why in text

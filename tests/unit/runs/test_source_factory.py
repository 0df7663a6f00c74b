"""Which sources a run has is what its settings say."""

from contextlib import AsyncExitStack
from types import SimpleNamespace

import anyio
import pytest
from pydantic import SecretStr

from exploracoder_jupyter.core.errors import UsageError
from exploracoder_jupyter.core.settings_sources import Secrets, resolve, snippets_path
from exploracoder_jupyter.core.types import LibraryInfo, Passage, Snippet, Task
from exploracoder_jupyter.knowledge.documents import DocumentSource
from exploracoder_jupyter.knowledge.sources import SnippetStore
from exploracoder_jupyter.runs.run_request import Order
from exploracoder_jupyter.runs.source_factory import open_soup

KEY = "planted-by-the-test"
DOCUMENTS = DocumentSource([Passage("documentation", "Medians", "How medians are made", "docs.md")])


def _opened(tmp_path, use, *, documents=None, share="values", base_url=None, **retrieval):
    """What `use` gives for the soup of these settings, and what was told."""
    told = []
    knowledge = SimpleNamespace(
        libraries=[LibraryInfo("statistics", "python", "3.11.7")], documents=documents, latent=None
    )
    settings = resolve({"retrieval": retrieval, "endpoint": {"share": share, "base_url": base_url}}, environ={})
    order = Order(Task("x", ("statistics",)), workdir=tmp_path)

    async def main():
        async with AsyncExitStack() as stack:
            keys = Secrets(api_key=SecretStr(KEY))
            soup = await open_soup(order, settings, keys, knowledge=knowledge, emit=told.append, stack=stack)
            return await use(soup)

    return anyio.run(main), [event.text for event in told]


async def _kinds(soup):
    return soup.kinds


@pytest.mark.parametrize(
    ("given", "kinds"),
    [
        ({}, {"snippet"}),
        ({"snippets": False}, set()),
        ({"documents": DOCUMENTS}, {"snippet", "documentation"}),
        ({"workspace": True}, {"snippet", "workspace"}),
        ({"web": "folder", "web_address": "pages"}, {"snippet", "web"}),
    ],
)
def test_the_sources_are_those_of_the_settings(tmp_path, given, kinds):
    (tmp_path / "pages").mkdir()
    assert _opened(tmp_path, _kinds, **given)[0] == kinds


def test_files_of_the_user_are_not_searched_where_no_values_may_be_told(tmp_path):
    kinds, told = _opened(tmp_path, _kinds, workspace=True, share="schema")
    assert kinds == {"snippet"}
    assert told == ["Your files are not searched, because `--share schema` sends none of their content to a model."]


def test_a_web_that_is_not_there_is_said(tmp_path):
    with pytest.raises(UsageError, match="no folder"):
        _opened(tmp_path, _kinds, web="folder", web_address="nowhere")


def test_what_is_learned_is_of_these_versions_and_without_the_key(tmp_path):
    snippet = Snippet("statistics", "3.11.7", "Compute a median", f"ask({KEY!r})", (), "", "3.11")

    async def learn_and_search(soup):
        await soup.learn([snippet, snippet.__class__("statistics", "2.7", "Compute a median", "x", (), "", "2.7")])
        return await soup.search("compute a median", 5)

    found, _ = _opened(tmp_path, learn_and_search)
    assert [hit.passage.text for hit in found] == ["ask('[redacted]')"]
    assert KEY.encode() not in snippets_path().read_bytes()
    assert len(SnippetStore(snippets_path()).all()) == 2


@pytest.mark.parametrize(
    ("base_url", "share", "said"),
    [
        ("https://models.example.org/v1", "values", ["Code that ran in earlier explorations (1 snippets stored for"]),
        ("https://models.example.org/v1", "schema", []),
        ("http://localhost:11434/v1", "values", []),
        (None, "values", []),
    ],
)
def test_that_earlier_code_may_leave_the_machine_is_said(tmp_path, base_url, share, said):
    SnippetStore(snippets_path()).add([Snippet("statistics", "3.11.7", "x", "x", (), "", "3.11")], "values")
    told = _opened(tmp_path, _kinds, base_url=base_url, share=share)[1]
    assert [text[: len(start)] for text, start in zip(told, said, strict=True)] == said

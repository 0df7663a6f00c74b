"""Several sources behind one search: fused, each text once, none crowding out the others, none in the way."""

import threading

import anyio
import anyio.to_thread
import pytest

from exploracoder_jupyter.core.errors import UsageError
from exploracoder_jupyter.core.types import Passage, ScoredPassage, Snippet
from exploracoder_jupyter.knowledge.sources import SnippetSource, SnippetStore, SourceSearch, source_search


def _passage(source, text, origin=None):
    return Passage(source, title="", text=text, origin=origin or f"{source}: {text}")


class Fixed:
    """A source that finds these texts, whatever is asked."""

    def __init__(self, kind, *texts):
        self.kind = kind
        self._found = [ScoredPassage(_passage(kind, text), 1000 - rank) for rank, text in enumerate(texts)]

    async def search(self, query, k):
        return self._found


class Failing:
    """A source that raises."""

    kind = "web"

    def __init__(self, error):
        self._error = error

    async def search(self, query, k):
        raise self._error


class Stuck:
    """A source whose thread hangs until it is released."""

    kind = "documentation"

    def __init__(self):
        self.released = threading.Event()

    async def search(self, query, k):
        await anyio.to_thread.run_sync(self.released.wait, abandon_on_cancel=True)


def _texts(sources, query, k, among=None):
    async def main():
        return await sources.search(query, k, among=among)

    return [hit.passage.text for hit in anyio.run(main)]


def test_ranks_count_and_not_scores():
    loud = Fixed("documentation", "merge one", "merge two", "merge three")
    quiet = Fixed("web", "merge four", "merge five")
    quiet._found = [ScoredPassage(hit.passage, hit.score / 1e6) for hit in quiet._found]
    assert set(_texts(SourceSearch([loud, quiet]), "merge", 2)) == {"merge one", "merge four"}


def test_passages_without_the_query_come_last():
    near = Fixed("snippet", "merge two frames by their keys", "sort the frame of keys")
    far = Fixed("documentation", "install with pip", "licence")
    for sources in ([near, far], [far, near]):
        assert _texts(SourceSearch(sources), "merge frames by keys", 3)[0] == "merge two frames by their keys"


def test_a_text_of_two_sources_comes_once():
    sources = SourceSearch([Fixed("documentation", "alpha", "both of  them"), Fixed("web", "beta", "both\nof them")])
    assert _texts(sources, "unlike", 10) == ["both of  them", "alpha", "beta"]


def test_no_kind_takes_more_than_half():
    many = [Fixed("documentation", *(f"merge frames {name} {at}" for at in range(10))) for name in "abc"]
    sources = SourceSearch([*many, Fixed("snippet", "one", "two", "three")])
    found = _texts(sources, "merge frames", 6)
    assert len(found) == 6 and sum(text.startswith("merge") for text in found) == 3
    assert len(_texts(SourceSearch(many), "merge frames", 6)) == 6
    assert (
        sum(
            text.startswith("merge") for text in _texts(SourceSearch([many[0], Fixed("web", "one")]), "merge frames", 6)
        )
        == 5
    )


def test_only_requested_kinds_are_searched():
    sources = SourceSearch([Fixed("documentation", "a"), Fixed("workspace", "b"), Fixed("web", "c")])
    assert sources.kinds == {"documentation", "workspace", "web"}
    assert _texts(sources, "x", 5, among={"workspace"}) == ["b"]
    assert _texts(sources, "x", 5, among=()) == []
    assert sorted(_texts(sources, "x", 5)) == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("error", "why"),
    [(UsageError("The server is down.", remedy="Start it."), "The server is down."), (KeyError("x"), "KeyError.")],
)
def test_a_failing_source_is_reported_once(error, why):
    messages = []
    sources = SourceSearch([Failing(error), Fixed("snippet", "a")], say=messages.append)
    assert _texts(sources, "x", 5) == _texts(sources, "x", 5) == ["a"]
    assert messages == [f"Searching the web failed: {why}"]


def test_a_hanging_source_delays_nothing(monkeypatch):
    monkeypatch.setattr(source_search, "scale_limit", lambda seconds: 0.05)
    stuck, messages = Stuck(), []
    try:
        assert _texts(SourceSearch([stuck, Fixed("snippet", "a")], say=messages.append), "x", 5) == ["a"]
        assert messages == ["Searching the documentation timed out after 0.05 s; continuing without it."]
    finally:
        stuck.released.set()


def test_a_lesson_is_found_until_forgotten(tmp_path):
    store = SnippetStore(tmp_path / "snippets.sqlite")
    sources = SourceSearch([Fixed("documentation", "merge frames")], kept=SnippetSource(store, {"pandas": "2.2.1"}))
    anyio.run(sources.learn, [_snippet("Merge two frames")])

    async def found():
        return [hit.passage for hit in await sources.search("merge two frames", 5) if hit.passage.source == "snippet"]

    [passage] = anyio.run(found)
    assert passage.title == "Merge two frames"
    anyio.run(sources.forget, [passage.origin])
    assert anyio.run(found) == []


def _snippet(title):
    return Snippet("pandas", "2.2.1", title, "import pandas", (), "", "3.11")

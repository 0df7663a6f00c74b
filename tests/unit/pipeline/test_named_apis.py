"""APIs are found by what a model calls them, with what leads to them."""

import pytest

from exploracoder_jupyter.core.types import ApiDoc
from exploracoder_jupyter.pipeline.retrieval.lookups import (
    resolve_path,
    search_names,
    small_library,
    successors,
    with_ways,
)
from tests.unit.world import FewApis


def api(path, description="", kind="method", **more):
    return ApiDoc(path, kind, "()", description, "deck", "1.0", **more)


DECK = (
    api("deck.Deck", "Slides in order.", "class", members=("slides",)),
    api("deck.open", "Open a file of slides.", "function", returns="Deck"),
    api("deck.Deck.slides", "The slides.", "property", returns="Slides"),
    api("deck.Slides", "A row of slides.", "class"),
    api("deck.Slides.add_slide", "Append a new slide after the last one."),
    api("deck.Table.merge", "Join cells into one."),
    api("deck.Table.append_row", "Add a row below. Formerly called `push`."),
    api("deck.Table.add", "Add a row.", deprecated="Use `append_row` instead."),
)


def paths(apis):
    return [one.path for one in apis]


async def test_each_name_and_phrase_is_searched_by_itself():
    found = await search_names(FewApis(DECK), ["Slides.add_slide()", "join cells"], 4)
    assert paths(found)[:2] == ["deck.Slides.add_slide", "deck.Table.merge"] and len(found) == 4


@pytest.mark.parametrize("name", ["deck.Table.merge", "Table.merge", "merge", "dk.Table.merge"])
def test_a_path_is_known_without_its_beginning(name):
    knowledge = FewApis(DECK)
    knowledge.libraries = (type("Info", (), {"name": "deck"}),)
    assert resolve_path(knowledge, name).path == "deck.Table.merge"


def test_a_method_brings_its_class_and_makers():
    found = with_ways(FewApis(DECK), [DECK[4]])
    assert paths(found) == ["deck.Slides.add_slide", "deck.Slides", "deck.Deck.slides"]
    assert paths(with_ways(FewApis(DECK), [DECK[2]]))[1:] == ["deck.Deck", "deck.open"]


@pytest.mark.parametrize("code", ["table.push(row)", "what became of `push`?", "table.add(row)"])
def test_names_in_code_lead_to_their_successors(code):
    assert paths(successors(FewApis(DECK), code)) == ["deck.Table.append_row"]


def test_only_a_small_library_is_listed_whole():
    inherited = api("deck.Deck.melt", "Of a frame.", foreign=True)
    assert small_library((*DECK, inherited)) == DECK
    assert small_library([api(f"deck.f{n}", "x" * 100) for n in range(100)]) == ()

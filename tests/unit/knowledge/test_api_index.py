"""Tokens, the indexes, their fusion; on documentation small enough to know the right answer."""

import anyio
import pytest

from exploracoder_jupyter.core.types import ApiDoc, Parameter
from exploracoder_jupyter.knowledge.knowledge_cache import pack_arrays, unpack_arrays
from exploracoder_jupyter.knowledge.search.api_index import ApiIndex
from exploracoder_jupyter.knowledge.search.indexed_text import prior


def api(path: str, description: str, **more) -> ApiDoc:
    return ApiDoc(path, more.pop("kind", "function"), "(x)", description, path.partition(".")[0], "1.0", **more)


SHOP = (
    api("shop.sort_items", "Sort the goods of a cart by price.\n\nSee `total`."),
    api("shop.total", "Add up what the goods in a cart cost."),
    api("shop.Cart", "A cart holds goods until they are paid."),
    api("shop.Cart.add", "Put goods into the cart.\n\nUse :func:`total` afterwards."),
    api("shop.Cart.remove", "Take goods out of the cart."),
    api("shop.pay", "Pay by card or cash.\n\nThe amount comes from `total`."),
    api("shop.ship", "Send a parcel to an address by post."),
    api("shop.track", "Where a parcel is now, by its number."),
)


@pytest.fixture(scope="module")
def index() -> ApiIndex:
    return ApiIndex.build(SHOP)


def search(index: ApiIndex, query: str, k: int = 3) -> list[str]:
    return [found.api.path for found in anyio.run(lambda: index.search(query, k))]


def test_the_best_answer_comes_first(index):
    assert search(index, "How do I sort a cart by price?")[0] == "shop.sort_items"
    assert search(index, "where is my parcel")[0] == "shop.track"
    assert search(index, "sort_items")[0] == "shop.sort_items"
    assert search(index, "where is my parcel by its number, with shop.ship")[0] == "shop.ship", "it is named"


def test_search_returns_at_most_k_related_apis(index):
    assert len(search(index, "goods in the cart", 2)) == 2
    assert search(index, "xylophone") == search(index, "") == search(index, "cart", 0) == []


def test_a_reopened_index_answers_the_same(index):
    again = ApiIndex.reopen(SHOP, unpack_arrays(pack_arrays(index.arrays())))
    for query in ("pay the goods", "send by post", "remove"):
        assert search(again, query, 8) == search(index, query, 8)


@pytest.mark.parametrize("size", [0, 1, 2])
def test_an_index_of_almost_nothing_works(size):
    index = ApiIndex.build(SHOP[:size])
    assert search(index, "sort the goods", 5) == [api.path for api in SHOP[:size]]
    assert search(ApiIndex.reopen(SHOP[:size], unpack_arrays(pack_arrays(index.arrays()))), "sort", 5) == search(
        index, "sort", 5
    )


def test_aliases_parameters_and_mentions_find_an_api():
    apis = (
        api("m.Mapper", "Apply a thing.", aliases=("m.Pipe.transform",)),
        api("m.dump", "Put it out.", parameters=(Parameter("gap", about="How wide the indentation is."),)),
        api("m.load", "Get it back.\n\nSee Also\n--------\ndump : Serialize to a file,\n    as text.\nother : No."),
        api("m.other", "Do nothing at all."),
    )
    index = ApiIndex.build(apis)
    assert search(index, "transform", 1) == ["m.Mapper"]
    assert search(index, "please use .transform() on all", 1) == ["m.Mapper"]
    assert search(index, "wide indentation", 1) == ["m.dump"]
    assert set(search(index, "serialize as text", 2)) == {"m.dump", "m.load"}


def test_words_absent_from_documentation_find_an_api():
    apis = (
        api("m.prune", "Delete the rows that hold nothing."),
        api("m.load", "Read a table from a file."),
        api("m.walk", "Give the entries of a directory."),
    )
    assert search(ApiIndex.build(apis), "get rid of, remove, erase", 1) == ["m.prune"]
    assert search(ApiIndex.build(apis), "folder", 1) == ["m.walk"]


def test_a_search_for_several_queries_serves_each(index):
    def found(*queries: str, k: int = 2) -> list[str]:
        return [one.api.path for one in anyio.run(lambda: index.search_together(queries, k))]

    assert set(found("sort by price", "where is my parcel")) == {"shop.sort_items", "shop.track"}
    assert found("sort by price") == search(index, "sort by price", 2)
    assert found("xylophone", "sort by price", k=1) == ["shop.sort_items"]
    assert found() == found("xylophone") == found("sort", k=0) == []


def test_a_namesake_with_the_same_text_waits():
    apis = (
        api("m.Frame.swap", "Swap values of the frame."),
        api("m.Column.swap", "Swap values of the column."),
        api("m.Text.swap", "Swap letters for others in each text."),
        api("m.Frame.values", "The values, to be swapped or not, in an array."),
    )
    found = search(ApiIndex.build(apis), "swap values", 4)
    assert found[2] == "m.Text.swap" and found[3] in ("m.Frame.swap", "m.Column.swap")


def test_the_prior_prefers_mentioned_and_shallow_apis():
    likely = dict(zip((api.path for api in SHOP), prior(SHOP), strict=True))
    assert max(likely, key=likely.get) == "shop.total"
    assert likely["shop.ship"] > likely["shop.Cart.remove"]
    assert prior((*SHOP, api("shop.secret", "")))[-1] < min(likely.values())
    first, second = prior((api("s.a1", "Adds."), api("s.b1", "Adds.")), "s.b1(1)")
    assert second > first, "the README calls it"


def test_the_prior_lowers_deprecated_and_constant_apis():
    description = "Add up what the goods in a cart cost."
    now, partly, old, fixed = prior(
        (
            api("shop.a", description),
            api("shop.b", description, deprecated="1.7 Using lists is deprecated."),
            api("shop.c", description, deprecated="Gone soon."),
            api("shop.d", description, kind="constant"),
        )
    )
    assert now == partly > max(old, fixed), "of the second, a way of calling it is deprecated"


def test_the_prior_lowers_packages_for_earlier_versions():
    names = ("pay", "total", "v1.pay", "v1.sum_up", "v2.ship", "v2.track")
    pay, total, old_pay, old_sum, ship, track = prior([api(f"shop.{name}", "Does it.") for name in names])
    assert max(old_pay, old_sum) < min(pay, total, ship, track) - 1


def test_members_inherited_from_builtins_come_last():
    apis = (
        api("sql.Dialects.translate", str.translate.__doc__, kind="method"),
        api("sql.Dialects.maketrans", str.maketrans.__doc__, kind="method"),
        api("sql.transpile", "Write a statement in another dialect."),
    )
    assert search(ApiIndex.build(apis), "translate a statement to another dialect")[0] == "sql.transpile"


def test_a_text_shared_by_many_properties_describes_none():
    text = "A value that holds a chart of a sheet."
    shared = [api(f"book.Layout.{name}", text, kind="property") for name in ("left", "right", "top")]
    apis = (*shared, api("book.BarChart", "Bars. Goes onto a sheet."))
    assert search(ApiIndex.build(apis), "chart of a sheet")[0] == "book.BarChart"


def test_undocumented_apis_are_found_by_familiar_names():
    apis = (
        *(api(f"nd.{name}", "") for name in ("where", "reshape", "asarray", "astype", "swap")),
        api("nd.Column.swap", "Exchange the rows of a column."),
        api("nd.Array", "User-facing objects that hold elements."),
    )
    index = ApiIndex.build(apis)
    assert search(index, "choose elements by a condition")[0] == "nd.where"
    assert "nd.astype" in search(index, "convert to another data type", 2)
    assert "nd.asarray" in search(index, "make an array from a list")
    assert "nd.swap" in search(index, "exchange rows", 2)


def test_a_name_of_function_words_is_found():
    apis = (
        api("q.Quantity.to", "Rescaled to different units.", kind="method"),
        api("q.Select.where", "Append to or set the expressions.", kind="method"),
        *(api(f"q.Unit.{name}", f"The {name} of the units.") for name in ("scale", "name", "system", "power")),
    )
    index = ApiIndex.build(apis)
    assert search(index, "convert miles to metres")[0] == "q.Quantity.to"
    assert search(index, "add a where condition")[0] == "q.Select.where"


def test_the_word_itself_beats_its_synonym():
    apis = (api("i.blur", "Blur an image."), api("i.Photo", "A photo."), api("i.save", "Save it."))
    assert search(ApiIndex.build(apis), "photo", 2) == ["i.Photo", "i.blur"]


def test_an_api_spelled_in_the_query_comes_first():
    apis = (api("m.path_shortest", "Compute it."), api("m.shortest_path", "Compute it."))
    assert search(ApiIndex.build(apis), "what are the shortest paths of it", 1) == ["m.shortest_path"]


@pytest.mark.parametrize(
    ("query", "wanted"),
    [
        ("read a document safely", "q.safe_read"),
        ("order the nodes topologically", "q.topological_sort"),
        ("totals monthly", "q.month_totals"),
        ("apply a function", "q.apply"),
    ],
)
def test_an_adverb_finds_the_adjective_in_a_name(query, wanted):
    texts = {"read": "Read a document.", "full_read": "Read a document.", "safe_read": "Read a document."}
    texts |= {"sort": "Order the nodes.", "topological_sort": "Order the nodes.", "app": "A thing.", "apply": "Do it."}
    texts |= {"totals": "Sums.", "day_totals": "Sums.", "month_totals": "Sums."}
    index = ApiIndex.build([api(f"q.{name}", text) for name, text in texts.items()])
    assert search(index, query)[0] == wanted


def test_every_library_gets_its_share_of_the_places():
    apis = [api(f"big.sort_{n}", f"Sort the {word} of a cart.") for n, word in enumerate("abcdefgh")]
    apis += [api("small.walk", "Walk to a cart slowly, by way of the long road."), api("small.stand", "Stand still.")]
    found = search(ApiIndex.build(apis), "sort a cart with big and small", 4)
    assert "small.walk" in found and len(found) == 4
    assert search(ApiIndex.build(apis), "sort a cart with big and small", 9)[-1] != "small.stand"


def test_an_undescribed_api_gives_way_unless_named():
    apis = (api("m.a.xq_run", ""), api("m.a.Trees.zz", ""), api("m.deeply.hidden.plant", "Put trees into the ground."))
    index = ApiIndex.build(apis)
    assert search(index, "a.Trees: trees", 1) == ["m.deeply.hidden.plant"]
    assert search(index, "zz of trees", 1) == ["m.a.Trees.zz"]


@pytest.mark.parametrize(
    "other",
    [
        api("m.Frame.total", "Add up the goods.", kind="method", foreign=True),
        api("m.TotalError", "Add up the goods.", kind="class"),
        api("m.oxml.total", "Add up the goods."),
        api("m.CT_Total", "Add up the goods.", kind="class"),
    ],
)
def test_errors_internals_and_what_is_inherited_go_down(other):
    own = api("m.sub.Frame.total", "Add up the goods.", kind=other.kind)
    assert search(ApiIndex.build((other, own)), "add up the goods", 1) == [own.path]

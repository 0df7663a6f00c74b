"""A library opened through its port, with walkers that answer from a list."""

import json
import sqlite3

import anyio
import numpy as np
import pytest

from exploracoder_jupyter.core.errors import EndpointError, KernelError, MissingRequirement, UsageError
from exploracoder_jupyter.core.types import Introduction, LibraryInfo, Planner
from exploracoder_jupyter.kernel_agent.introspection.locations import fingerprints
from exploracoder_jupyter.knowledge.task_libraries import TaskLibraries


def found(name: str, version: str = "1.0", **more) -> dict:
    about = {"name": name, "distribution": f"py-{name}", "version": version, "interpreter": "python", "stamp": ""}
    return {"library": {**about, **more}}


def row(path: str, doc: str = "", **more) -> dict:
    return {"api": {"path": path, "kind": "function", "signature": "(x)", "doc": doc, **more}}


SORT = row("shop.sort", "Sort the goods.\n\n>>> import shop\n>>> shop.sort([2, 1])\n[1, 2]", aliases=["shop.impl.sort"])
CART = row("shop.Cart", "A cart of goods.", kind="class", aliases=["shop.impl.Cart"])
ADD = row("shop.Cart.add", "Put goods into it.", kind="method", signature="", deprecated="use put")
PAY = row("till.pay", "Pay the bill.")


class Walkers:
    """Stands for the target's interpreter: answers each program from what is installed, and counts the walks."""

    def __init__(self, **installed: list[dict]) -> None:
        self.installed = installed or {"shop": [SORT, CART, ADD], "till": [PAY]}
        self.versions = dict.fromkeys(self.installed, "1.0")
        self.walked: list[str] = []
        self.asked = 0
        self.rests: dict[str, str] = {}
        self.ends: list[dict] = []

    async def __call__(self, module, args):
        names = args[args.index("--") + 1 :]
        self.asked += 1
        for name in names:
            if module == "introspection.api_walk":
                self.walked.append(name)
                yield json.dumps({"progress": 1})
                for line in self.installed[name]:
                    yield json.dumps(line)
                yield json.dumps({"library": {"name": name, "doc": f"The {name}.", "version": "", "cut": False}})
            elif name not in self.installed:
                yield json.dumps({"error": "unknown", "library": name, "near": ["shop"]})
                raise KernelError("exit status 3")
            else:
                more = {
                    "readme": f"# {name}\n\n```\nimport {name}; {name}.run(1, 2)\n```",
                    "programs": ["import x\nx.whole_program()"],
                }
                more = more if "--documents" in args else {"rests": self.rests}
                yield json.dumps(found(name, self.versions[name], **more))


async def opened(tmp_path, *names, walkers=None, **more) -> TaskLibraries:
    return await TaskLibraries.open(names or ("shop",), inspect=walkers or Walkers(), cache=tmp_path, **more)


async def test_libraries_are_read_and_searched_together(tmp_path):
    library = await opened(tmp_path, "shop", "till")
    assert library.libraries == (LibraryInfo("shop", "py-shop", "1.0"), LibraryInfo("till", "py-till", "1.0"))
    assert library.size == 4
    assert (await library.search("pay a bill", 1))[0].api.path == "till.pay"
    assert (await library.search("sort goods", 1))[0].api.examples == ("import shop\nshop.sort([2, 1])",)


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("shop.sort", "shop.sort"),
        ("shop.impl.sort", "shop.sort"),
        ("shop.impl.Cart.add", "shop.Cart.add"),
        ("shop.nothing", None),
        ("", None),
    ],
)
async def test_lookup_knows_aliases(tmp_path, path, expected):
    api = (await opened(tmp_path)).lookup(path)
    assert (api.path if api else None) == expected


async def test_a_second_opening_walks_nothing(tmp_path):
    walkers = Walkers()
    first = await opened(tmp_path, "shop", "till", walkers=walkers)
    again = await opened(tmp_path, "shop", "till", walkers=walkers)
    assert walkers.walked == ["shop", "till"]
    assert await again.search("put goods", 3) == await first.search("put goods", 3)
    assert [one.cached for one in first.report()] == [False, False]
    assert [one.cached for one in again.report()] == [True, True]


async def test_unchanged_files_are_not_read_again(tmp_path):
    walkers, site = Walkers(), tmp_path / "site"
    site.mkdir()
    walkers.rests = fingerprints([str(site), str(tmp_path / "nothing")])
    first = await opened(tmp_path, "shop", "till", walkers=walkers, environment="here")
    asked = walkers.asked
    again = await opened(tmp_path, "till", "shop", walkers=walkers, environment="here")
    assert walkers.asked == asked
    assert again.libraries == first.libraries[::-1]
    assert await again.search("put goods", 3) == await first.search("put goods", 3)

    walkers.versions["shop"] = "2.0"
    site.joinpath("shop-2.0.dist-info").mkdir()
    changed = await opened(tmp_path, "shop", walkers=walkers, environment="here")
    assert changed.libraries[0].version == "2.0" and changed.lookup("shop.sort").version == "2.0"


@pytest.mark.parametrize(
    ("rests", "environments"),
    [
        ({}, ("here", "here")),
        ({"/nothing of this name": "looked different to the interpreter"}, ("here", "here")),
        ({"/nothing of this name": ""}, ("here", "there")),
        ({"/nothing of this name": ""}, (None, None)),
    ],
)
async def test_what_may_be_otherwise_is_asked_again(tmp_path, rests, environments):
    walkers = Walkers()
    walkers.rests = rests
    await opened(tmp_path, walkers=walkers, environment=environments[0])
    walkers.versions["shop"] = "2.0"
    library = await opened(tmp_path, walkers=walkers, environment=environments[1])
    assert library.libraries[0].version == "2.0"


async def test_an_interrupted_walk_is_not_kept(tmp_path):
    def cut(first: dict):
        async def inspect(module, args):
            if module == "introspection.installed_libraries":
                yield json.dumps(found("shop"))
            else:
                yield json.dumps(first)
                yield json.dumps({"library": {"name": "shop", "cut": True}})

        return inspect

    await opened(tmp_path, walkers=cut(SORT))
    library = await opened(tmp_path, walkers=cut(ADD))
    assert [hit.api.path for hit in await library.search("put goods", 5)] == ["shop.Cart.add"]
    assert not (await library.search("sort", 5)) and not library.report()[0].cached


async def test_the_report_counts(tmp_path):
    (row,) = (await opened(tmp_path)).report()
    assert (row.name, row.version, row.apis) == ("shop", "1.0", 3)
    assert (row.with_signature, row.with_docs, row.with_examples) == (2, 3, 1)


async def test_the_overview_has_readme_programs_and_documented_examples(tmp_path):
    overview = (await opened(tmp_path)).overview()
    assert "# shop" in overview.text and "The shop." in overview.text
    assert overview.examples == (
        "import shop; shop.run(1, 2)",
        "import x\nx.whole_program()",
        "import shop\nshop.sort([2, 1])",
    )


async def test_an_introduction_is_kept_by_versions_and_model(tmp_path):
    library = await opened(tmp_path)
    introduction = Introduction("Sorts goods.", (Planner("sort", ("call sort",)),))
    library.keep_introduction("m", introduction)
    again = await opened(tmp_path)
    assert again.introduction("m") == introduction
    assert again.introduction("other") is None
    assert (await opened(tmp_path, "till")).introduction("m") is None


async def test_an_unknown_library_names_near_ones(tmp_path):
    with pytest.raises(UsageError, match=r"'shpo' is not installed .* Did you mean 'shop'\?"):
        await opened(tmp_path, "till", "shpo")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ({"error": "import", "library": "bad", "detail": "ImportError: no libfoo"}, "ImportError: no libfoo"),
        (None, "interpreter ended"),
    ],
)
async def test_an_unimportable_library_is_a_missing_requirement(tmp_path, line, message):
    walkers = Walkers(bad=[line] if line else [])

    async def dying(module, args):
        async for text in walkers(module, args):
            if module == "introspection.api_walk" and "library" in json.loads(text) and "error" not in json.loads(text):
                raise KernelError("Segmentation fault")
            yield text

    with pytest.raises(MissingRequirement, match=message):
        await opened(tmp_path, "bad", walkers=dying)


async def test_no_progress_is_shown_that_stands_still(tmp_path):
    """Issue 14, item 20: "Indexing (0 of 2734)" stood still until all was indexed."""
    shown = []
    await opened(tmp_path, progress=lambda *step: shown.append(step))
    [indexing] = {step for step in shown if "ndexing" in step[0]}
    assert "3 APIs" in indexing[0] and indexing[2] == 0


async def test_progress_is_shown_and_cancelling_leaves_nothing_behind(tmp_path):
    seen: list[tuple] = []
    closed = anyio.Event()

    async def endless(module, args):
        if module == "introspection.installed_libraries":
            yield json.dumps(found("shop"))
            return
        try:
            for done in range(10**6):
                yield json.dumps({"progress": done})
                await anyio.sleep(0.001)
        finally:
            closed.set()

    def watch(*what: object) -> None:
        seen.append(what)
        if len(seen) > 3:
            scope.cancel()

    with anyio.CancelScope() as scope:
        await opened(tmp_path, walkers=endless, progress=watch)
    assert closed.is_set()
    assert seen[0] == ("Reading shop", 0, 0) and seen[-1][1] > 0
    walkers = Walkers()
    await opened(tmp_path, walkers=walkers)
    assert walkers.walked == ["shop"]


class Letters:
    """An embedder for tests: counts letters; remembers what it was sent."""

    name = "letters"

    def __init__(self) -> None:
        self.sent: list[str] = []

    async def embed(self, texts):
        self.sent += texts
        return np.array(
            [[text.count(letter) for letter in "abcdefghijklmnopqrstuvwxyz"] for text in texts], dtype=np.float32
        )


async def test_an_embedder_replaces_built_in_vectors(tmp_path):
    first, second = Letters(), Letters()
    library = await opened(tmp_path, embedder=first)
    assert sorted(first.sent) == [
        "shop.Cart.add: Put goods into it.",
        "shop.Cart: A cart of goods.",
        "shop.sort: Sort the goods.",
    ]
    assert (await library.search("zzz", 1)) == []
    assert (await library.search("traaac", 1))[0].api.path == "shop.Cart"
    await opened(tmp_path, embedder=second)
    assert second.sent == []


class Failing(Letters):
    """An embedder that fails at queries, after it has embedded the documentation."""

    def __init__(self, error: Exception) -> None:
        super().__init__()
        self.error = error
        self.asked = 0

    async def embed(self, texts):
        if self.sent:
            self.asked += 1
            raise self.error
        return await super().embed(texts)


@pytest.mark.parametrize("error", [EndpointError, UsageError])
async def test_an_embedder_failing_in_a_search_is_replaced(tmp_path, error):
    messages: list[str] = []
    failing = Failing(error("The endpoint is gone.", remedy="Start it."))
    library = await opened(tmp_path, embedder=failing, say=messages.append)
    plain = await opened(tmp_path / "plain")
    assert await library.search("sort goods", 3) == await plain.search("sort goods", 3)
    assert await library.search_together(["put", "sort"], 3) == await plain.search_together(["put", "sort"], 3)
    assert messages == ["The endpoint is gone. The built-in index is used instead. Start it."]
    assert failing.asked == 1


async def test_an_embedder_that_fails_while_indexing_is_replaced(tmp_path):
    failing, messages = Failing(EndpointError("Refused.", remedy="Mend it.")), []
    failing.sent.append("")
    library = await opened(tmp_path, embedder=failing, say=messages.append)
    assert (await library.search("sort goods", 1))[0].api.path == "shop.sort"
    assert messages == ["Refused. The built-in index is used instead. Mend it."]
    assert failing.asked == 1


async def test_an_unwritable_cache_is_done_without(tmp_path):
    (tmp_path / "file").write_text("")
    library = await opened(tmp_path / "file")
    library.keep_introduction("m", Introduction("x"))
    assert library.introduction("m") is None
    assert (await library.search("sort", 1))[0].api.path == "shop.sort"


@pytest.mark.parametrize("kind", ["surface", "index", "library"])
async def test_a_senseless_cached_body_is_read_anew(tmp_path, kind):
    walkers = Walkers()
    walkers.rests = {str(tmp_path / "nothing"): ""}
    await opened(tmp_path, walkers=walkers, environment="here")
    with sqlite3.connect(tmp_path / "knowledge.sqlite") as db:
        db.execute("UPDATE kept SET body = ? WHERE kind = ?", (b"PK nonsense", kind))
    db.close()
    library = await opened(tmp_path, walkers=walkers, environment="here")
    assert (await library.search("sort goods", 1))[0].api.path == "shop.sort"
    assert library.report()[0].cached == (kind != "surface")


class Shipping(Walkers):
    """Libraries that ship a guide, examples in several modules, and a README in common."""

    README = "# Goods\n\nWhat all goods have in common."
    GUIDE = """# Guide

## Installation

Put the query of prices on a shelf, then query the prices.

## Queries

A query of goods by prices is written in a language of its own:

```
query ::= field ':' range
range ::= low '..' high
```
"""

    async def __call__(self, module, args):
        async for line in super().__call__(module, args):
            about = json.loads(line).get("library")
            if isinstance(about, dict) and "readme" in about:
                name = about["name"]
                about |= {"readme": f"{self.README}\n\nOnly {name}.", "guides": [["docs/guide.md", self.GUIDE]]}
                line = json.dumps({"library": about})
            yield line


async def test_the_shipped_guide_is_found_by_its_words(tmp_path):
    library = await opened(tmp_path, walkers=Shipping())
    [hit] = await library.documents.search("query goods by prices", 5)
    assert "range ::= low '..' high" in hit.passage.text and "docs/guide.md" in hit.passage.origin
    assert await library.documents.search("sort the shelf of the till", 5) == []
    again = await opened(tmp_path, walkers=Shipping())
    assert [hit.passage for hit in await again.documents.search("query goods by prices", 5)] == [hit.passage]

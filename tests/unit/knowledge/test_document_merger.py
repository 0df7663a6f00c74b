"""A library opened with documents beside it, or with documents alone."""

import json
import zlib
from contextlib import nullcontext

import pytest

from exploracoder_jupyter.core.errors import KernelError, MissingRequirement, UsageError
from exploracoder_jupyter.core.types import LibraryInfo
from exploracoder_jupyter.knowledge.documents import reading_process
from exploracoder_jupyter.knowledge.documents.reading_process import read_page
from exploracoder_jupyter.knowledge.task_libraries import TaskLibraries

ADD = {"path": "shop.Cart.add", "kind": "method", "signature": "(goods)", "doc": "Put goods into it."}
CART = {"path": "shop.Cart", "kind": "class", "signature": "()", "doc": "", "aliases": ["shop.impl.Cart"]}

REFERENCE = """\
# Shop

How goods are bought here, from the first look at them to the bill.

## `shop.Cart(owner=None)`

A cart that goods are put into.

## `shop.impl.Cart.add(goods, count=1)`

Put goods into it. Weigh them first, as `weigh(goods)` tells what they cost.

## `shop.weigh(goods: list) -> float`

Tell the weight of goods.

## `till.pay(bill)`

Pay what the till shows, in the money of the country that it is in.
"""

DEVICE = "# `acmekit.connect(host)`\n\nOpen a connection to a device.\n\n# `Client.get(path)`\n\nFetch a resource.\n"


class Walkers:
    """Stands for the target's interpreter: `shop` is installed, and `broken`, which cannot be imported."""

    def __init__(self) -> None:
        self.walked: list[str] = []

    async def __call__(self, module, args):
        for name in args[args.index("--") + 1 :]:
            if module == "introspection.api_walk":
                self.walked.append(name)
                if name == "broken":
                    yield json.dumps({"error": "import", "library": name, "detail": "ImportError: no libbroken.so"})
                    raise KernelError("exit status 4")
                for api in (CART, ADD):
                    yield json.dumps({"api": api})
                yield json.dumps({"library": {"name": name, "doc": "The shop."}})
            elif name in ("shop", "broken"):
                about = {"name": name, "distribution": name, "version": "1.0", "interpreter": "python"}
                yield json.dumps({"library": about})
            else:
                yield json.dumps({"error": "unknown", "library": name, "near": ["shop"]})
                raise KernelError("exit status 3")


@pytest.fixture(autouse=True)
def _read_documents_in_this_process(monkeypatch):
    monkeypatch.setattr(reading_process, "PageProcess", lambda: nullcontext(read_page))


@pytest.fixture
def opened(tmp_path):
    async def opened(*names, docs=(), walkers=None):
        paths = []
        for number, content in enumerate(docs):
            paths.append(tmp_path / f"ref{number}.md")
            paths[-1].write_text(content)
        return await TaskLibraries.open(names, inspect=walkers or Walkers(), cache=tmp_path / "cache", docs=paths)

    return opened


async def test_documents_add_to_what_the_code_says(opened):
    library = await opened("shop", docs=[REFERENCE])
    add, cart, weigh = (library.lookup(path) for path in ("shop.Cart.add", "shop.Cart", "shop.weigh"))
    assert add.signature == "(goods)", "the code is believed"
    assert add.description.startswith("Put goods into it.\n\nFrom ref0.md, line 9:") and "Weigh them" in add.description
    assert cart.description == "A cart that goods are put into." and cart.origin == "ref0.md, line 5"
    assert (weigh.signature, weigh.origin, weigh.library) == ("(goods: list) -> float", "ref0.md, line 13", "shop")
    assert library.size == 3 and not library.notices
    assert (await library.search("weight of goods", 1))[0].api.path == "shop.weigh"
    assert "The shop." in library.overview().text and "How goods are bought" in library.overview().text


@pytest.mark.parametrize(("version", "added"), [("1.0", True), ("1", True), ("0.9", False), ("1.0.2", False)])
async def test_of_another_version_no_apis_are_taken_over(opened, tmp_path, version, added):
    (tmp_path / "objects.inv").write_bytes(
        f"# Sphinx inventory version 2\n# Project: Shop\n# Version: {version}\n# zlib.\n".encode()
        + zlib.compress(b"shop.gone py:function 1 api.html#$ -\n")
    )
    library = await TaskLibraries.open(
        ["shop"], inspect=Walkers(), cache=tmp_path / "cache", docs=[tmp_path / "objects.inv"]
    )
    assert bool(library.lookup("shop.gone")) == added
    assert any("version 1.0 is installed" in sentence for sentence in library.notices) != added


async def test_passages_of_documents_are_a_source(opened):
    source = (await opened("shop", docs=[REFERENCE])).documents
    first, *_ = await source.search("what goods weigh before they cost", 3)
    assert source.kind == first.passage.source == "documentation"
    assert first.passage.apis == ("shop.weigh",) and first.passage.origin.startswith("ref0.md")
    assert not await source.search("xylophone", 3) and not await source.search("goods", 0)
    assert (await source.search("pay money till", 1))[0].passage.title == "Shop: till.pay(bill)", "of no library here"


async def test_without_documents_there_is_no_source(opened):
    assert (await opened("shop")).documents is None


async def test_no_failure_is_predicted_of_unread_libraries(opened):
    """Issue 14, item 19: what fails in the process that reads may work in experiments."""
    library = await opened("broken", "acmekit", docs=[DEVICE.replace("acmekit", "broken") + DEVICE])
    about_broken = next(notice for notice in library.notices if "no libbroken.so" in notice)
    assert "cannot run here" not in about_broken and library.unread == ("broken",)


async def test_documents_alone_describe_an_uninstalled_library(opened):
    library = await opened("acmekit", docs=[DEVICE])
    assert library.libraries == (LibraryInfo("acmekit", "acmekit", ""),)
    assert [api.path for api in library.apis] == ["acmekit.Client.get", "acmekit.connect"]
    assert (await library.search("open a connection", 1))[0].api.origin == "ref0.md, line 1"
    (notice,) = library.notices
    assert "'acmekit' is not installed" in notice and "2 APIs" in notice and "cannot run here" in notice
    assert library.report()[0].name == "acmekit" and not library.report()[0].cached
    assert await library.source("acmekit.connect") == ""


async def test_documents_alone_describe_an_unimportable_library(opened):
    library = await opened("shop", "broken", docs=[DEVICE.replace("acmekit", "broken")])
    assert [info.name for info in library.libraries] == ["shop", "broken"]
    assert library.lookup("broken.connect") and library.lookup("shop.Cart.add")
    assert "cannot be imported: ImportError: no libbroken.so" in library.notices[0]


@pytest.mark.parametrize(
    ("asked", "documented", "name"),
    [("acme-kit", "acmekit", "acmekit"), ("Acmekit", "acmekit", "acmekit"), ("acme-client", "acme", "acme")],
)
async def test_a_distribution_name_finds_the_documented_import(opened, asked, documented, name):
    body = f"```{{py:function}} {documented}.connect(host)\n\nOpen a connection.\n```\n"
    library = await opened(asked, docs=[body])
    assert library.libraries[0].name == name and library.lookup(f"{name}.connect")


async def test_a_mistyped_name_is_not_the_documented_library(opened):
    body = "```{py:function} acmekit.connect(host)\n\nOpen a connection.\n```\n"
    with pytest.raises(UsageError) as caught:
        await opened("shpo", docs=[body])
    assert str(caught.value) == (
        "Library 'shpo' is not installed in this kernel's environment. The documents describe no API of it. "
        "Did you mean 'shop'? Otherwise install it there."
    )
    with pytest.raises(MissingRequirement, match="The documents describe no API of it"):
        await opened("broken", docs=[body])


async def test_an_index_belongs_to_its_documents(opened):
    walkers = Walkers()
    first = await opened("shop", "acmekit", docs=[REFERENCE, DEVICE], walkers=walkers)
    again = await opened("shop", "acmekit", docs=[REFERENCE, DEVICE], walkers=walkers)
    assert walkers.walked == ["shop"] and [row.cached for row in again.report()] == [True, True]
    assert again.apis == first.apis and again.notices == first.notices
    assert await again.search("put goods", 3) == await first.search("put goods", 3)
    assert await again.documents.search("bill", 2) == await first.documents.search("bill", 2)
    changed = await opened("shop", "acmekit", docs=[REFERENCE, DEVICE.replace("resource", "value")], walkers=walkers)
    assert "value" in changed.lookup("acmekit.Client.get").description
    assert not (await opened("shop", walkers=walkers)).lookup("shop.weigh"), "nothing of them stays"

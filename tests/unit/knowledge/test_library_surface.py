"""A library's surface, made of the lines that the walkers print."""

import json

import pytest

from exploracoder_jupyter.core.errors import KernelError, MissingRequirement
from exploracoder_jupyter.knowledge.extraction import library_surface as surfaces
from exploracoder_jupyter.knowledge.extraction.library_surface import Surface
from exploracoder_jupyter.knowledge.extraction.library_walk import About

FOUND = About("shop", distribution="py-shop", version="1.0", interpreter="python")
END = {"library": {"name": "shop", "doc": "A shop."}}


def row(path: str, doc: str = "", **more) -> dict:
    return {"api": {"path": path, "kind": "function", "signature": "()", "doc": doc, **more}}


class Walker:
    """Prints what each walk is to print, then ends as it is to end."""

    def __init__(self, *walks: list[dict | Exception]) -> None:
        self.walks = list(walks)
        self.asked: list[tuple[str, ...]] = []

    async def __call__(self, module, args):
        lines = [END]
        if module == "introspection.api_walk":
            self.asked.append(tuple(args))
            lines = self.walks.pop(0)
        for line in lines:
            if isinstance(line, Exception):
                raise line
            yield json.dumps(line)


async def read(walker: Walker) -> Surface:
    return await surfaces.read_surface(FOUND, inspect=walker, advance=lambda done: None)


async def test_what_code_and_docstring_say_is_put_together():
    doc = "Pay.\n\nArgs:\n    sum: How much.\n\nReturns:\n    The change.\n\n.. versionadded:: 1.1\n"
    documented = row("shop.pay", doc, parameters=[["sum", "float", "0"]], returns="float", signature="(sum: float = 0)")
    (api,) = (await read(Walker([documented, END]))).apis
    assert [(one.name, one.type, one.default, one.about) for one in api.parameters] == [
        ("sum", "float", "0", "How much.")
    ]
    assert (api.returns, api.notes) == ("float. The change.", ("Added in 1.1",))


async def test_links_lead_to_paths_nearest_first():
    doc = "x\n\nSee Also\n--------\nadd : that\nshop.pay : by path\nsh.total : by a short name\nnumpy.sum : elsewhere\n"
    rows = [row("shop.Cart.put", doc, kind="method"), row("shop.Cart.add", kind="method"), row("shop.add")]
    rows += [row("shop.pay", aliases=["shop.impl.pay"]), row("shop.sums.total", aliases=["shop.total"])]
    surface = await read(Walker([*rows, END]))
    (put,) = (api for api in surface.apis if api.path == "shop.Cart.put")
    assert put.see_also == ("shop.Cart.add", "shop.pay", "shop.sums.total", "numpy.sum")


@pytest.mark.parametrize("end", [[KernelError("killed")], []])
async def test_a_module_that_ends_the_interpreter_is_left_out_in_the_next_try(end):
    walker = Walker([row("shop.a"), {"loading": "shop.bad"}, *end], [row("shop.a"), row("shop.b"), END])
    surface = await read(walker)
    assert [api.path for api in surface.apis] == ["shop.a", "shop.b"]
    assert ["--without shop.bad" in " ".join(args) for args in walker.asked] == [False, True]


async def test_a_library_that_ends_the_interpreter_again_and_again_is_given_up():
    walker = Walker(*([{"loading": f"shop.bad{n}"}, KernelError("killed")] for n in range(9)))
    with pytest.raises(MissingRequirement, match="cannot be imported: several of its modules crash the interpreter"):
        await read(walker)
    assert len(walker.walks) == 4


async def test_an_end_that_no_module_is_to_blame_for_is_reported_at_once():
    walker = Walker([{"loading": "shop.good"}, {"loading": ""}, KernelError("killed")])
    with pytest.raises(MissingRequirement, match="cannot be imported: the interpreter ended"):
        await read(walker)


@pytest.mark.parametrize(
    "detail, remedy",
    [
        ("FileNotFoundError: no {path}", "--allow-read {path}"),
        ("FileNotFoundError: no {path}.none", "Make `import shop` work"),
        ("OSError: [Errno 30] Read-only file system: '/x'", "--docs"),
    ],
)
async def test_an_import_that_misses_a_hidden_file_names_the_option(tmp_path, detail, remedy):
    """Issue 31, item 10."""
    (path := tmp_path / "config.toml").touch()
    detail = detail.format(path=path)
    walker = Walker([{"error": "import", "library": "shop", "detail": detail, "missing": [detail.split()[-1]]}])
    with pytest.raises(MissingRequirement) as raised:
        await read(walker)
    assert remedy.format(path=path) in raised.value.remedy
    assert ("work in this kernel" in raised.value.remedy) == ("none" in detail)


async def test_a_library_of_stubs_alone_is_known_as_one():
    """Issue 14, item 17: that there is no code of it reaches who asks."""
    end = {"library": {"name": "shop", "stubs": True}}
    assert (await read(Walker([row("shop.pay"), end]))).stubs
    assert not (await read(Walker([row("shop.pay"), END]))).stubs


async def test_a_class_knows_its_members_and_an_enum_its_values():
    rows = [row("shop.Cart", kind="class"), row("shop.Cart.add", kind="method", aliases=["shop.Box.add"])]
    rows += [row("shop.Box", kind="class"), row("shop.Cart.melt", kind="method", foreign=True)]
    rows += [row("shop.Size", kind="class", values=["S", "L"])]
    known = {api.path: api for api in (await read(Walker([*rows, END]))).apis}
    assert known["shop.Cart"].members == known["shop.Box"].members == ("add",)
    assert known["shop.Size"].members == ("S", "L") and known["shop.Cart.melt"].foreign


async def test_signatures_in_another_language_are_no_documentation():
    doc = (
        "\nput( (Cart)cart, (int)n) -> Cart :\n    Put goods in.\n\n    C++ signature :\n        shop::Cart* put(int)\n"
    )
    (api,) = (await read(Walker([row("shop.put", doc), END]))).apis
    assert api.description == "Put goods in."

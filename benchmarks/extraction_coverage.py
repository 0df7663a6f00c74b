"""Which documented APIs the walk finds: `python benchmarks/extraction_coverage.py LIBRARY REFERENCE [--kernel NAME]`.

REFERENCE is written by others and knows nothing of the walk: the inventory of a built documentation (`objects.inv`), a
folder of reStructuredText reference pages (of a source distribution), or a file with one path a line. It should be of
the very version that the kernel has. What a callable is, whether it is there at all and whether anything says how it is
called (introspection, or the first line of its docstring) is asked of the kernel's interpreter, without the walk.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import time
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import anyio

from exploracoder_jupyter.core.configuration.sections import Sandbox
from exploracoder_jupyter.core.types import ApiDoc
from exploracoder_jupyter.kernels.agent import find_interpreter, local_inspector
from exploracoder_jupyter.knowledge.extraction import library_surface as surfaces
from exploracoder_jupyter.knowledge.extraction.library_surface import Surface

CALLABLE = ("function", "method", "classmethod", "staticmethod", "class", "exception")
LISTED = re.compile(r"^\s+~?((?:\w+\.)*\w+)\s*$")
DIRECTIVE = re.compile(r"^\s*\.\. (\w+)::\s*([\w.]*)")

TRUTH = r"""
import ast, functools, importlib, inspect, json, os, re, sys, warnings
warnings.simplefilter("ignore")
def resolve(path):
    parts = path.split(".")
    for cut in range(len(parts), 0, -1):
        try:
            value = importlib.import_module(".".join(parts[:cut]))
        except BaseException:
            continue
        for part in parts[cut:]:
            value = getattr(value, part)
        return value
    raise AttributeError(path)
def introspected(value):
    try:
        return bool(inspect.signature(value))
    except (TypeError, ValueError):
        return False
def written(value, name):
    docs = [value.__doc__, getattr(getattr(value, "__init__", None), "__doc__", None)]
    documented_call = rf"\s*(\w+\.)*{name}\s*\(|\s*\([^\n]*\)\s*[-=]>"
    return any(isinstance(doc, str) and re.match(documented_call, doc) for doc in docs)
@functools.cache
def stub(module):
    folder, name = os.path.split(getattr(sys.modules.get(module), "__file__", None) or "")
    file = os.path.join(folder, name.partition(".")[0] + ".pyi")
    return ast.parse(open(file).read()) if name and os.path.exists(file) else None
def stubbed(value):
    node = stub(getattr(value, "__module__", None) or "")
    for part in getattr(value, "__qualname__", "?").split("."):
        node = next((one for one in getattr(node, "body", ()) if getattr(one, "name", "") == part), None)
    if isinstance(node, ast.ClassDef):
        return any(getattr(one, "name", "") in ("__init__", "__new__") for one in node.body)
    return node is not None
for path in json.load(sys.stdin):
    try:
        value = resolve(path)
        signed = callable(value) and (
            introspected(value) or written(value, path.rpartition(".")[2]) or stubbed(value))
        row = [True, callable(value), signed]
    except BaseException:
        row = [False, False, False]
    print(json.dumps(row))
"""


@dataclass(frozen=True)
class Documented:
    path: str
    there: bool
    called: bool
    signed: bool


def inventory(file: Path) -> Iterator[str]:
    """Callables of Sphinx's inventory, version 2."""
    head = file.read_bytes().split(b"\n", 4)
    for line in zlib.decompress(head[4]).decode().splitlines():
        name, role, _ = line.split(" ", 2)
        if role.startswith("py:") and role[3:] in CALLABLE:
            yield name


def pages(folder: Path) -> Iterator[str]:
    """What reference pages list by `autosummary` and describe by `autofunction`, `autoclass`, `function`, ..."""
    for page in sorted(folder.rglob("*.rst")):
        yield from page_names(page.read_text(encoding="utf-8"))


def page_names(text: str) -> Iterator[str]:
    module, listing = "", False
    for line in text.splitlines():
        if found := DIRECTIVE.match(line):
            name, about = found.groups()
            listing = name == "autosummary"
            if name in ("currentmodule", "module", "automodule"):
                module = about
            elif name in ("autofunction", "autoclass", "automethod", "autoexception", "function", "class") and about:
                yield whole(module, about)
        elif line.strip() and not line[0].isspace():
            listing = False
        elif listing and (listed := LISTED.match(line)):
            yield whole(module, listed.group(1))


def whole(module: str, name: str) -> str:
    top = module.partition(".")[0]
    return name if not module or name.partition(".")[0] == top else f"{module}.{name}"


def names(reference: Path, library: str) -> list[str]:
    if reference.is_dir():
        found = pages(reference)
    elif reference.suffix == ".inv":
        found = inventory(reference)
    else:
        found = iter(reference.read_text().split())
    return sorted({name for name in found if name.partition(".")[0] == library})


def public(path: str) -> bool:
    return not any(part.startswith("_") for part in path.split("."))


def truth(paths: list[str], kernel: str | None) -> list[Documented]:
    command = [*find_interpreter(kernel).command, "-c", TRUTH]
    done = subprocess.run(command, input=json.dumps(paths), capture_output=True, text=True, check=True)
    rows = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("[")]
    return [Documented(path, *row) for path, row in zip(paths, rows, strict=True)]


def share(part: int, of: int) -> str:
    return f"{part} of {of} ({100 * part / max(of, 1):.1f} %)"


def coverage(apis: Sequence[ApiDoc]) -> str:
    """Summarizes how many APIs have each kind of metadata."""
    parts = {
        "signature": sum(bool(api.signature) for api in apis),
        "parameters": sum(bool(api.parameters) for api in apis),
        "result": sum(bool(api.returns) for api in apis),
        "examples": sum(bool(api.examples) for api in apis),
        "see also": sum(bool(api.see_also) for api in apis),
        "version notes": sum(bool(api.notes) for api in apis),
        "deprecated": sum(bool(api.deprecated) for api in apis),
    }
    return ", ".join(f"{name} {count}" for name, count in parts.items())


def show(heading: str, rows: list[str], most: int) -> None:
    print(f"{heading}: {len(rows)}", *rows[:most], sep="\n  ")


class Known:
    """Finds APIs by any of their paths, as a library that is opened does."""

    def __init__(self, surface: Surface) -> None:
        self._apis = {api.path: api for api in surface.apis}
        self._aliases = surface.aliases

    def find(self, path: str) -> ApiDoc | None:
        found = self._apis.get(path) or self._apis.get(self._aliases.get(path, ""))
        if found or "." not in path:
            return found
        owner, _, name = path.rpartition(".")
        known = self.find(owner)
        return self.find(f"{known.path}.{name}") if known and known.path != owner else None


async def main(library: str, reference: Path, kernel: str | None, most: int) -> None:
    began = time.monotonic()
    inspect = local_inspector(Sandbox(kernel=kernel))
    (at,) = await surfaces.find_libraries([library], inspect=inspect)
    surface = await surfaces.read_surface(at, inspect=inspect, advance=lambda done: None)
    known = Known(surface)
    took = f"{time.monotonic() - began:.1f} s"
    print(f"{library} {surface.info.version}: {len(surface.apis)} APIs, {coverage(surface.apis)}, in {took}")
    listed = [path for path in names(reference, library) if path != library]
    rows = truth([path for path in listed if public(path)], kernel)
    called = [row for row in rows if row.called]
    found = {row.path: api for row in called if (api := known.find(row.path))}
    signed = [row for row in called if row.signed]
    print("documented public callables found:", share(len(found), len(called)))
    unsigned = [row.path for row in signed if row.path not in found or not found[row.path].signature]
    print("with a signature, of those that have one:", share(len(signed) - len(unsigned), len(signed)))
    show("missing", [row.path for row in called if row.path not in found], most)
    show("without the signature they have", [path for path in unsigned if path in found], most)
    show("documented, but not there when it runs", [row.path for row in rows if not row.there], most)
    show("documented, but private by name", [path for path in listed if not public(path)], 0)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("library", help="import name")
    parser.add_argument("reference", type=Path)
    parser.add_argument("--kernel", help="kernelspec whose interpreter has the library; none: this one")
    parser.add_argument("--most", type=int, default=30, help="names listed of each kind")
    asked = parser.parse_args()
    anyio.run(main, asked.library, asked.reference, asked.kernel, asked.most)

"""The tools of the repository mode on the sources of real packages: `python benchmarks/repository_lookups.py`.

1. Twenty look-ups in attrs, networkx and httpx2 as installed, each with a text that its answer must contain; the texts
   were copied from the sources by hand. Times are in milliseconds, after the index is built.
2. A repository of 2,000 files of installed packages: seconds of the first index, of reading it again after one file
   has changed, and of the first and the later look-ups.
"""

from __future__ import annotations

import itertools
import shutil
import statistics
import sys
import sysconfig
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from exploracoder_jupyter.repository.index import RepositoryIndex
from exploracoder_jupyter.repository.tools import Finding, RepositoryTools

PACKAGES = {"attrs": ("attr", "attrs"), "networkx": ("networkx",), "httpx2": ("httpx2",)}
PROBE = "def shown(error):\n    raise NetworkXNoPath(bidirectional_dijkstra, PlanarEmbedding)\n"
"""A new file in which names are undefined."""
LOOKUPS: dict[str, list[tuple[str, Sequence[str], str]]] = {
    "attrs": [
        ("get_class_info", ("_CountingAttr",), "def __init__( self, default, validator, repr"),
        ("get_class_info", ("Attribute",), "def evolve(self, **changes)"),
        ("get_signature", ("", "instance_of"), "def instance_of(type)"),
        ("get_signature", ("", "define"), "maybe_cls=None, *, these=None"),
        ("get_method_body", ("", "evolve"), "def evolve(*args, **changes):"),
        ("get_relevant_code", ("convert a string such as yes or no to a bool",), "def to_bool(val):"),
        ("get_related_snippets", ("check that a value is one of the given options",), "def in_(options):"),
    ],
    "networkx": [
        ("get_class_info", ("DiGraph", "add and remove edges"), "def remove_edges_from(self, ebunch)"),
        ("get_class_info", ("PlanarEmbedding", "half edges"), "def add_half_edge_cw(self, start_node"),
        ("get_signature", ("DiGraph", "add_edge"), "def add_edge(self, u_of_edge, v_of_edge, **attr)"),
        ("get_signature", ("", "shortest_path"), 'weight=None, method="dijkstra")'),
        ("get_method_body", ("Graph", "number_of_edges"), "return int(self.size())"),
        (
            "get_method_body",
            ("PlanarEmbedding", "add_nodes_from"),
            "def add_nodes_from(self, nodes_for_adding, **attr):",
        ),
        ("get_relevant_code", ("minimum spanning tree of a weighted graph",), "def minimum_spanning_tree(G"),
        ("get_related_snippets", ("betweenness centrality of the nodes of a graph",), "def betweenness_centrality("),
        ("get_imports", ("src/probe.py",), "import PlanarEmbedding"),
    ],
    "httpx2": [
        ("get_class_info", ("Client", "send a request"), "def send("),
        ("get_signature", ("AsyncClient", "get"), "async def get( self, url: URL | str"),
        ("get_method_body", ("Response", "raise_for_status"), "if self.is_success:"),
        ("get_relevant_code", ("parse the Link header of a response",), "def _parse_header_links(value: str)"),
    ],
}


def copy_package(target: Path, folders: Sequence[str]) -> Path:
    """Copy the sources of an installed package into a repository."""
    site = Path(sysconfig.get_path("purelib"))
    for folder in folders:
        shutil.copytree(site / folder, target / "src" / folder, ignore=shutil.ignore_patterns("__pycache__"))
    return target


def call(tools: RepositoryTools, tool: str, arguments: Sequence[str]) -> list[Finding]:
    """Call a tool; an empty first argument is no class."""
    asked: Callable[..., list[Finding]] = getattr(tools, tool)
    return asked(*(argument or None for argument in arguments))


def measure(package: str, folder: Path) -> list[bool]:
    """Print the look-ups in one package; return which were right."""
    root = copy_package(folder / package, PACKAGES[package])
    (root / "src" / "probe.py").write_text(PROBE, encoding="utf-8")
    tools = RepositoryTools(RepositoryIndex.open(root).without_tests(), cache=folder / "cache")
    tools.get_relevant_code("anything")
    right = []
    for tool, arguments, wanted in LOOKUPS[package]:
        began = time.perf_counter()
        found = call(tools, tool, arguments)
        took = 1000 * (time.perf_counter() - began)
        right.append(any(wanted in item.text for item in found))
        place = next((index for index, item in enumerate(found, 1) if wanted in item.text), "-")
        print(f"{package:9} {tool:21} {', '.join(filter(None, arguments)):48} {took:6.1f} {place} of {len(found)}")
    return right


def large(folder: Path, files: int) -> None:
    """Print the times of a repository with so many files."""
    root, site = folder / "large", Path(sysconfig.get_path("purelib"))
    for path in itertools.islice(sorted(site.rglob("*.py")), files):
        copy = root / path.relative_to(site)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, copy)
    for name in ("first index", "index once more"):
        began = time.perf_counter()
        index = RepositoryIndex.open(root)
        print(f"{name:32} {time.perf_counter() - began:6.2f} s, {len(index.by_path)} files")
    tools, times = RepositoryTools(index, cache=folder / "cache"), []
    for query in ("read a table from a file", "draw a line chart", "send a request", "parse a date"):
        began = time.perf_counter()
        tools.get_relevant_code(query)
        tools.get_class_info("Path", query)
        times.append(time.perf_counter() - began)
    print(
        f"{'first look-up':32} {times[0]:6.2f} s\n{'later look-ups, median':32} {statistics.median(times[1:]):6.3f} s"
    )


def main() -> None:
    """Measure and print."""
    with tempfile.TemporaryDirectory() as name:
        right = [one for package in PACKAGES for one in measure(package, Path(name))]
        print(f"{sum(right)} of {len(right)} right")
        large(Path(name), int(sys.argv[1]) if len(sys.argv) > 1 else 2000)


if __name__ == "__main__":
    main()

"""Determines which of the packages recorded for a run its code needs, from the modules that the code imports."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from exploracoder_jupyter.core.python_code import parse_python
from exploracoder_jupyter.kernel_agent.introspection.installed_libraries import distributions_by_module, normalize_name

PINNED: Final = re.compile(r"([A-Za-z0-9][A-Za-z0-9._-]*)==([A-Za-z0-9][A-Za-z0-9._!]*)(?:\+[A-Za-z0-9.]+)?")
"""Name and version. A local version, as in `2.9.0+cu130`, is dropped because no package index has it."""
_EXTRA: Final = re.compile(r"extra == ['\"](?!test|dev|doc|lint|typing|bench|example|release|ci\b)")
_DISTRIBUTIONS: Final[Mapping[str, tuple[str, ...]]] = {
    "Bio": ("biopython",),
    "Crypto": ("pycryptodome",),
    "Levenshtein": ("python-levenshtein",),
    "MySQLdb": ("mysqlclient",),
    "OpenSSL": ("pyopenssl",),
    "PIL": ("pillow",),
    "attr": ("attrs",),
    "bs4": ("beautifulsoup4",),
    "cv2": ("opencv-python", "opencv-python-headless", "opencv-contrib-python"),
    "dateutil": ("python-dateutil",),
    "docx": ("python-docx",),
    "dotenv": ("python-dotenv",),
    "faiss": ("faiss-cpu",),
    "fitz": ("pymupdf",),
    "git": ("gitpython",),
    "igraph": ("python-igraph",),
    "jwt": ("pyjwt",),
    "magic": ("python-magic",),
    "mpl_toolkits": ("matplotlib",),
    "nacl": ("pynacl",),
    "osgeo": ("gdal",),
    "pptx": ("python-pptx",),
    "psycopg2": ("psycopg2-binary",),
    "serial": ("pyserial",),
    "skimage": ("scikit-image",),
    "sklearn": ("scikit-learn",),
    "slugify": ("python-slugify",),
    "umap": ("umap-learn",),
    "yaml": ("pyyaml",),
    "zmq": ("pyzmq",),
}
"""Distributions whose name differs from the module's, for runs in environments that cannot be inspected here."""


def optional_requirements(requirements: Iterable[str]) -> list[str]:
    """Return the optional packages among a distribution's requirements (its extras), except development extras."""
    names = (re.split(r"[^\w.-]", line, maxsplit=1)[0] for line in requirements if _EXTRA.search(line))
    return list(dict.fromkeys(map(normalize_name, names)))


def imported_modules(code: str) -> set[str]:
    """Return the top-level modules that the code imports anywhere; none if it is not plain Python."""
    return {name for node in ast.walk(parse_python(code)) for name in _imported_modules(node)}


def unconditional_imports(code: str) -> set[str]:
    """Return the modules that are imported unconditionally: not within a function, an `if` or a `try`."""
    return {name for node in parse_python(code).body for name in _imported_modules(node)}


def _imported_modules(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Import):
        yield from (alias.name.partition(".")[0] for alias in node.names)
    elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
        yield node.module.partition(".")[0]


def parse_versions(packages: Iterable[str]) -> dict[str, str]:
    """Return the versions of `name==version` lines by canonical name; the last line for a name wins."""
    return {normalize_name(found[1]): found[2] for line in packages if (found := PINNED.fullmatch(line))}


def providing_distributions(module: str, versions: Mapping[str, str]) -> list[str]:
    """Return the recorded distributions that provide a module."""
    names = (*distributions_by_module().get(module, ()), *_DISTRIBUTIONS.get(module, ()), module)
    return list(dict.fromkeys(normalize_name(name) for name in names if normalize_name(name) in versions))

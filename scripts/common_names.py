"""Collects what names mean that many libraries share: `python scripts/common_names.py`. Needs numpy and pandas.

An API without documentation is found by what its name means elsewhere: `asarray`, `astype`, `where`. The array standard
and the data frames of many libraries follow numpy and pandas, others the standard library, so the words of their first
sentences are collected, by name. Only stems of words are stored, in alphabetical order, not the sentences.
"""

from __future__ import annotations

import importlib
import inspect
import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from types import ModuleType

from exploracoder_jupyter.knowledge.search.indexed_text import PATH
from exploracoder_jupyter.text.tokenizer import tokens

MODULES = """
    numpy numpy.linalg numpy.fft numpy.random pandas builtins argparse array asyncio bisect calendar collections
    configparser contextlib csv datetime decimal difflib enum fractions functools heapq io itertools json logging math
    operator os os.path pathlib queue random re shutil socket sqlite3 statistics string subprocess tarfile tempfile
    textwrap threading time urllib.parse urllib.request uuid xml.etree.ElementTree zipfile
    """.split()  # noqa: SIM905
MOST = 12
"""Words of one name."""
_CALL = re.compile(r"[\w.]+\(|>>> ")


def described(module: ModuleType) -> Iterator[tuple[str, str]]:
    """Yield name and first sentence of the public objects of a module, and of the members of its classes."""
    for name in getattr(module, "__all__", dir(module)):
        value = getattr(module, name)
        yield name, summary(value)
        for member in dir(value) if inspect.isclass(value) else ():
            yield member, summary(inspect.getattr_static(value, member))


def summary(value: object) -> str:
    """Return the first sentence of a routine's or a class's documentation, which may begin with its signature."""
    doc = inspect.getdoc(value) if inspect.isroutine(value) or inspect.isclass(value) else None
    paragraphs = [text for text in (doc or "").split("\n\n") if not _CALL.match(text)]
    return " ".join(paragraphs[0].split()).partition(". ")[0] if paragraphs else ""


def main() -> None:
    """Write the table."""
    words: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for module in MODULES:
        for name, text in dict.fromkeys(described(importlib.import_module(module))):
            if not name.startswith("_"):
                words[name].update([*dict.fromkeys(tokens(text))])
    table = {name: sorted(word for word, _ in counts.most_common(MOST)) for name, counts in words.items()}
    lines = (f"{json.dumps(name)}: {json.dumps(' '.join(found))}" for name, found in sorted(table.items()) if found)
    PATH.write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main()

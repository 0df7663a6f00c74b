"""Names that code uses and does not define, and the import statements that would define them."""

from __future__ import annotations

import builtins
import re
import sys
from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from exploracoder_jupyter.core.python_code import parse_python
from exploracoder_jupyter.repository.reading.python_syntax import import_extra, node_text, parser_of, walk
from exploracoder_jupyter.repository.reading.repository_index import RepositoryIndex
from exploracoder_jupyter.repository.reading.source_file import Import, SourceFile

if TYPE_CHECKING:
    from tree_sitter import Node

_MOST_SOURCES: Final = 6
_NO_TYPES: Final = ("import_declaration", "package_declaration", "scoped_type_identifier")
_OPEN: Final = re.compile(r"import \*|__getattr__|globals\(\)")
"""With these a module may define names in ways that are not read."""
_JAVA_LANG: Final = frozenset(
    """Object String StringBuilder Integer Long Double Float Short Byte Character Boolean Number Math System Thread
    Runnable Iterable Comparable CharSequence Enum Record Class Void Override Deprecated SuppressWarnings
    FunctionalInterface SafeVarargs Exception RuntimeException Error Throwable IllegalArgumentException
    IllegalStateException NullPointerException UnsupportedOperationException IndexOutOfBoundsException
    ArithmeticException ClassCastException NumberFormatException InterruptedException CloneNotSupportedException
    AutoCloseable Cloneable Process ProcessBuilder StackTraceElement AssertionError""".split()  # noqa: SIM905
)


def undefined_names(index: RepositoryIndex, path: str) -> list[str]:
    """Return the names that a file of the index uses without defining them, in order.

    Names that it imports from a module of the repository that does not have them are among them. Python that cannot
    be parsed has none.
    """
    file, text = index.by_path[path], "\n".join(index.lines(path))
    found = _undefined_java(index, file, text) if file.language == "java" else _undefined_python(text)
    wrong = (item.name for item in file.imports if not _exists(index, item))
    return list(dict.fromkeys([*found, *wrong]))


def suggest_imports(index: RepositoryIndex, file: SourceFile, name: str) -> list[str]:
    """Return the statements that import a name into a file: by its definitions, then as other files import it."""
    foreign = [item for item in index.definitions.get(name, ()) if item.file != file.path and not item.owner]
    form = "import {}.{};" if file.language == "java" else "from {} import {}"
    defined = [form.format(index.by_path[item.file].module, name) for item in foreign]
    others = index.imports.get(name, ())
    used = Counter(item.statement for source, item in others if source.path != file.path and _exists(index, item))
    standard = [f"import {name}"] if file.language == "python" and name in sys.stdlib_module_names else []
    ordered = sorted(dict.fromkeys(defined), key=lambda statement: -used[statement])
    every = dict.fromkeys([*ordered, *(statement for statement, _ in used.most_common()), *standard])
    return list(every)[:_MOST_SOURCES]


def _undefined_python(text: str) -> Iterator[str]:
    pyflakes = import_extra("pyflakes.checker", "python")
    try:
        messages = pyflakes.Checker(parse_python(text), builtins=dir(builtins)).messages
    except RecursionError:
        return
    for message in sorted(messages, key=lambda message: message.lineno):
        if isinstance(message, pyflakes.messages.UndefinedName):
            yield str(message.message_args[0])


def _undefined_java(index: RepositoryIndex, file: SourceFile, text: str) -> Iterator[str]:
    same_package = (other.definitions for other in index.modules.get(file.module, ()))
    known = {item.name for definitions in same_package for item in definitions}
    known |= {item.name for item in file.imports} | _JAVA_LANG
    for node in walk(parser_of("java").parse(text.encode()).root_node, _NO_TYPES):
        name = _type_name(node)
        if len(name) > 1 and name[0].isupper() and name not in known:
            yield name


def _type_name(node: Node) -> str:
    """Return the name of a type that a node mentions: a type, or what a static method or field belongs to."""
    if node.type == "type_identifier":
        return node_text(node)
    owner = node.child_by_field_name("object") if node.type in ("method_invocation", "field_access") else None
    return node_text(owner) if owner and owner.type == "identifier" and not node_text(owner).isupper() else ""


def _exists(index: RepositoryIndex, item: Import) -> bool:
    """Whether what is imported exists, as far as the repository shows; packages of others always do."""
    root = item.module.partition(".")[0]
    if root not in index.roots or not item.attribute:
        return True
    files = index.modules.get(item.module, [])
    if not files or f"{item.module}.{item.attribute}" in index.modules:
        return bool(files) or any(module.startswith(f"{item.module}.") for module in index.modules)
    names = {one.name for file in files for one in file.definitions}
    names |= {one.name for file in files for one in file.imports}
    return item.attribute in names or any(_OPEN.search("\n".join(index.lines(file.path))) for file in files)

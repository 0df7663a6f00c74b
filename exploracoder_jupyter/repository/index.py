"""The index of a repository: every definition and import, and the imports that code lacks."""

from __future__ import annotations

import builtins
import hashlib
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Final

from platformdirs import user_cache_path
from pydantic import TypeAdapter, ValidationError

from exploracoder_jupyter.core.errors import MissingRequirement, UsageError
from exploracoder_jupyter.core.files import write_atomic
from exploracoder_jupyter.core.messages import plural
from exploracoder_jupyter.core.python_code import parse_python
from exploracoder_jupyter.repository.source_files import (
    LANGUAGES,
    Definition,
    Import,
    SourceFile,
    import_extra,
    node_text,
    parse_java,
    parse_source_file,
    parser_of,
    walk,
)
from exploracoder_jupyter.text.files import Limits, iter_paths, read_file

if TYPE_CHECKING:
    from tree_sitter import Node


# The index of a repository: every definition and import of its source files, updated by the files that changed.
#
# A file counts as unchanged while its size and modification time are; the parsed files are cached as JSON in the
# user's cache folder. Nothing is written into the repository. Definitions are found by name and by module.

LIMITS: Final = Limits(files=20_000, folders=20_000, entries=200_000, bytes=400_000_000, seconds=60.0)
"""What is indexed of a repository at most."""
_FORMAT: Final = 2
"""Raised when the parsers change, so that cached files are parsed again."""
_TEST_FILE: Final = re.compile(r"(^|/)(tests?/|test_[^/]*\.py$|[^/]*_test\.py$|conftest\.py$|[^/]*Tests?\.java$)")
_SOURCE_FOLDERS: Final = ("src", "lib", "python")


@dataclass(frozen=True, slots=True)
class _CachedFile:
    stamp: tuple[int, int]
    """Size in bytes and modification time in nanoseconds."""
    file: SourceFile


_CACHE: TypeAdapter[dict[str, _CachedFile]] = TypeAdapter(dict[str, _CachedFile])


@dataclass(frozen=True)
class RepositoryIndex:
    """The source files of one repository at one moment."""

    root: Path
    files: tuple[SourceFile, ...]
    digest: str
    """Changes with any file."""
    notice: str = ""
    """What is not indexed and why, if the repository is too large or a grammar is not installed."""
    overlay: dict[str, str] = field(default_factory=dict)
    """Texts by path that replace those on disk."""

    @classmethod
    def open(cls, root: Path, *, cache: Path | None = None) -> RepositoryIndex:
        """Read the source files below a folder that changed since the last time; by default with the user's cache.

        UsageError if there is no such folder, MissingRequirement if all of its files are in languages whose grammar is
        not installed.
        """
        if not root.is_dir():
            raise UsageError(f"There is no folder {str(root)!r}.", remedy="Name the folder of a repository.")
        root = root.resolve()
        name = hashlib.sha256(f"{_FORMAT}\0{root}".encode()).hexdigest()[:32]
        place = (cache or user_cache_path("exploracoder_jupyter")) / "repositories" / f"{name}.json"
        paths = list(_with_package_files(root, iter_paths(root, LIMITS, LANGUAGES.keys())))
        known: dict[str, _CachedFile] = {}
        with suppress(OSError, ValidationError):
            known = _CACHE.validate_json(place.read_bytes())
        if _packages(known) != _packages(paths):  # the names of all modules may have changed
            known = {}
        unread: dict[str, MissingRequirement] = {}
        current = dict(_current_files(root, paths, known, unread))
        if unread and not current:
            raise next(iter(unread.values()))
        if current != known:
            with suppress(OSError):  # without a cache the next start is slower, and nothing else
                place.parent.mkdir(parents=True, exist_ok=True)
                write_atomic(place, _CACHE.dump_json(current), mode=0o600)
        stamps = repr([(path, item.stamp) for path, item in sorted(current.items())])
        notices = [f"{error} They are left out." for error in unread.values()]
        if len(paths) >= LIMITS.files:
            notices.append(f"Only {plural(len(paths), 'source file')} of the repository are indexed; it has more.")
        files = tuple(item.file for item in current.values())
        digest = hashlib.sha256(stamps.encode()).hexdigest()
        return cls(root, files, digest, " ".join(notices))

    @cached_property
    def by_path(self) -> dict[str, SourceFile]:
        """The files by their path."""
        return {file.path: file for file in self.files}

    @cached_property
    def definitions(self) -> dict[str, list[Definition]]:
        """All definitions by their unqualified name."""
        found: dict[str, list[Definition]] = defaultdict(list)
        for file in self.files:
            for definition in file.definitions:
                found[definition.name].append(definition)
        return dict(found)

    @cached_property
    def modules(self) -> dict[str, list[SourceFile]]:
        """The files by their module or package."""
        found: dict[str, list[SourceFile]] = defaultdict(list)
        for file in self.files:
            found[file.module].append(file)
        return dict(found)

    @cached_property
    def imports(self) -> dict[str, list[tuple[SourceFile, Import]]]:
        """All imports by the name that they bind."""
        found: dict[str, list[tuple[SourceFile, Import]]] = defaultdict(list)
        for file in self.files:
            for item in file.imports:
                found[item.name].append((file, item))
        return dict(found)

    @cached_property
    def roots(self) -> frozenset[str]:
        """The first parts of the names of all modules and packages."""
        return frozenset(module.partition(".")[0] for module in self.modules)

    def classes(self, name: str) -> list[Definition]:
        """Return every class of this name; of a dotted name the last parts have to match."""
        name = name.strip()
        found = [item for item in self.definitions.get(name.rpartition(".")[2], ()) if item.kind == "class"]
        return [item for item in found if f".{self.path_of(item)}".endswith(f".{name}")] or found

    def path_of(self, definition: Definition) -> str:
        """Return the dotted path of a definition: `shop.cart.Cart.total`."""
        return f"{self.by_path[definition.file].module}.{definition.qualified}"

    def members(self, owner: Definition) -> list[Definition]:
        """Return the members that a class itself defines, in order."""
        definitions = self.by_path[owner.file].definitions
        return [item for item in definitions if item.owner == owner.qualified and item.file == owner.file]

    def lines(self, path: str) -> list[str]:
        """Return the lines of a file of the index; none if it cannot be read any more."""
        if path in self.overlay:
            return self.overlay[path].split("\n")
        return (read_file(self.root / path, LIMITS) or "").split("\n")

    def code(self, definition: Definition) -> str:
        """Return the source code of a definition."""
        return "\n".join(self.lines(definition.file)[definition.line - 1 : definition.end])

    def without_tests(self) -> RepositoryIndex:
        """Return the index without test files, so that what decides about an attempt is not retrieved for it."""
        files = tuple(file for file in self.files if not is_test_file(file.path))
        digest = hashlib.sha256(f"{self.digest}\0without tests".encode()).hexdigest()
        return RepositoryIndex(self.root, files, digest, self.notice, self.overlay)

    def replaced(self, path: str, text: str) -> RepositoryIndex:
        """Return the index with another text for one file, which need not exist."""
        files = tuple(file for file in self.files if file.path != path)
        digest = hashlib.sha256(f"{self.digest}\0{path}\0{text}".encode()).hexdigest()
        changed = _parse_source(self.root, path, text.encode(), set(self.by_path))
        return RepositoryIndex(self.root, (*files, changed), digest, self.notice, {**self.overlay, path: text})


def is_test_file(path: str) -> bool:
    """Whether a file of a repository holds tests, or what they need."""
    return _TEST_FILE.search(path) is not None


def _parse_source(root: Path, path: str, text: bytes, paths: set[str]) -> SourceFile:
    """Parse the text of a file of the repository at `root`, which has these paths."""
    if LANGUAGES[PurePosixPath(path).suffix] == "java":
        return parse_java(text, path)
    outer = _packages_around(root) if "__init__.py" in paths else ""
    return parse_source_file(text, path, ".".join(filter(None, [outer, _python_module(path, paths)])))


def _python_module(path: str, paths: set[str]) -> str:
    """Return the name under which a Python file is imported: from the outermost package, or below a source folder."""
    file = PurePosixPath(path)
    parts = list(file.parts[:-1])
    outermost = len(parts)
    while outermost and "/".join([*parts[:outermost], "__init__.py"]) in paths:
        outermost -= 1
    if outermost == len(parts) and parts:  # not in a package
        outermost = 1 if parts[0] in _SOURCE_FOLDERS else 0
    return ".".join([*parts[outermost:], *([] if file.stem == "__init__" else [file.stem])])


@cache
def _packages_around(root: Path) -> str:
    """Return the dotted name of a folder that is a package itself."""
    outer = _packages_around(root.parent) if (root.parent / "__init__.py").is_file() else ""
    return f"{outer}.{root.name}" if outer else root.name


def _with_package_files(root: Path, paths: Iterable[str]) -> Iterator[str]:
    """Yield the paths, and the `__init__.py` beside them: the walk leaves out names with two underscores."""
    seen: set[PurePosixPath] = set()
    for path in paths:
        for folder in PurePosixPath(path).parents:
            if folder in seen or not path.endswith(".py"):
                break
            seen.add(folder)
            if (root / folder / "__init__.py").is_file():
                yield (folder / "__init__.py").as_posix()
        yield path


def _packages(paths: Iterable[str]) -> set[str]:
    return {path for path in paths if path.endswith("__init__.py")}


def _current_files(
    root: Path, paths: list[str], known: dict[str, _CachedFile], unread: dict[str, MissingRequirement]
) -> Iterator[tuple[str, _CachedFile]]:
    """Yield the files that can be read; add what is missing to `unread`, by suffix."""
    every = set(paths)
    for path in paths:
        with suppress(OSError, UnicodeEncodeError):  # paths that are not UTF-8 cannot be stored
            path.encode()
            found = (root / path).stat()
            stamp = (found.st_size, found.st_mtime_ns)
            if path in known and known[path].stamp == stamp:
                yield path, known[path]
            elif (text := read_file(root / path, LIMITS)) is not None:
                try:
                    source = _parse_source(root, path, text.encode(), every)
                except MissingRequirement as error:
                    unread[PurePosixPath(path).suffix] = error
                    continue
                yield path, _CachedFile(stamp, source)


# Names that code uses and does not define, and the import statements that would define them.

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

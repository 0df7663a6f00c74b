"""Walks the public API of an installed library, in the interpreter that will run the code.

A program: `main(["sklearn", "--seconds", "120"])` imports the library and its public submodules and prints lines of
JSON: `{"progress": n}` while it walks, one `{"api": {...}}` per public object, last `{"library": {...}}`; or
`{"error": "import", ...}` and exit status 3.

An object has one row however often it is reachable: the shortest public path names it, the others are its aliases.
`__all__` says what is public; without it, what the library itself defines and does not mark with an underscore. A
package whose `__all__` names submodules means that its other submodules are private. Everything that touches the
library is guarded: its code may print, exit, hang, warn or answer any attribute.
"""

from __future__ import annotations

import argparse
import importlib
import inspect
import json
import pkgutil
import re
import sys
import time
import types
import warnings
from collections import deque

from exploracoder_jupyter.inside.api_row import Found, attribute, documentation, is_class, is_module, signature, string
from exploracoder_jupyter.inside.guards import limited, silenced

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Any

SKIPPED = re.compile(
    r"_.*|.*_?tests?|test_.*|conftest|setup|versioneer|f2py|cli|scripts?|bench(marks?)?|examples?"
    r"|externals?|extern|vendor(ed)?|third_?party|__main__"
)
DEEPEST = 7


class Walk:
    """Breadth first over modules and classes, so that shorter paths are met first."""

    def __init__(
        self, name: str, *, seconds: float, progress: Callable[[int], None], beside: Sequence[str] = ()
    ) -> None:
        self.name = name
        self.tops = {top.lstrip("_") for top in (name.partition(".")[0], *beside)}
        self.deadline = time.monotonic() + seconds
        self.progress = progress
        self.found: dict[int, Found] = {}
        self.seen: set[int] = set()
        self.queue: deque[tuple[str, Any]] = deque()
        self.skipped = 0
        self.cut = False

    def run(self, module: types.ModuleType) -> None:
        """Walk from this module; stops at the deadline with what it has."""
        self.queue.append((self.name, module))
        while self.queue and not self.cut:
            path, node = self.queue.popleft()
            if id(node) in self.seen or path.count(".") >= DEEPEST:
                continue
            self.seen.add(id(node))
            (self._module if is_module(node) else self._class)(path, node)
            self.cut = time.monotonic() > self.deadline
            self.progress(len(self.found))

    def rows(self) -> Iterator[dict[str, Any]]:
        """One row per object; methods that differ in nothing but their class are one object."""
        twins: dict[tuple[str, ...], dict[str, Any]] = {}
        for found in self.found.values():
            row = found.row()
            if not row["doc"] or row["kind"] not in ("method", "property"):
                yield row
                continue
            key = (row["path"].rpartition(".")[2], row["signature"], row["doc"])
            first = twins.setdefault(key, row)
            if first is not row:
                first["aliases"] += [row["path"], *row["aliases"]]
        yield from twins.values()

    def _module(self, path: str, module: Any) -> None:
        declared = attribute(module, "__all__")
        listed = [n for n in declared if isinstance(n, str)] if isinstance(declared, (list, tuple)) else None
        values = {name: attribute(module, name) for name in (self._names(module) if listed is None else listed)}
        if listed is None:
            values = self._exported(module, values)
        for name, value in values.items():
            if not name.startswith("_") and not (SKIPPED.fullmatch(name) and is_module(value)):
                self._offer(f"{path}.{name}", value, listed=listed is not None)
        self._submodules(path, module, listed)

    def _submodules(self, path: str, module: Any, listed: list[str] | None) -> None:
        here = attribute(module, "__path__")
        full = attribute(module, "__name__")
        if here is None or not isinstance(full, str):
            return
        below = [name for _, name, _ in pkgutil.iter_modules(list(here)) if not SKIPPED.fullmatch(name)]
        told = [name for name in below if listed and name in listed and is_module(attribute(module, name))]
        for name in told or below:
            loaded = self._load(f"{full}.{name}")
            if loaded is not None:
                self.queue.append((f"{path}.{name}", loaded))

    def _load(self, full: str) -> types.ModuleType | None:
        if full in sys.modules:
            return sys.modules[full]
        try:
            with limited(self.deadline - time.monotonic()):
                return importlib.import_module(full)
        except KeyboardInterrupt:
            raise
        except BaseException:
            self.skipped += 1
            return None

    def _offer(self, path: str, value: Any, *, listed: bool) -> None:
        if value is None:
            return
        if is_module(value):
            if self._ours(value) or listed:
                self.queue.append((path, value))
        elif is_class(value):
            self._add(path, value, "class")
            if self._ours(value):
                self.queue.append((path, value))
        elif type(value).__module__ == "typing":
            return
        elif callable(value):
            self._add(path, value, "function")
        elif listed and self._ours(type(value)):
            self._add(path, value, "constant")

    def _class(self, path: str, owner: Any) -> None:
        lineage = type.mro(owner) if type(owner) is type else list(owner.__mro__)
        ours = [cls for cls in lineage if self._ours(cls)]
        taken: set[str] = set()
        for home in ours:
            for name in list(home.__dict__):
                if isinstance(name, str) and not name.startswith("_") and name not in taken:
                    taken.add(name)
                    self._member(f"{path}.{name}", home, owner, name)

    def _member(self, path: str, home: Any, owner: Any, name: str) -> None:
        raw = home.__dict__[name]
        inherited = home is not owner
        if isinstance(raw, (staticmethod, classmethod)):
            self._add(path, raw.__func__, "method", inherited=inherited, bound=isinstance(raw, classmethod))
        elif inspect.isroutine(raw):
            self._add(path, raw, "method", inherited=inherited, bound=inspect.isfunction(raw))
        elif isinstance(raw, property) or inspect.isdatadescriptor(raw):
            self._add(path, raw, "property", inherited=inherited)
        else:
            self._attribute(path, raw, attribute(owner, name), inherited=inherited)

    def _attribute(self, path: str, raw: Any, value: Any, *, inherited: bool) -> None:
        if is_class(value):
            if self._ours(value):
                self._add(path, value, "class", inherited=inherited)
                self.queue.append((path, value))
        elif callable(value):
            shown = value if string(value, "__doc__") else raw
            self._add(path, shown, "method", inherited=inherited, bound=inspect.isfunction(shown))
        elif hasattr(type(raw), "__get__"):
            self._add(path, raw, "property", inherited=inherited)

    def _add(self, path: str, value: Any, kind: str, *, inherited: bool = False, bound: bool = False) -> None:
        found = self.found.get(id(value))
        if found is None:
            doc = documentation(value)
            called = signature(value, doc, bound=bound) if kind not in ("property", "constant") else ""
            found = self.found[id(value)] = Found(value, kind, doc, called)
        other_name = string(value, "__name__") not in (path.rpartition(".")[2], None)
        rank = (path.count(".") + inherited, inherited, other_name, len(found.paths))
        found.paths.append((rank, path))

    def _exported(self, module: Any, values: dict[str, Any]) -> dict[str, Any]:
        """Those names of a module without `__all__` that are meant for users.

        What a package, or a module that defines nothing itself, takes from elsewhere in the library it hands on; any
        other module imports it for its own use.
        """
        here, package = str(attribute(module, "__name__")), attribute(module, "__path__") is not None
        ours = {name: value for name, value in values.items() if value is not None and self._ours(value)}
        inner = {name: value for name, value in ours.items() if not is_module(value)}
        own = {name: value for name, value in inner.items() if string(value, "__module__") in (here, "", None)}
        modules = {name: value for name, value in ours.items() if is_module(value)}
        if not (package and here == self.name):
            modules = {name: value for name, value in modules.items() if value.__name__.startswith(here + ".")}
        return {**modules, **(inner if package or not own else own)}

    def _names(self, module: Any) -> list[str]:
        try:
            return [name for name in dir(module) if isinstance(name, str) and not name.startswith("_")]
        except Exception:
            return [name for name in vars(module) if not name.startswith("_")]

    def _ours(self, value: Any) -> bool:
        """Whether this library defines it; objects that do not say belong to the module they are found in."""
        home = string(value, "__name__" if is_module(value) else "__module__")
        if not home:
            return callable(value) and not is_class(value)
        return home.partition(".")[0].lstrip("_") in self.tops


def walk(name: str, *, seconds: float, say: Callable[[dict[str, Any]], None], beside: Sequence[str] = ()) -> bool:
    """Walk one library and say its rows; False when it cannot be imported.

    `beside`: other top-level modules whose objects are the library's own.
    """
    last = [time.monotonic()]

    def progress(count: int) -> None:
        if time.monotonic() - last[0] > 0.2:
            last[0] = time.monotonic()
            say({"progress": count})

    try:
        with limited(seconds):
            module = importlib.import_module(name)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        say({"error": "import", "library": name, "detail": f"{type(error).__name__}: {error}"})
        return False
    job = Walk(name, seconds=seconds, progress=progress, beside=beside)
    job.run(module)
    for row in job.rows():
        say({"api": row})
    version = attribute(module, "__version__")
    about = {"name": name, "doc": documentation(module), "skipped": job.skipped, "cut": job.cut}
    say({"library": {**about, "version": version if isinstance(version, str) else ""}})
    return True


def main(argv: Sequence[str] | None = None) -> int:
    """Walk the libraries named by import name; exit status 3 when one cannot be imported."""
    parser = argparse.ArgumentParser(description="Print the public API of libraries as lines of JSON.")
    parser.add_argument("libraries", nargs="+")
    parser.add_argument("--beside", action="append", default=[], help="another module of the same distribution")
    parser.add_argument("--seconds", type=float, default=180.0, help="for each library")
    asked = parser.parse_args(argv)
    warnings.simplefilter("ignore")
    with silenced() as stream:

        def say(row: dict[str, Any]) -> None:
            stream.write(json.dumps(row) + "\n")
            stream.flush()

        done = [walk(name, seconds=asked.seconds, say=say, beside=asked.beside) for name in asked.libraries]
    return 0 if all(done) else 3


if __name__ == "__main__":
    sys.exit(main())

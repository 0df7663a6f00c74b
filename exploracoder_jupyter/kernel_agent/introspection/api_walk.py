"""Walks the public API of an installed library, in the interpreter that will run the code.

The program, with arguments such as `sklearn --seconds 120`, imports the library and its public submodules. It prints
lines of JSON: `{"imported": true}` after the import of the library, `{"progress": n}` during the walk, `{"loading":
name}` before each module it imports, one `{"api": {...}}` per public object, and finally `{"library": {...}}`; or
`{"error": "import", ...}` with exit status 3, where `missing` lists the paths that the error names and that do not
exist here.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import re
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from exploracoder_jupyter.kernel_agent.introspection.api_row import MAX_DOC, documentation, string_attribute
from exploracoder_jupyter.kernel_agent.introspection.module_locations import library_root
from exploracoder_jupyter.kernel_agent.introspection.object_walker import ApiWalker
from exploracoder_jupyter.kernel_agent.introspection.public_names import Scope
from exploracoder_jupyter.kernel_agent.introspection.stub_signatures import signature_in_stubs
from exploracoder_jupyter.kernel_agent.introspection.stub_walk import stub_rows
from exploracoder_jupyter.kernel_agent.reporting.call_guards import silence_standard_streams, time_limit

_PATH = re.compile(r"(?<![\w/.~])~?/[^\s'\",:;()]*[^\s'\",:;().]")
_MAX_DETAIL, _MAX_PATHS = 4000, 5
MAX_UNIMPORTED = 100


def walk(
    name: str,
    *,
    seconds: float,
    import_seconds: float = 120.0,
    emit: Callable[[Mapping[str, Any]], None],
    beside: Sequence[str] = (),
    without: Sequence[str] = (),
) -> bool:
    """Walk one library and emit its rows; returns False if it cannot be imported.

    `import_seconds`: how long the import of the library itself may take. `beside`: other top-level modules whose
    objects belong to the library. `without`: modules not to import.
    """
    began, limit = time.monotonic(), min(seconds, import_seconds)
    try:
        with time_limit(limit):
            module = importlib.import_module(name)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        missing = isinstance(error, ModuleNotFoundError) and f"{name}.".startswith(f"{error.name}.")
        if missing and _walk_stubs(name, emit):
            return True
        late = isinstance(error, TimeoutError) and time.monotonic() - began >= limit
        why = f"its import did not end within {limit:g} s" if late else f"{type(error).__name__}: {error}"
        paths = _missing_paths(error)
        emit({"error": "import", "library": name, "detail": why, **({"missing": paths} if paths else {})})
        return False
    emit({"imported": True})
    scope = Scope(name, beside, root=library_root(module, name))
    walker = ApiWalker(scope, seconds=seconds, emit=emit, without=without)
    walker.run(module)
    if not walker.catalogue.objects and _walk_stubs(name, emit):
        return True
    walker.catalogue.fill_signatures(signature_in_stubs)
    for row in walker.catalogue.rows():
        emit({"api": row})
    version, doc = string_attribute(module, "__version__") or "", documentation(module)[:MAX_DOC]
    gaps = {"unimported": list(walker.unimported.items())[:MAX_UNIMPORTED], "cut": walker.truncated}
    emit({"library": {"name": name, "version": version, "doc": doc, **gaps}})
    return True


def _missing_paths(error: BaseException) -> list[str]:
    """Return the paths that an error names and that are not there; they may exist outside of this process's view."""
    named = [getattr(error, "filename", None), *_PATH.findall(str(error)[:_MAX_DETAIL])]
    paths = (os.path.expanduser(path) for path in named if isinstance(path, str))
    return [path for path in dict.fromkeys(paths) if os.path.isabs(path) and not os.path.exists(path)][:_MAX_PATHS]


def _walk_stubs(name: str, emit: Callable[[Mapping[str, Any]], None]) -> bool:
    """Emit rows from the type stubs of a library that has no code; returns False if there are none."""
    rows = list(stub_rows(name))
    for row in rows:
        emit({"api": row})
    if rows:
        emit({"library": {"name": name, "stubs": True}})
    return bool(rows)


def main() -> int:
    """Walk the libraries with these import names; returns exit status 3 if one cannot be imported."""
    parser = argparse.ArgumentParser(description="Print the public API of libraries as lines of JSON.")
    parser.add_argument("libraries", nargs="+")
    parser.add_argument("--beside", action="append", default=[], help="another module of the same distribution")
    parser.add_argument("--without", action="append", default=[], help="a module that is not to be imported")
    parser.add_argument("--seconds", type=float, default=180.0, help="for each library")
    parser.add_argument("--import-seconds", type=float, default=120.0, help="for the import of the library itself")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    with silence_standard_streams() as stream:

        def emit(row: Mapping[str, Any]) -> None:
            stream.write(json.dumps(row) + "\n")
            stream.flush()

        arguments = {name: value for name, value in vars(options).items() if name != "libraries"} | {"emit": emit}
        results = [walk(name, **arguments) for name in options.libraries]
    return 0 if all(results) else 3


if __name__ == "__main__":
    os._exit(main())  # skips the library's threads, exit handlers and finalizers

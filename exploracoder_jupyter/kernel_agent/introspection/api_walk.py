"""Walks the public API of an installed library, in the interpreter that will run the code.

A program: `main(["sklearn", "--seconds", "120"])` imports the library and its public submodules and prints lines of
JSON: `{"progress": n}` while it walks, `{"loading": name}` before each module that it imports, one `{"api": {...}}` per
public object, last `{"library": {...}}`; or `{"error": "import", ...}` and exit status 3.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import sys
import warnings

from exploracoder_jupyter.kernel_agent.introspection.api_row import LONGEST_DOC, attribute, documentation
from exploracoder_jupyter.kernel_agent.introspection.api_scope import Scope
from exploracoder_jupyter.kernel_agent.introspection.module_locations import root
from exploracoder_jupyter.kernel_agent.introspection.object_walker import Walk
from exploracoder_jupyter.kernel_agent.introspection.stub_signatures import Stubs
from exploracoder_jupyter.kernel_agent.introspection.stub_walk import stub_rows
from exploracoder_jupyter.kernel_agent.reporting.call_guards import silence_standard_streams, time_limit

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any


def walk(
    name: str,
    *,
    seconds: float,
    say: Callable[[Mapping[str, Any]], None],
    beside: Sequence[str] = (),
    without: Sequence[str] = (),
) -> bool:
    """Walk one library and say its rows; False when it cannot be imported.

    `beside`: other top-level modules whose objects are the library's own. `without`: modules that are not imported.
    """
    try:
        with time_limit(seconds):
            module = importlib.import_module(name)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        if isinstance(error, ModuleNotFoundError) and f"{name}.".startswith(f"{error.name}.") and _by_stubs(name, say):
            return True
        say({"error": "import", "library": name, "detail": f"{type(error).__name__}: {error}"})
        return False
    job = Walk(Scope(name, beside, root=root(module, name, sys.modules)), seconds=seconds, say=say, without=without)
    job.run(module)
    if not job.known.found and _by_stubs(name, say):
        return True
    job.known.fill(Stubs())
    for row in job.known.rows():
        say({"api": row})
    version = attribute(module, "__version__")
    about = {"name": name, "doc": documentation(module)[:LONGEST_DOC], "skipped": job.skipped, "cut": job.cut}
    say({"library": {**about, "version": version if isinstance(version, str) else ""}})
    return True


def _by_stubs(name: str, say: Callable[[Mapping[str, Any]], None]) -> bool:
    """Say what the type stubs of a library tell that has nothing else; False where there are none."""
    rows = list(stub_rows(name))
    for row in rows:
        say({"api": row})
    if rows:
        say({"library": {"name": name, "stubs": True}})
    return bool(rows)


def main(argv: Sequence[str] | None = None) -> int:
    """Walk the libraries named by import name; exit status 3 when one cannot be imported."""
    parser = argparse.ArgumentParser(description="Print the public API of libraries as lines of JSON.")
    parser.add_argument("libraries", nargs="+")
    parser.add_argument("--beside", action="append", default=[], help="another module of the same distribution")
    parser.add_argument("--without", action="append", default=[], help="a module that is not to be imported")
    parser.add_argument("--seconds", type=float, default=180.0, help="for each library")
    asked = parser.parse_args(argv)
    warnings.simplefilter("ignore")
    with silence_standard_streams() as stream:

        def say(row: Mapping[str, Any]) -> None:
            stream.write(json.dumps(row) + "\n")
            stream.flush()

        given = {"seconds": asked.seconds, "say": say, "beside": asked.beside, "without": asked.without}
        done = [walk(name, **given) for name in asked.libraries]
    return 0 if all(done) else 3


if __name__ == "__main__":
    status = main()
    os._exit(status)  # no thread, handler or finaliser of the library has a say in the end

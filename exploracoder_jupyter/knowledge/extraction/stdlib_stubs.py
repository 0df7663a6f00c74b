"""Signatures from type stubs, for compiled parts of the standard library, which often cannot be inspected.

jedi ships the stubs (typeshed) and reads them without running anything. For other libraries jedi would import their
compiled modules in this process, outside of any sandbox, so their signatures stay as the walk found them.
"""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from functools import cache
from tempfile import TemporaryDirectory

_SECONDS = 10.0
_MAX_APIS = 300
_SELF_PARAMETER = re.compile(r"^\((?:self|cls)(?:, /)?(?:, )?")


def stub_signatures(paths: Sequence[str], *, module: str) -> dict[str, str]:
    """Look up the stub signatures of these standard-library APIs, such as `(x, base=...)`, for at most `_SECONDS`."""
    import jedi  # takes a third of a second and is rarely needed

    jedi.settings.cache_directory = _private_folder().name
    deadline = time.monotonic() + _SECONDS
    found: dict[str, str] = {}
    for path in paths[:_MAX_APIS]:
        if time.monotonic() > deadline:
            break
        script = jedi.Script(f"import {module}\n{path}(", environment=jedi.InterpreterEnvironment())
        for signature in script.get_signatures()[:1]:
            text = signature.to_string()
            found[path] = _SELF_PARAMETER.sub("(", text[text.index("(") :].partition(" -> ")[0])
    return found


@cache
def _private_folder() -> TemporaryDirectory[str]:
    """Return a folder for parsed stubs, which is deleted with this process.

    In the folder that jedi shares between processes, one can read a file that another has begun to write.
    """
    return TemporaryDirectory(prefix="stubs-")

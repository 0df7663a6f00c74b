"""Signatures from type stubs, for the compiled part of the standard library, which often cannot be inspected.

jedi brings the stubs (typeshed) and reads them without running anything. For other libraries jedi would import their
compiled modules in this process, outside of every confinement: they are left as the walk found them.
"""

from __future__ import annotations

import re
import time
from collections.abc import Sequence

_SECONDS = 10.0
_MOST = 300
_UNBOUND = re.compile(r"^\((?:self|cls)(?:, /)?(?:, )?")


def signatures(paths: Sequence[str], *, module: str) -> dict[str, str]:
    """What the stubs say of these APIs of a standard module, as in `(x, base=...)`; within some seconds."""
    import jedi  # type: ignore[import-untyped]  # a third of a second, needed for few libraries

    deadline = time.monotonic() + _SECONDS
    found: dict[str, str] = {}
    for path in paths[:_MOST]:
        if time.monotonic() > deadline:
            break
        script = jedi.Script(f"import {module}\n{path}(", environment=jedi.InterpreterEnvironment())
        for seen in script.get_signatures()[:1]:
            text = seen.to_string()
            found[path] = _UNBOUND.sub("(", text[text.index("(") :].partition(" -> ")[0])
    return found

"""Imports nbformat two seconds faster if JupyterLab is installed.

nbformat imports jsonschema, which imports `rfc3987_syntax` if it is installed: a grammar that takes two seconds to
build, for a check (of IRIs) that no notebook needs. It is hidden during this one import; nothing else is changed.
"""

import sys
from types import ModuleType
from typing import cast

_SLOW = "rfc3987_syntax"

if _SLOW not in sys.modules and "jsonschema" not in sys.modules:
    sys.modules[_SLOW] = cast(ModuleType, None)
    try:
        import nbformat  # noqa: F401
    finally:
        del sys.modules[_SLOW]

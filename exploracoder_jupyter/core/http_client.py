"""The HTTP library that the installed `openai` uses: version 3 moved from httpx to httpx2, which has the same names.

Its clients, transports and exceptions must be of the same library as the client that `openai` is given. Import
`httpx` from here, and nowhere else from a library.
"""

from __future__ import annotations

from importlib import import_module
from importlib.metadata import version
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import httpx2 as httpx
else:
    httpx = import_module("httpx" if int(version("openai").partition(".")[0]) < 3 else "httpx2")

__all__ = ["httpx"]

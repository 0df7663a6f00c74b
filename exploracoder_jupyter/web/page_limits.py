"""Limits on the pages of the web and of a folder: how large they may be, and how many are read."""

from __future__ import annotations

from typing import Final

MAX_PAGE_BYTES: Final = 2_000_000
"""Maximum size of one page in bytes."""
MAX_PAGES_TRIED: Final = 3
"""How many hits of a search are tried until a page has usable text."""
MAX_SAVED_PAGES: Final = 2_000
"""Maximum number of saved pages that are read from a folder."""

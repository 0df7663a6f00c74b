"""Requests of a page that begin an exploration, and their answers. Part of the protocol in `browser_messages`."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict

_MESSAGE = ConfigDict(frozen=True, extra="ignore")


class ListLibraries(BaseModel):
    """The page completes the name of a library. Answered by `LibraryNames`."""

    model_config = _MESSAGE
    type: Literal["list_libraries"] = "list_libraries"
    request: int = 0


class LibraryNames(BaseModel):
    """Answer to `ListLibraries`: names that can be explored in this kernel, each list sorted."""

    model_config = _MESSAGE
    type: Literal["library_names"] = "library_names"
    request: int
    imported: list[str] = []
    """Top-level names of the packages that the user's variables come from."""
    installed: list[str] = []
    """Import and distribution names of installed packages, and the modules of the standard library."""


EntryRequest = ListLibraries
"""A request that refers to no run."""
EntryAnswer = LibraryNames

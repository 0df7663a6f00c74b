"""Searches a folder of saved pages, for use without a network and for pages behind a login."""

from __future__ import annotations

import os
import re
import stat
from collections import deque
from collections.abc import Container, Iterator, Sequence
from contextlib import suppress
from html import unescape
from itertools import islice
from pathlib import Path
from threading import Lock, Thread

import anyio.to_thread

from exploracoder_jupyter.text.lexical_index import LexicalIndex
from exploracoder_jupyter.web.fetching.address_check import origin_of
from exploracoder_jupyter.web.reading.site_rules import extract_content
from exploracoder_jupyter.web.web_types import MAX_PAGE_BYTES, Page, PageFormat, SearchHit, WebError

_FORMS: dict[str, PageFormat] = {
    ".html": "html",
    ".htm": "html",
    ".md": "markdown",
    ".markdown": "markdown",
    ".txt": "text",
    ".rst": "text",
}
MAX_SAVED_PAGES = 2_000
_MAX_ENTRIES = 100_000
_HEAD_CHARS = 20_000
_CANONICAL = re.compile(r"<link\b[^>]{0,500}?\brel\s*=\s*[\"']?canonical\b[^>]{0,2000}>", re.IGNORECASE)
_HREF = re.compile(r"\bhref\s*=\s*[\"']?([^\s\"'>]+)", re.IGNORECASE)
_SAVED_FROM = re.compile(r"<!--\s*saved from url=\(\d+\)(\S+)\s*-->")


class SavedPages:
    """Searches and reads saved pages.

    A page is identified by the address that it was saved from, if the file contains it, otherwise by its path in the
    folder.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._pages: dict[str, Page] | None = None
        self._sections: list[tuple[str, str]] = []
        """Address and title of each section."""
        self._index = LexicalIndex.build([])
        self._lock = Lock()  # an abandoned search finishes reading, for the next one

    def prepare(self) -> None:
        """Start reading in the background, because many pages take many seconds, so that the first search is faster."""

        def read() -> None:
            with suppress(WebError):  # the search will report it
                self._read()

        Thread(target=read, name="saved pages", daemon=True).start()

    async def find(self, query: str, most: int) -> Sequence[SearchHit]:
        """Return the pages with the best sections, best first. Raises WebError if the folder does not exist."""
        return await anyio.to_thread.run_sync(self._find, query, most, abandon_on_cancel=True)

    async def read(self, address: str) -> Page:
        """Return the page of a hit. Raises WebError if there is no such page."""
        pages = await anyio.to_thread.run_sync(self._read, abandon_on_cancel=True)
        if address not in pages:
            raise WebError("The folder does not contain this page.")
        return pages[address]

    def _find(self, query: str, most: int) -> list[SearchHit]:
        self._read()
        best: dict[str, str] = {}
        for row in self._index.best(query):
            best.setdefault(*self._sections[row])
        return [SearchHit(title, address) for address, title in best.items()][:most]

    def _read(self) -> dict[str, Page]:
        with self._lock:
            if self._pages is None:
                self._pages = self._load_pages()
            return self._pages

    def _load_pages(self) -> dict[str, Page]:
        if not self._folder.is_dir():
            raise WebError(f"There is no folder {str(self._folder)!r}.")
        pages: dict[str, Page] = {}
        texts: list[str] = []
        for path in islice(_walk_folder(self._folder), _MAX_ENTRIES):
            if len(pages) >= MAX_SAVED_PAGES:
                break
            if (page := self._page(path, pages)) is None:
                continue
            pages[page.address] = page
            for section in extract_content(page).sections:
                self._sections.append((page.address, section.title))
                texts.append(f"{section.title} {section.text}")
        self._index = LexicalIndex.build(texts)
        return pages

    def _page(self, path: Path, others: Container[str]) -> Page | None:
        form = _FORMS.get(path.suffix.lower())
        try:
            status = path.lstat()
            if form is None or not stat.S_ISREG(status.st_mode) or status.st_size > MAX_PAGE_BYTES:
                return None
            text = path.read_text(encoding="utf-8", errors="replace")
        except OSError:
            return None
        address = _saved_from(text) if form == "html" else ""
        name = path.relative_to(self._folder).as_posix()
        return Page(address if address and address not in others else name, form, text)


def _walk_folder(folder: Path) -> Iterator[Path]:
    """Yield everything in the folder and its subfolders, folders included. Links are not followed."""
    queue = deque([folder])
    while queue:
        for path, is_folder in _entries(queue.popleft()):
            if is_folder:
                queue.append(path)
            yield path


def _entries(folder: Path) -> list[tuple[Path, bool]]:
    """List a folder by name, with whether each entry is a folder; of too many entries only the first ones found."""
    try:
        with os.scandir(folder) as entries:
            found = [(Path(entry), entry.is_dir(follow_symlinks=False)) for entry in islice(entries, _MAX_ENTRIES)]
    except OSError:
        return []
    return sorted(found)


def _saved_from(text: str) -> str:
    comment, link = _SAVED_FROM.search(text[:_HEAD_CHARS]), _CANONICAL.search(text[:_HEAD_CHARS])
    address = comment[1] if comment else ""
    if not address and link:
        href = _HREF.search(link[0])
        address = unescape(href[1]) if href else ""
    return address if origin_of(address) else ""

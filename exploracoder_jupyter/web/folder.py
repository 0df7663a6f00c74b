"""A folder of saved pages as a search engine of its own: for use without a network, and for pages behind a login."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from threading import Lock

import anyio.to_thread

from exploracoder_jupyter.web.addresses import origin_of
from exploracoder_jupyter.web.markup import parse
from exploracoder_jupyter.web.page import BIGGEST, Form, Hit, Page, WebError
from exploracoder_jupyter.web.rank import ranked
from exploracoder_jupyter.web.sites import extract

_FORMS: dict[str, Form] = {
    ".html": "html",
    ".htm": "html",
    ".md": "markdown",
    ".markdown": "markdown",
    ".txt": "text",
    ".rst": "text",
}
_MOST_FILES = 2000
_SAVED_FROM = re.compile(r"<!--\s*saved from url=\(\d+\)(\S+)\s*-->")


class Folder:
    """Searches and reads saved pages; satisfies `page.Provider` and `page.Reader`. A page is told by the address that
    it was saved from, where the file says so, else by its path in the folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._pages: dict[str, Page] | None = None
        self._texts: list[tuple[str, str, str]] = []
        """Address, title and text of every section."""
        self._lock = Lock()  # a search that nobody waits for any more goes on reading, for the next one

    async def find(self, query: str, most: int) -> Sequence[Hit]:
        """The pages with the best sections, best first.

        Raises:
            WebError: there is no such folder.
        """
        return await anyio.to_thread.run_sync(self._find, query, most, abandon_on_cancel=True)

    async def read(self, address: str) -> Page:
        """The page of a hit.

        Raises:
            WebError: there is none.
        """
        pages = await anyio.to_thread.run_sync(self._read, abandon_on_cancel=True)
        if address not in pages:
            raise WebError("There is no such page in the folder.")
        return pages[address]

    def _find(self, query: str, most: int) -> list[Hit]:
        self._read()
        order = ranked(query, [f"{title} {text}" for _, title, text in self._texts])
        best: dict[str, str] = {}
        for at, _ in order:
            best.setdefault(*self._texts[at][:2])
        return [Hit(title, address) for address, title in best.items()][:most]

    def _read(self) -> dict[str, Page]:
        with self._lock:
            if self._pages is None:
                if not self._folder.is_dir():
                    raise WebError(f"There is no folder {str(self._folder)!r}.")
                self._pages = {}
                for path in islice(sorted(self._folder.rglob("*")), _MOST_FILES):
                    self._take(path, self._pages)
            return self._pages

    def _take(self, path: Path, pages: dict[str, Page]) -> None:
        form = _FORMS.get(path.suffix.lower())
        try:
            if form is None or not path.is_file() or path.stat().st_size > BIGGEST:
                return
            text = path.read_text(encoding="utf-8", errors="replace")
        except OSError:
            return
        name = path.relative_to(self._folder).as_posix()
        address = _saved_from(text) if form == "html" else ""
        page = Page(address if address and address not in pages else name, form, text)
        pages[page.address] = page
        self._texts += [(page.address, section.title, section.text) for section in extract(page).sections]


def _saved_from(text: str) -> str:
    """The address in the comment that browsers write, or that the page itself names."""
    comment = _SAVED_FROM.search(text[:2000])
    if comment:
        return comment[1] if origin_of(comment[1]) else ""
    link = next(parse(text).having(tag="link", rel="canonical"), None)
    address = link.attributes.get("href", "") if link else ""
    return address if origin_of(address) else ""

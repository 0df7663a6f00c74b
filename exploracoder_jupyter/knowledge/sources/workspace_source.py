"""The user's own notebook and the files next to it as a source."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path

import anyio.to_thread

from exploracoder_jupyter.core.secrets.secret_literals import Clean, find_secret_literals, redact
from exploracoder_jupyter.core.types import Passage, ScoredPassage, SourceKind
from exploracoder_jupyter.knowledge.sources.ranked_passages import PassageIndex
from exploracoder_jupyter.text.file_chunks import split_file
from exploracoder_jupyter.text.folder_files import Limits, TextFile, iter_files, read_file


class WorkspaceSource:
    """Code cells of the notebook, and the Python, Markdown and notebook files of the folder. Satisfies `Source`.

    The files are read once, at the first search. `clean` removes secrets from them.
    """

    kind: SourceKind = "workspace"

    def __init__(
        self,
        folder: Path,
        notebook: Path | None = None,
        *,
        clean: Clean = lambda text: text,
    ) -> None:
        self._folder = folder
        self._notebook = notebook
        self._clean = clean
        self._ranked: PassageIndex | None = None
        self._reading = threading.Lock()

    async def search(self, query: str, k: int) -> Sequence[ScoredPassage]:
        """Return at most k chunks of the files that share words with the query, best first."""
        # An abandoned search finishes reading in its thread, for the next search.
        return await anyio.to_thread.run_sync(self._search, query, k, abandon_on_cancel=True)

    def _search(self, query: str, k: int) -> list[ScoredPassage]:
        with self._reading:
            if self._ranked is None:
                self._ranked = PassageIndex(list(self._passages()))
        return self._ranked.search(query, k)

    def _passages(self) -> Iterator[Passage]:
        seen: set[str] = set()
        text = read_file(self._notebook, Limits()) if self._notebook else None
        own = [TextFile(self._notebook.name, text)] if self._notebook and text is not None else []
        others = (file for file in iter_files(self._folder, Limits()) if self._folder / file.path != self._notebook)
        for file in chain(own, others):
            literals = {} if file.path.endswith(".ipynb") else find_secret_literals(file.text)
            for chunk in split_file(file.path, file.text):
                secret = {**literals, **find_secret_literals(chunk.text), **find_secret_literals(chunk.title)}
                text = redact(chunk.text, self._clean, secret)
                if text not in seen:
                    seen.add(text)
                    yield Passage(
                        source="workspace",
                        title=redact(chunk.title, self._clean, secret) or file.path,
                        text=text,
                        origin=f"{file.path}, {chunk.place}",
                        code=chunk.code,
                    )

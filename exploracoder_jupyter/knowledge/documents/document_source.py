"""Documents as a source of a run: loaded as one value, and searched by their words."""

from __future__ import annotations

import hashlib
import re
import threading
import zipfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import anyio.to_thread
import numpy as np
from anyio import ClosedResourceError
from pydantic import TypeAdapter

from exploracoder_jupyter.core.errors import MissingRequirement, UsageError
from exploracoder_jupyter.core.types import ApiDoc, Passage, ScoredPassage, SourceKind
from exploracoder_jupyter.knowledge.documents.document_files import (
    OVER_LIMITS,
    REMEDY,
    UNREADABLE,
    File,
    ReadProgress,
    iter_documents,
)
from exploracoder_jupyter.knowledge.documents.documents import Documents, Page, at_place, page_passages
from exploracoder_jupyter.knowledge.documents.reading_process import (
    NotText,
    ReadPage,
    TookTooLong,
    parse_page,
    read_page,
)
from exploracoder_jupyter.knowledge.extraction import docstrings
from exploracoder_jupyter.knowledge.extraction.library_surface import Surface
from exploracoder_jupyter.knowledge.knowledge_cache import (
    KnowledgeCache,
    digest,
    pack_arrays,
    parse_stored,
    unpack_arrays,
)
from exploracoder_jupyter.text.characters import encodable
from exploracoder_jupyter.text.lexical_index import LexicalIndex
from exploracoder_jupyter.text.tokenizer import tokens

# Loads the documents at some paths as one value: APIs, passages, front-page text and programs, cached by content.
#
# Documents are untrusted: they are parsed within limits, and nothing in them is run, expanded, loaded or followed.

FORMAT = 4
"""Version of what is read from documents; incrementing it invalidates cached results."""

MAX_APIS = 50_000
MAX_PASSAGES = 20_000
MAX_PROGRAMS = 60
_MAX_FRONT_CHARS = 12_000

Advance = Callable[[int, int], None]
"""Called with the number of documents read so far and their total number."""


_DOCUMENTS: TypeAdapter[Documents] = TypeAdapter(Documents)


def read_documents(
    paths: Sequence[Path],
    store: KnowledgeCache,
    advance: Advance = lambda done, total: None,
    *,
    read: ReadPage = read_page,
) -> Documents:
    """Read the documents at these paths, or load the cached result for the same content.

    `read` parses one of them; the default does so in this process, without a time limit.

    Raises UsageError if there is nothing at a path, or nothing of it can be read; MissingRequirement if a package that
    reads a kind of document is not installed.
    """
    reading = ReadProgress()
    found = list(_find_documents(paths, reading))
    digest = _digest(found)
    if cached := parse_stored(_DOCUMENTS, store.get("documents", digest)):
        return replace(cached, reopened=True)
    pages = list(_pages(found, reading, advance, read))
    if not any(page for _, page in pages):
        raise _nothing_read_error(paths, reading)
    documents = _combine(pages, reading, digest)
    if not reading.skipped[OVER_LIMITS]:  # a result cut short by a time limit varies between runs
        store.put("documents", digest, _DOCUMENTS.dump_json(documents))
    return documents


def _find_documents(paths: Iterable[Path], reading: ReadProgress) -> Iterator[File]:
    bodies: set[bytes] = set()
    names: set[str] = set()
    for path in paths:
        for file in iter_documents(path, reading):
            if file.body not in bodies:
                bodies.add(file.body)
                name = file.name if file.name not in names else f"{path.absolute().parent.name}/{file.name}"
                names.add(name)
                yield replace(file, name=encodable(name))


def _digest(found: Iterable[File]) -> str:
    sum_ = hashlib.sha256(str(FORMAT).encode())
    for file in found:
        sum_.update(f"\0{file.name}\0{len(file.body)}\0".encode())
        sum_.update(file.body)
    return sum_.hexdigest()


def _pages(
    found: Sequence[File], reading: ReadProgress, advance: Advance, read: ReadPage
) -> Iterable[tuple[str, Page]]:
    for number, file in enumerate(found):
        if reading.out_of_time:
            reading.skipped[OVER_LIMITS] += len(found) - number
            return
        try:
            yield file.name, read(file)
        except NotText:
            reading.skipped["binary"] += 1
        except TookTooLong as error:
            reading.too_slow[file.name] = error.seconds
        except (MissingRequirement, ClosedResourceError):
            raise
        except Exception:  # whatever a document causes in its reader, the others are read
            reading.skipped[UNREADABLE] += 1
        advance(number + 1, len(found))


def _combine(pages: Sequence[tuple[str, Page]], reading: ReadProgress, digest: str) -> Documents:
    apis = [replace(api, origin=at_place(name, api.origin)) for name, page in pages for api in page.apis]
    passages = [passage for name, page in pages for passage in page_passages(name, page)]
    front = [page for name, page in pages if Path(name).stem.lower() in ("readme", "index")]
    front_text = "\n\n".join(
        section.text for page in front or [page for _, page in pages[:1]] for section in page.sections
    )
    programs = dict.fromkeys(program for _, page in pages for program in page.programs)
    return Documents(
        apis=tuple(apis[:MAX_APIS]),
        passages=tuple(passages[:MAX_PASSAGES]),
        text=docstrings.strip_markup(front_text[: 2 * _MAX_FRONT_CHARS])[:_MAX_FRONT_CHARS],
        programs=tuple(programs)[:MAX_PROGRAMS],
        project=next((page.project for _, page in pages if page.project), ""),
        files=reading.files,
        skipped=tuple(sorted(reading.skipped.items())),
        too_slow=tuple(reading.too_slow.items()),
        digest=digest,
    )


def _nothing_read_error(paths: Sequence[Path], reading: ReadProgress) -> UsageError:
    where = ", ".join(repr(str(path)) for path in paths)
    skipped = Counter(reading.skipped)
    if reading.too_slow:
        skipped["too slow to read"] = len(reading.too_slow)
    why = f" ({', '.join(f'{count:,} {reason}' for reason, count in sorted(skipped.items()))})" if skipped else ""
    return UsageError(f"No documentation could be read at {where}{why}.", remedy=REMEDY)


# Searches the passages of documents by their words; the index is cached by content.
#
# A library's own README and guides are often the only place where a query language is described. Most of their
# sections do not help with a task, so they are found only where they share words with the query, and few.

_FORMAT = "2"
_MENTION = re.compile(r"([A-Za-z_][\w.]*)\(|`([A-Za-z_][\w.]*)")
_MAX_APIS = 8
_MOST_FOUND = 2
_LEAST_SHARED = 2
_LEAST_SHARE = 0.25
_USELESS = re.compile(
    r"\b(?:install|licen[cs]e|contribut|citation|citing|sponsor|changelog|badge|acknowledg|development|support|author"
    r"|roadmap|release)",
    re.IGNORECASE,
)


def unambiguous_names(apis: Iterable[ApiDoc]) -> dict[str, str]:
    """Map the last name of each API to its path, if one API of that name is nearer to the top level than all others."""
    paths: dict[str, list[str]] = {}
    for api in apis:
        paths.setdefault(api.name, []).append(api.path)
    nearest = {name: sorted(found, key=_depth)[:2] for name, found in paths.items()}
    return {name: found[0] for name, found in nearest.items() if len(set(map(_depth, found))) == len(found)}


def _depth(path: str) -> int:
    return path.count(".")


class DocumentSource:
    """Passages of documentation that is not part of the package. Satisfies `pipeline.ports.Source`."""

    kind: SourceKind = "documentation"

    def __init__(
        self,
        passages: Sequence[Passage],
        *,
        names: Mapping[str, str] | None = None,
        store: KnowledgeCache | None = None,
        shipped: Sequence[Passage] = (),
    ) -> None:
        """`names` maps last names to the paths of APIs, so that a passage can list the ones it mentions.

        `shipped`: passages of documents that the libraries ship; few of them are found, and only for a query that
        shares words with them.
        """
        self._shipped = DocumentSource(shipped, names=names, store=store) if shipped else None
        self._passages = tuple(passages)
        self._names = names or {}
        self._store = store
        self._index: LexicalIndex | None = None
        self._lock = threading.Lock()

    async def search(self, query: str, k: int) -> Sequence[ScoredPassage]:
        """Return at most k passages that share words with the query, best first."""
        shipped = await self._shipped.search(query, k) if self._shipped else ()
        own: Sequence[ScoredPassage] = ()
        if self._passages:  # an abandoned search finishes indexing in its thread, for the next search
            own = await anyio.to_thread.run_sync(self._search, query, k, abandon_on_cancel=True)
        return [*own, *[hit for hit in shipped if _is_about(query, hit)][:_MOST_FOUND]]

    def _search(self, query: str, k: int) -> list[ScoredPassage]:
        with self._lock:
            self._index = self._index or self._open_index()
        scores = self._index.scores(query)
        order = [int(row) for row in np.argsort(-scores, kind="stable")[: max(k, 0)] if scores[row] > 0]
        return [ScoredPassage(self._with_apis(self._passages[row]), float(scores[row])) for row in order]

    def _with_apis(self, passage: Passage) -> Passage:
        mentions = (call or quoted for call, quoted in _MENTION.findall(passage.text))
        found = dict.fromkeys(
            self._names[name] for name in (one.rpartition(".")[2] for one in mentions) if name in self._names
        )
        return replace(passage, apis=passage.apis or tuple(found)[:_MAX_APIS])

    def _open_index(self) -> LexicalIndex:
        texts = [f"{passage.title}\n{passage.title}\n{passage.text}" for passage in self._passages]
        key = digest(_FORMAT, *texts)
        cached = self._store.get("passages", key) if self._store else None
        try:
            if cached:
                return LexicalIndex(unpack_arrays(cached))
        except (KeyError, ValueError, zipfile.BadZipFile):
            pass  # the cached index is corrupt: rebuild it
        index = LexicalIndex.build(texts)
        if self._store:
            self._store.put("passages", key, pack_arrays(index.arrays()))
        return index


def guide_passages(surface: Surface) -> Iterator[Passage]:
    """Yield the passages of the texts that a library ships, except for sections that do not describe its use."""
    for name, text in surface.guides:
        page = parse_page(File(name, text.encode("utf-8", "replace")))
        found = page_passages(f"{surface.info.titled}, {name}", page)
        yield from (passage for passage in found if not _USELESS.search(passage.title))


def _is_about(query: str, hit: ScoredPassage) -> bool:
    asked = set(tokens(query))
    shared = asked & set(tokens(f"{hit.passage.title} {hit.passage.text}"))
    return len(shared) >= max(_LEAST_SHARED, _LEAST_SHARE * len(asked))

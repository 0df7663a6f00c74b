"""Loads the documents at some paths as one value: APIs, passages, front-page text and programs, cached by content.

Documents are untrusted: they are parsed within limits, and nothing in them is run, expanded, loaded or followed.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from anyio import ClosedResourceError
from pydantic import TypeAdapter

from exploracoder_jupyter.core.errors import MissingRequirement, UsageError
from exploracoder_jupyter.knowledge.documents.document_files import (
    OVER_LIMITS,
    REMEDY,
    UNREADABLE,
    File,
    ReadProgress,
    iter_documents,
)
from exploracoder_jupyter.knowledge.documents.document_set import Documents, Page
from exploracoder_jupyter.knowledge.documents.readers.reader_selection import NotText, ReadPage, TookTooLong, read_page
from exploracoder_jupyter.knowledge.documents.section_passages import at_place, page_passages
from exploracoder_jupyter.knowledge.extraction import docstring_examples
from exploracoder_jupyter.knowledge.knowledge_cache import KnowledgeCache, parse_stored
from exploracoder_jupyter.text.characters import encodable

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
        text=docstring_examples.strip_markup(front_text[: 2 * _MAX_FRONT_CHARS])[:_MAX_FRONT_CHARS],
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

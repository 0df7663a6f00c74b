"""Documents at some paths, read into one value: APIs, passages, a front page's text, programs; kept by their content.

Documents are untrusted: they are parsed, within limits, and nothing in them is run, expanded, loaded or followed.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from anyio import ClosedResourceError
from pydantic import TypeAdapter, ValidationError

from exploracoder_jupyter.core.errors import MissingMeans, UsageError
from exploracoder_jupyter.knowledge.documents.document_files import BEYOND, UNREADABLE, File, Reading, files
from exploracoder_jupyter.knowledge.documents.document_page import Page, sound
from exploracoder_jupyter.knowledge.documents.document_set import Documents
from exploracoder_jupyter.knowledge.documents.readers.reader_choice import NotText, ReadPage, TookTooLong, read_page
from exploracoder_jupyter.knowledge.documents.section_passages import passages_of
from exploracoder_jupyter.knowledge.extraction import docstring_examples
from exploracoder_jupyter.knowledge.knowledge_cache import Store

FORMAT = 3
"""Version of what is read of documents; a new one makes what is kept void."""

MOST_APIS = 50_000
MOST_PASSAGES = 20_000
MOST_PROGRAMS = 60
_FRONT = 12_000
"""Characters of front pages."""

Advance = Callable[[int, int], None]
"""Is told how many documents have been read, and of how many."""


_KEPT: TypeAdapter[Documents] = TypeAdapter(Documents)


def read_documents(
    paths: Sequence[Path],
    store: Store,
    advance: Advance = lambda done, total: None,
    *,
    read: ReadPage = read_page,
) -> Documents:
    """Read the documents at these paths, or take from the store what was read of the same content before.

    `read` reads one of them; the default does it here and now, without any limit of time.

    Raises:
        UsageError: there is nothing at a path, or nothing of it can be read.
        MissingMeans: a package that reads a kind of them is not installed.
    """
    reading = Reading()
    found = list(_found(paths, reading))
    digest = _digest(found)
    kept = _reopened(store.get("documents", digest))
    if kept:
        return kept
    pages = list(_pages(found, reading, advance, read))
    if not any(page for _, page in pages):
        raise _nothing(paths, reading)
    made = _together(pages, reading, digest)
    if not reading.skipped[BEYOND]:  # what time allows differs from run to run
        store.put("documents", digest, _KEPT.dump_json(made))
    return made


def _found(paths: Iterable[Path], reading: Reading) -> Iterator[File]:
    """The documents, each content once, under names of their own."""
    bodies: set[bytes] = set()
    names: set[str] = set()
    for path in paths:
        for file in files(path, reading):
            if file.body not in bodies:
                bodies.add(file.body)
                name = file.name if file.name not in names else f"{path.absolute().parent.name}/{file.name}"
                names.add(name)
                yield replace(file, name=sound(name))


def _digest(found: Iterable[File]) -> str:
    sum_ = hashlib.sha256(str(FORMAT).encode())
    for file in found:
        sum_.update(f"\0{file.name}\0{len(file.body)}\0".encode())
        sum_.update(file.body)
    return sum_.hexdigest()


def _reopened(body: bytes | None) -> Documents | None:
    try:
        return replace(_KEPT.validate_json(body), reopened=True) if body else None
    except ValidationError:
        return None


def _pages(found: Sequence[File], reading: Reading, advance: Advance, read: ReadPage) -> Iterable[tuple[str, Page]]:
    for number, file in enumerate(found):
        if reading.over_time:
            reading.skipped[BEYOND] += len(found) - number
            return
        try:
            yield file.name, read(file)
        except NotText:
            reading.skipped["binary"] += 1
        except TookTooLong as error:
            reading.too_slow[file.name] = error.seconds
        except (MissingMeans, ClosedResourceError):
            raise
        except Exception:  # whatever a document does to its reader, the others are read
            reading.skipped[UNREADABLE] += 1
        advance(number + 1, len(found))


def _together(pages: Sequence[tuple[str, Page]], reading: Reading, digest: str) -> Documents:
    apis = [replace(api, origin=_origin(name, api.origin)) for name, page in pages for api in page.apis]
    passages = [passage for name, page in pages for passage in passages_of(name, page)]
    front = [page for name, page in pages if Path(name).stem.lower() in ("readme", "index")]
    said = "\n\n".join(section.text for page in front or [page for _, page in pages[:1]] for section in page.sections)
    programs = dict.fromkeys(program for _, page in pages for program in page.programs)
    return Documents(
        apis=tuple(apis[:MOST_APIS]),
        passages=tuple(passages[:MOST_PASSAGES]),
        text=docstring_examples.prose(said[: 2 * _FRONT])[:_FRONT],
        programs=tuple(programs)[:MOST_PROGRAMS],
        project=next((page.project for _, page in pages if page.project), ""),
        files=reading.files,
        skipped=tuple(sorted(reading.skipped.items())),
        too_slow=tuple(reading.too_slow.items()),
        digest=digest,
    )


def _origin(name: str, place: str) -> str:
    if not place:
        return name
    return f"{name}{place}" if place.startswith("#") else f"{name}, {place}"


def _nothing(paths: Sequence[Path], reading: Reading) -> UsageError:
    where = ", ".join(repr(str(path)) for path in paths)
    skipped = Counter(reading.skipped)
    if reading.too_slow:
        skipped["too slow to read"] = len(reading.too_slow)
    why = f" ({', '.join(f'{count:,} {reason}' for reason, count in sorted(skipped.items()))})" if skipped else ""
    return UsageError(
        f"No documentation could be read at {where}{why}.",
        remedy="Give a folder or .zip of Markdown, reST, HTML or notebooks, an objects.inv, an OpenAPI file, or text.",
    )

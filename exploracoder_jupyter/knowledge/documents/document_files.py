"""The files of a folder or an archive, or one file: read within limits, nothing followed, nothing extracted.

Left out, without a word, is what is no documentation by its name; counted, with the reason, what is and cannot be read.
"""

from __future__ import annotations

import errno
import os
import re
import stat
import struct
import time
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from exploracoder_jupyter.core.errors import UsageError

LARGEST_FILE = 4_000_000
"""Bytes of one document; of one for programs, or with outputs that are not read, `LARGEST_DATA`."""
LARGEST_DATA = 16_000_000
LARGEST_ARCHIVE = 500_000_000
LARGEST_DIRECTORY = 8_000_000
"""Bytes of an archive's list of its members, which is read whole."""
MOST_FILES = 10_000
MOST_BYTES = 256_000_000
"""Of all documents together, unpacked."""
MOST_ENTRIES = 100_000
"""Names that are looked at in a folder."""
DEEPEST = 24
"""Folders within folders."""
SECONDS = 120.0
"""For reading all documents of a run; what was read until then is used."""
FILE_SECONDS = 15.0
"""Processor time for reading one document."""

KINDS = frozenset(".md .markdown .mkd .rst .rest .txt .html .htm .xhtml .ipynb .inv .json .yaml .yml .py .pyi".split())  # noqa: SIM905
_DATA = frozenset((".json", ".yaml", ".yml", ".ipynb", ".inv"))
_PLACES = frozenset("_sources _static _images _modules _downloads node_modules site-packages __pycache__".split())  # noqa: SIM905
_MADE = frozenset("genindex.html py-modindex.html search.html 404.html searchindex.json searchtools.html".split())  # noqa: SIM905
_ADDRESS = re.compile(r"\b(?:https?|ftp|git):/")
_NOTHING_LOADED = "Nothing is loaded from the network: give a file, a folder or a .zip."
_PACKED = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_END = b"PK\x05\x06"

LINK = "link or no regular file"
TOO_LARGE = "too large"
UNREADABLE = "unreadable"
BEYOND = "beyond the limits"


@dataclass(frozen=True, slots=True)
class File:
    """One document, unread."""

    name: str
    """Names it for people and for good: the name of what was given, then the path within it."""
    body: bytes

    @property
    def suffix(self) -> str:
        """The ending of its name, in lower case, with the dot."""
        return PurePosixPath(self.name).suffix.lower()


@dataclass(slots=True)
class Reading:
    """How much was read so far, and what was not."""

    files: int = 0
    bytes: int = 0
    until: float = field(default_factory=lambda: time.monotonic() + SECONDS)
    skipped: Counter[str] = field(default_factory=Counter)
    """Documents that were not read, by the reason."""
    too_slow: dict[str, float] = field(default_factory=dict)
    """Names of documents that took too long to read, and the seconds that they had."""

    @property
    def over(self) -> bool:
        """Whether a limit is reached."""
        return self.files >= MOST_FILES or self.bytes >= MOST_BYTES or self.over_time

    @property
    def over_time(self) -> bool:
        """Whether no time is left."""
        return time.monotonic() > self.until

    def take(self, file: File) -> File:
        """Count a file."""
        self.files += 1
        self.bytes += len(file.body)
        return file


def files(path: Path, reading: Reading) -> Iterator[File]:
    """The documents at this path, by name, a front page before the rest.

    Raises:
        UsageError: there is nothing there, or nothing of it can be read at all.
    """
    try:
        mode = path.stat().st_mode
        if stat.S_ISDIR(mode):
            yield from _of_folder(path, reading)
        elif not stat.S_ISREG(mode):
            raise _unusable(path, "is neither a file nor a folder")
        elif path.suffix.lower() == ".zip":
            yield from _of_archive(path, reading)
        else:
            yield reading.take(_alone(path))
    except FileNotFoundError:
        remedy = _NOTHING_LOADED if _ADDRESS.search(str(path)) else "Check the path of --docs."
        raise UsageError(f"There is no documentation at {str(path)!r}.", remedy=remedy) from None
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        raise _unusable(path, f"cannot be read: {getattr(error, 'strerror', None) or error}") from None


def _alone(path: Path) -> File:
    if path.suffix.lower() not in KINDS:
        raise _unusable(path, "is of no kind that is read")
    most = largest(path.name)
    if path.stat().st_size > most:
        raise _unusable(path, f"is larger than {most // 1_000_000} MB")
    with path.open("rb") as file:
        return File(path.name, file.read(most))


def _of_folder(folder: Path, reading: Reading) -> Iterator[File]:
    os.scandir(folder).close()  # `walk` would pass over a folder that cannot be read
    found = sorted(_below(folder, reading), key=_front_first)
    for name in found:
        if reading.over:
            reading.skipped[BEYOND] += 1
        elif (body := _read(folder / name, reading)) is not None:
            yield reading.take(File(f"{folder.resolve().name}/{name}", body))


def _below(folder: Path, reading: Reading) -> Iterator[str]:
    seen = 0
    for at, folders, names in os.walk(folder):  # does not enter folders that are links
        inner = PurePosixPath(Path(at).relative_to(folder).as_posix())
        folders[:] = [] if len(inner.parts) >= DEEPEST else [name for name in sorted(folders) if _is_wanted(name)]
        seen += len(names) + len(folders)
        if seen > MOST_ENTRIES or reading.over_time:
            return
        yield from (str(inner / name) for name in names if _is_document(name))


def _read(path: Path, reading: Reading) -> bytes | None:
    """The body of a regular file that is no link and not too large."""
    most = largest(path.name)
    try:
        # Without waiting: a named pipe would wait for a writer.
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
        with os.fdopen(handle, "rb") as file:
            found = os.fstat(handle)
            if stat.S_ISREG(found.st_mode) and found.st_size <= most:
                return file.read(most)
        why = TOO_LARGE if stat.S_ISREG(found.st_mode) else LINK
    except OSError as error:
        why = LINK if error.errno == errno.ELOOP else UNREADABLE
    reading.skipped[why] += 1
    return None


def _of_archive(path: Path, reading: Reading) -> Iterator[File]:
    if path.stat().st_size > LARGEST_ARCHIVE:
        raise _unusable(path, f"is larger than {LARGEST_ARCHIVE // 1_000_000} MB")
    if _directory_size(path) > LARGEST_DIRECTORY:
        raise _unusable(path, "holds too many files")
    try:
        with zipfile.ZipFile(path) as archive:
            members = {member.filename: member for member in archive.infolist() if _is_member(member)}
            for name in sorted(members, key=_front_first):
                if reading.over:
                    reading.skipped[BEYOND] += 1
                elif (body := _unpacked(archive, members[name], reading)) is not None:
                    yield reading.take(File(f"{path.name}/{name}", body))
    except (zipfile.BadZipFile, zipfile.LargeZipFile, NotImplementedError, struct.error) as error:
        raise _unusable(path, f"is no sound archive: {error}") from None


def _directory_size(path: Path) -> int:
    """What the archive's end says of the size of its list of members; a large number where it says nothing."""
    with path.open("rb") as file:
        file.seek(-min(path.stat().st_size, 66_000), os.SEEK_END)
        tail = file.read()
    at = tail.rfind(_END)
    if at < 0 or len(tail) < at + 22:
        return 0  # no archive: said by who opens it
    return int(struct.unpack_from("<L", tail, at + 12)[0])


def _is_member(member: zipfile.ZipInfo) -> bool:
    path = PurePosixPath(member.filename.replace("\\", "/"))
    inside = not path.is_absolute() and ".." not in path.parts and ":" not in path.parts[0] if path.parts else False
    return inside and not member.is_dir() and all(map(_is_wanted, path.parts[:-1])) and _is_document(path.name)


def _unpacked(archive: zipfile.ZipFile, member: zipfile.ZipInfo, reading: Reading) -> bytes | None:
    """The body of a member, never more than a document may have, whatever the archive says of its size."""
    if member.flag_bits & 1 or member.compress_type not in _PACKED:
        reading.skipped["packed in a way that is not read"] += 1
        return None
    try:
        with archive.open(member) as file:
            body = file.read(largest(member.filename) + 1)
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, OSError):
        reading.skipped[UNREADABLE] += 1
        return None
    if len(body) > largest(member.filename):
        reading.bytes += len(body)  # unpacking it is work, too
        reading.skipped[TOO_LARGE] += 1
        return None
    return body


def largest(name: str) -> int:
    """The bytes that a document of this name may have."""
    return LARGEST_DATA if PurePosixPath(name).suffix.lower() in _DATA else LARGEST_FILE


def _is_wanted(folder: str) -> bool:
    return not folder.startswith(".") and folder not in _PLACES


def _is_document(name: str) -> bool:
    known = PurePosixPath(name).suffix.lower() in KINDS
    return known and name not in _MADE and not name.startswith((".", "requirements", "LICENSE", "license"))


def _front_first(name: str) -> tuple[bool, int, str]:
    stem = PurePosixPath(name).stem.lower()
    return (not stem.startswith(("readme", "index", "objects")), name.count("/"), name)


def _unusable(path: Path, why: str) -> UsageError:
    return UsageError(
        f"The documentation {str(path)!r} {why}.",
        remedy="Give a folder or .zip of Markdown, reST, HTML or notebooks, an objects.inv, an OpenAPI file, or text.",
    )

"""Reads the documents of a folder, an archive or a single file, within limits.

Links are not followed, and archives are not extracted to disk. Files whose names show that they are not documentation
are skipped silently; documentation that cannot be read is counted with the reason.
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

MAX_FILE_BYTES = 4_000_000
"""Bytes of one document; `MAX_DATA_BYTES` applies to data files and to notebooks, whose outputs are not read."""
MAX_DATA_BYTES = 16_000_000
MAX_ARCHIVE_BYTES = 500_000_000
MAX_DIRECTORY_BYTES = 8_000_000
"""Bytes of an archive's central directory, which is read completely."""
MAX_FILES = 10_000
MAX_BYTES = 256_000_000
"""Bytes of all documents together, unpacked."""
MAX_ENTRIES = 100_000
MAX_DEPTH = 24
MAX_SECONDS = 120.0
"""Time for reading all documents of a run; what was read until then is used."""
MAX_FILE_SECONDS = 15.0
"""Processor time for reading one document."""

KINDS = frozenset(".md .markdown .mkd .rst .rest .txt .html .htm .xhtml .ipynb .inv .py .pyi".split())  # noqa: SIM905
_DATA = frozenset((".ipynb", ".inv"))
_EXCLUDED_FOLDERS = frozenset(
    "_sources _static _images _modules _downloads node_modules site-packages __pycache__".split()  # noqa: SIM905
)
_GENERATED_FILES = frozenset(
    "genindex.html py-modindex.html search.html 404.html searchindex.json searchtools.html".split()  # noqa: SIM905
)
_ADDRESS = re.compile(r"\b(?:https?|ftp|git):/")
_LOCAL_ONLY = "Nothing is loaded from the network: give a file, a folder or a .zip."
_COMPRESSION_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_END_RECORD = b"PK\x05\x06"

REMEDY = "Give a folder or .zip of Markdown, reST, HTML or notebooks, an objects.inv, or text."
LINK = "link or no regular file"
TOO_LARGE = "too large"
UNREADABLE = "unreadable"
OVER_LIMITS = "beyond the limits"


@dataclass(frozen=True, slots=True)
class File:
    """One document, not parsed yet."""

    name: str
    """Identifies it for users and in stored data: the name of the given path, then the path within it."""
    body: bytes

    @property
    def suffix(self) -> str:
        """The suffix of its name, in lower case, with the dot."""
        return PurePosixPath(self.name).suffix.lower()


@dataclass(slots=True)
class ReadProgress:
    """How much was read so far, and what was skipped."""

    files: int = 0
    bytes: int = 0
    until: float = field(default_factory=lambda: time.monotonic() + MAX_SECONDS)
    skipped: Counter[str] = field(default_factory=Counter)
    too_slow: dict[str, float] = field(default_factory=dict)
    """Maps the names of documents that took too long to read to their time limit in seconds."""

    @property
    def limit_reached(self) -> bool:
        """Whether any limit is reached."""
        return self.files >= MAX_FILES or self.bytes >= MAX_BYTES or self.out_of_time

    @property
    def out_of_time(self) -> bool:
        """Whether no time is left."""
        return time.monotonic() > self.until

    def count(self, file: File) -> File:
        """Count a file."""
        self.files += 1
        self.bytes += len(file.body)
        return file


def iter_documents(path: Path, reading: ReadProgress) -> Iterator[File]:
    """Yield the documents at this path by name, front pages first. Raises UsageError if nothing is there, or nothing of
    it can be read.
    """
    try:
        mode = path.stat().st_mode
        if stat.S_ISDIR(mode):
            yield from _read_folder(path, reading)
        elif not stat.S_ISREG(mode):
            raise _usage_error(path, "is neither a file nor a folder")
        elif path.suffix.lower() == ".zip":
            yield from _read_archive(path, reading)
        else:
            yield reading.count(_read_single(path))
    except FileNotFoundError:
        remedy = _LOCAL_ONLY if _ADDRESS.search(str(path)) else "Check the path of --docs."
        raise UsageError(f"There is no documentation at {str(path)!r}.", remedy=remedy) from None
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        raise _usage_error(path, f"cannot be read: {getattr(error, 'strerror', None) or error}") from None


def _read_single(path: Path) -> File:
    if path.suffix.lower() not in KINDS:
        raise _usage_error(path, "has an unsupported file type")
    most = max_bytes(path.name)
    if path.stat().st_size > most:
        raise _usage_error(path, f"is larger than {most // 1_000_000} MB")
    with path.open("rb") as file:
        return File(path.name, file.read(most))


def _read_folder(folder: Path, reading: ReadProgress) -> Iterator[File]:
    os.scandir(folder).close()  # raises if it cannot be read, which `os.walk` ignores
    found = sorted(_list_folder(folder, reading), key=_front_first)
    for name in found:
        if reading.limit_reached:
            reading.skipped[OVER_LIMITS] += 1
        elif (body := _read(folder / name, reading)) is not None:
            yield reading.count(File(f"{folder.resolve().name}/{name}", body))


def _list_folder(folder: Path, reading: ReadProgress) -> Iterator[str]:
    seen = 0
    for at, folders, names in os.walk(folder):  # does not follow links to folders
        inner = PurePosixPath(Path(at).relative_to(folder).as_posix())
        folders[:] = [] if len(inner.parts) >= MAX_DEPTH else [name for name in sorted(folders) if _is_wanted(name)]
        seen += len(names) + len(folders)
        if seen > MAX_ENTRIES or reading.out_of_time:
            return
        yield from (str(inner / name) for name in names if _is_document(name))


def _read(path: Path, reading: ReadProgress) -> bytes | None:
    """Return the content of a file; None unless it is a regular file, not a link, and not too large."""
    most = max_bytes(path.name)
    try:
        # Non-blocking: opening a named pipe would otherwise wait for a writer.
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


def _read_archive(path: Path, reading: ReadProgress) -> Iterator[File]:
    if path.stat().st_size > MAX_ARCHIVE_BYTES:
        raise _usage_error(path, f"is larger than {MAX_ARCHIVE_BYTES // 1_000_000} MB")
    if _directory_size(path) > MAX_DIRECTORY_BYTES:
        raise _usage_error(path, "contains too many files")
    try:
        with zipfile.ZipFile(path) as archive:
            members = {member.filename: member for member in archive.infolist() if _is_member(member)}
            for name in sorted(members, key=_front_first):
                if reading.limit_reached:
                    reading.skipped[OVER_LIMITS] += 1
                elif (body := _read_member(archive, members[name], reading)) is not None:
                    yield reading.count(File(f"{path.name}/{name}", body))
    except (zipfile.BadZipFile, zipfile.LargeZipFile, NotImplementedError, struct.error) as error:
        raise _usage_error(path, f"is not a valid archive: {error}") from None


def _directory_size(path: Path) -> int:
    with path.open("rb") as file:
        file.seek(-min(path.stat().st_size, 66_000), os.SEEK_END)
        tail = file.read()
    at = tail.rfind(_END_RECORD)
    if at < 0 or len(tail) < at + 22:
        return 0  # not an archive: opening it will raise
    return int(struct.unpack_from("<L", tail, at + 12)[0])


def _is_member(member: zipfile.ZipInfo) -> bool:
    path = PurePosixPath(member.filename.replace("\\", "/"))
    inside = not path.is_absolute() and ".." not in path.parts and ":" not in path.parts[0] if path.parts else False
    return inside and not member.is_dir() and all(map(_is_wanted, path.parts[:-1])) and _is_document(path.name)


def _read_member(archive: zipfile.ZipFile, member: zipfile.ZipInfo, reading: ReadProgress) -> bytes | None:
    """Return the content of a member, limited to the maximum size of a document, whatever size the archive declares."""
    if member.flag_bits & 1 or member.compress_type not in _COMPRESSION_METHODS:
        reading.skipped["packed in a way that is not read"] += 1
        return None
    try:
        with archive.open(member) as file:
            body = file.read(max_bytes(member.filename) + 1)
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, OSError):
        reading.skipped[UNREADABLE] += 1
        return None
    if len(body) > max_bytes(member.filename):
        reading.bytes += len(body)  # unpacking it counts towards the limit
        reading.skipped[TOO_LARGE] += 1
        return None
    return body


def max_bytes(name: str) -> int:
    """Return the maximum size in bytes of a document with this name."""
    return MAX_DATA_BYTES if PurePosixPath(name).suffix.lower() in _DATA else MAX_FILE_BYTES


def _is_wanted(folder: str) -> bool:
    return not folder.startswith(".") and folder not in _EXCLUDED_FOLDERS


def _is_document(name: str) -> bool:
    known = PurePosixPath(name).suffix.lower() in KINDS
    return known and name not in _GENERATED_FILES and not name.startswith((".", "requirements", "LICENSE", "license"))


def _front_first(name: str) -> tuple[bool, int, str]:
    stem = PurePosixPath(name).stem.lower()
    return (not stem.startswith(("readme", "index", "objects")), name.count("/"), name)


def _usage_error(path: Path, why: str) -> UsageError:
    return UsageError(f"The documentation {str(path)!r} {why}.", remedy=REMEDY)

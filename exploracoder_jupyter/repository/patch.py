"""The result of a run in a repository: a patch in git's form, applied and undone only where files are as expected.

Each file is named with the git hashes of its content before and after, so that a patch applies to exactly the files
that it was made from, and can be undone exactly as long as they are as it left them. `git apply` reads it too.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from difflib import unified_diff
from pathlib import Path, PurePosixPath
from typing import Final

from exploracoder_jupyter.core.errors import UsageError
from exploracoder_jupyter.core.files import write_atomic
from exploracoder_jupyter.repository.source_files import LANGUAGES
from exploracoder_jupyter.repository.target import read_text, resolve_inside

_MISSING: Final = "0" * 40
_NO_END: Final = "\\ No newline at end of file"
_FILE: Final = re.compile(r"^diff --git a/(?P<path>.+) b/(?P=path)$", re.M)
_INDEX: Final = re.compile(r"^index (?P<old>[0-9a-f]{40})\.\.(?P<new>[0-9a-f]{40})", re.M)
_HUNK: Final = re.compile(r"^@@ -(?P<start>\d+)(?:,(?P<count>\d+))? \+\d+(?:,\d+)? @@", re.M)


@dataclass(frozen=True, slots=True)
class FilePatch:
    """The change of one file."""

    path: str
    old: str
    """Git hash of the content before; zeros for a new file."""
    new: str
    hunks: tuple[tuple[int, tuple[str, ...]], ...]
    """Index of the first line that is replaced, and the lines with their marks."""

    def reversed(self) -> FilePatch:
        """Return the patch that undoes this one."""
        swap = {"+": "-", "-": "+"}
        hunks, shift = [], 0
        for start, lines in self.hunks:
            turned = tuple(f"{swap.get(line[0], line[0])}{line[1:]}" for line in lines)
            hunks.append((start + shift, turned))
            shift += sum(line[0] == "+" for line in lines) - sum(line[0] == "-" for line in lines)
        return FilePatch(self.path, self.new, self.old, tuple(hunks))


def make_patch(path: str, before: str | None, after: str) -> str:
    """Return the patch that changes the text of a file, which is `None` for a new one; empty if nothing changes."""
    if before == after:
        return ""
    old = blob_hash(before) if before is not None else _MISSING
    head = [f"diff --git a/{path} b/{path}", *(["new file mode 100644"] if before is None else [])]
    head.append(f"index {old}..{blob_hash(after)}{'' if before is None else ' 100644'}")
    names = ("/dev/null" if before is None else f"a/{path}", f"b/{path}")
    changes = unified_diff(_lines(before or ""), _lines(after), *names)
    body = (line if line.endswith("\n") else f"{line}\n{_NO_END}\n" for line in changes)
    return "\n".join(head) + "\n" + "".join(body)


def parse_patch(text: str) -> list[FilePatch]:
    """Return the file changes of a patch that `make_patch` made; UsageError if it is not such a patch."""
    starts = list(_FILE.finditer(text))
    ends = [*(match.start() for match in starts), len(text)][1:]
    found = [_file_patch(match["path"], text[match.end() : end]) for match, end in zip(starts, ends, strict=True)]
    if not found:
        raise UsageError("This is not a patch of an exploration.", remedy="Give a trace, or a patch exported from one.")
    return found


def apply_patch(root: Path, text: str, *, undo: bool = False) -> list[str]:
    """Apply a patch to the repository, or undo it, and return the paths of the changed files.

    All files are checked before the first is written: UsageError if it is not a patch, or a file has changed since,
    lies outside of the repository, is hidden or is not a source file.
    """
    patches = [item.reversed() if undo else item for item in parse_patch(text)]
    paths = [item.path for item in patches]
    for path in paths:  # hidden files, files that are not source code, and one file twice
        hidden = any(part.startswith(".") and part != ".." for part in PurePosixPath(path).parts)
        if "\0" in path or hidden or PurePosixPath(path).suffix not in LANGUAGES or paths.count(path) > 1:
            raise UsageError(
                f"The patch changes {path!r}, which no exploration writes.", remedy="Apply it with git if you trust it."
            )
    changes = [(resolve_inside(root, item.path), _changed(root, item, undo=undo)) for item in patches]
    for place, content in changes:
        if content is None:
            place.unlink()
        else:
            mode = place.stat().st_mode & 0o777 if place.exists() else None
            write_atomic(place, content.encode("utf-8", "surrogateescape"))
            if mode is not None:
                place.chmod(mode)
    return paths


def blob_hash(text: str) -> str:
    """Return the hash by which git knows a file with this text."""
    content = text.encode("utf-8", "surrogateescape")
    return hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()


def _changed(root: Path, patch: FilePatch, *, undo: bool) -> str | None:
    """Return the text of a file after its change; `None` if it is removed."""
    before = read_text(resolve_inside(root, patch.path), patch.path)
    if (_MISSING if before is None else blob_hash(before)) != patch.old:
        when = "applied" if undo else "made"
        raise UsageError(
            f"{patch.path} has changed since the patch was {when}, so nothing was written.",
            remedy="Revert the file to what it was then, or explore again.",
        )
    lines, done, changed = _lines(before or ""), 0, list[str]()
    for start, changes in patch.hunks:
        changed += [*lines[done:start], *(line[1:] for line in changes if line[0] in " +")]
        done = start + sum(line[0] in " -" for line in changes)
    after = "".join([*changed, *lines[done:]])
    if patch.new == _MISSING:
        return None
    if blob_hash(after) != patch.new:
        raise UsageError(f"The patch of {patch.path} is damaged.", remedy="Export it again from its trace.")
    return after


def _lines(text: str) -> list[str]:
    """Return the lines with their ends; only `\\n` ends a line, as for git."""
    return [line for line in re.split(r"(?<=\n)", text) if line]


def _file_patch(path: str, text: str) -> FilePatch:
    index, hunks = _INDEX.search(text), list(_HUNK.finditer(text))
    if index is None or not hunks:
        raise UsageError(f"The patch of {path} is damaged.", remedy="Export it again from its trace.")
    ends = [*(match.start() for match in hunks), len(text)][1:]
    parts = tuple(
        # a hunk that replaces nothing names the line before
        (int(match["start"]) - (match["count"] != "0"), tuple(_hunk_lines(text[match.end() : end].partition("\n")[2])))
        for match, end in zip(hunks, ends, strict=True)
    )
    return FilePatch(path, index["old"], index["new"], parts)


def _hunk_lines(text: str) -> list[str]:
    found: list[str] = []
    for line in _lines(text):
        if line.startswith(_NO_END):
            found[-1] = found[-1].removesuffix("\n")
        elif line[0] in " +-":
            found.append(line)
    return found

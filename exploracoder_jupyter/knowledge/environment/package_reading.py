"""Reads the public APIs of distributions in processes of low priority, and yields what each contains.

As a program (`python -m ...package_reading`), reads one JSON line for each distribution on standard input, and answers
each with one line. Syntax trees need much memory, and a malformed file may end the interpreter that parses it: then
only the distribution at hand is lost, which is reported as broken.
"""

from __future__ import annotations

import json
import os
import queue
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import asdict, dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any

from exploracoder_jupyter.core.platforms import system
from exploracoder_jupyter.knowledge.environment.installed_packages import (
    CodeFile,
    InstalledPackage,
    Metadata,
    code_files,
    guide_files,
    read_metadata,
    record_digest,
)
from exploracoder_jupyter.knowledge.environment.public_paths import (
    PublicApi,
    is_public,
    is_read,
    merge_modules,
    public_apis,
)
from exploracoder_jupyter.knowledge.environment.search_fields import indexed_fields
from exploracoder_jupyter.knowledge.environment.syntax_reading import ModuleSyntax, read_module, split_docstring

_LOOK_SECONDS = 0.2
_MAX_PROCESSES = 4
_PACKAGES_PER_PROCESS = 4
_NICENESS = 10
_MAX_GUIDE = 100_000
_MAX_SECTIONS = 200


@dataclass(frozen=True, slots=True)
class PackageContent:
    """What was read of one distribution."""

    name: str
    version: str
    digest: str
    rows: Sequence[PublicApi] = ()
    """Public APIs, the sections of shipped guides (kind `guide`), and first the distribution itself (`package`)."""
    fields: Sequence[Sequence[str]] = ()
    """The indexed fields of each row."""
    files: int = 0
    unread: int = 0
    """Files that are not valid Python, or cannot be read."""
    problem: str = ""
    """Why nothing could be read; empty if something was."""


@dataclass(slots=True)
class _Worker:
    process: subprocess.Popen[str]
    packages: list[InstalledPackage] = field(default_factory=list)


def read_package(package: InstalledPackage) -> PackageContent:
    """Read one distribution, in this process."""
    digest, metadata = record_digest(package), read_metadata(package)
    modules: list[ModuleSyntax] = []
    files = unread = 0
    for file in _worthwhile(code_files(package)):
        files += 1
        module = read_module(file.path, file.module, is_package=file.is_package)
        if module is None:
            unread += 1
        else:
            modules.append(module)
    merged = merge_modules(modules)
    rows = [_describe(package, metadata, merged), *public_apis(merged), *_guide_sections(package, merged)]
    return PackageContent(
        metadata.name, metadata.version, digest, rows, [indexed_fields(row) for row in rows], files, unread
    )


def read_packages(packages: Sequence[InstalledPackage]) -> Iterator[tuple[InstalledPackage, PackageContent]]:
    """Yield each distribution with its content as soon as it is read, in any order. Closing the iterator ends it."""
    todo: queue.SimpleQueue[InstalledPackage] = queue.SimpleQueue()
    for package in packages:
        todo.put(package)
    answers: queue.SimpleQueue[tuple[InstalledPackage, PackageContent] | None] = queue.SimpleQueue()
    count = max(1, min(_MAX_PROCESSES, os.cpu_count() or 1, len(packages) // _PACKAGES_PER_PROCESS))
    stopped = threading.Event()
    threads = [
        threading.Thread(target=_work, args=(todo, answers, stopped), daemon=True, name=f"package-reading-{number}")
        for number in range(count)
    ]
    running = count
    try:
        for thread in threads:
            thread.start()
        while running:
            try:
                answer = answers.get(timeout=_LOOK_SECONDS)
            except queue.Empty:
                continue  # a signal that came just before the wait does not end it; it is handled here
            if answer is None:
                running -= 1
            else:
                yield answer
    finally:
        stopped.set()
        for thread in threads:
            if thread.ident:  # an interrupt may come before all have started
                thread.join()


def _work(
    todo: queue.SimpleQueue[InstalledPackage],
    answers: queue.SimpleQueue[tuple[InstalledPackage, PackageContent] | None],
    stopped: threading.Event,
) -> None:
    """Read distributions one after another with a process, which is replaced when it ends."""
    process: subprocess.Popen[str] | None = None
    try:
        while not stopped.is_set():
            try:
                package = todo.get_nowait()
            except queue.Empty:
                break
            try:
                process = process or _start()
                answers.put((package, _ask(process, package, stopped)))
            except (OSError, ValueError, TypeError, KeyError) as error:
                if process:
                    _end(process)
                    process = None
                if not stopped.is_set():
                    reason = str(error) or type(error).__name__
                    answers.put((package, PackageContent(package.name, package.version, "", problem=reason)))
    finally:
        if process:
            _end(process)
        answers.put(None)


def _start() -> subprocess.Popen[str]:
    # `-P`: a file in the user's folder must not shadow one of our modules.
    return subprocess.Popen(
        [sys.executable, "-P", "-m", __spec__.name if __spec__ else __name__],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        encoding="utf-8",
        errors="surrogateescape",
        **system.NEW_SESSION,  # an interrupt is for the process that shows the progress
    )


def _ask(process: subprocess.Popen[str], package: InstalledPackage, stopped: threading.Event) -> PackageContent:
    """Raises OSError or ValueError if the process ended, or does not answer with what was asked for."""
    assert process.stdin
    assert process.stdout
    request = {"name": package.name, "version": package.version, "info": str(package.info), "stamp": package.stamp}
    process.stdin.write(json.dumps(request) + "\n")
    process.stdin.flush()
    watch = threading.Thread(target=_kill_when, args=(process, stopped, done := threading.Event()), daemon=True)
    watch.start()
    try:
        line = process.stdout.readline()
    finally:
        done.set()
        watch.join()
    if not line:
        raise OSError("the process that read it ended")
    answer: dict[str, Any] = json.loads(line)
    answer["rows"] = [PublicApi(*row) for row in answer["rows"]]
    return PackageContent(**answer)


def _kill_when(process: subprocess.Popen[str], stopped: threading.Event, done: threading.Event) -> None:
    while not done.wait(0.05):
        if stopped.is_set():
            process.kill()
            return


def _end(process: subprocess.Popen[str]) -> None:
    process.kill()
    for stream in (process.stdin, process.stdout):
        with suppress(OSError):
            if stream:
                stream.close()
    process.wait()


def _worthwhile(files: Sequence[CodeFile]) -> Iterator[CodeFile]:
    """Yield the files to read; a stub only after the module itself, whose docstrings come first."""
    kept = [file for file in files if is_read(file.module)]
    yield from sorted(kept, key=lambda file: file.path.suffix == ".pyi")


def _describe(package: InstalledPackage, metadata: Metadata, modules: dict[str, ModuleSyntax]) -> PublicApi:
    tops = sorted({name.partition(".")[0] for name in modules if is_public(name)})
    own = package.key.replace("-", "_")
    top = own if own in tops else min(tops, key=lambda name: (-_size(name, modules), name), default="")
    summary = metadata.summary or (modules[top].summary if top in modules else "")
    about, more = split_docstring(metadata.description.partition("\n\n")[2])
    return PublicApi(top, "package", "", summary, " ".join((metadata.keywords, about, more)))


def _size(top: str, modules: dict[str, ModuleSyntax]) -> int:
    return sum(name == top or name.startswith(f"{top}.") for name in modules)


def _guide_sections(package: InstalledPackage, modules: dict[str, ModuleSyntax]) -> list[PublicApi]:
    """Return the sections of shipped guides. Their text is documentation like any other, never an instruction to us."""
    from exploracoder_jupyter.text.files import split_markdown

    rows = []
    for path in guide_files(package):
        with suppress(OSError):
            text = path.read_text(encoding="utf-8", errors="replace")[:_MAX_GUIDE]
            for number, chunk in enumerate(chain(split_markdown(text))):
                if number == _MAX_SECTIONS:
                    break
                summary, opening = split_docstring(chunk.text)
                where = "/".join(path.parts[-2:])
                rows.append(
                    PublicApi(f"{where}#{number}", "guide", "", f"{chunk.title}: {summary}".strip(": "), opening)
                )
    return rows


def main() -> int:
    """Answer one line after another until standard input ends."""
    with suppress(OSError, AttributeError):
        os.nice(_NICENESS)
    for line in sys.stdin:
        request = json.loads(line)
        package = InstalledPackage(request["name"], request["version"], Path(request["info"]), request["stamp"])
        try:
            content = read_package(package)
        except Exception as error:  # a broken distribution must not cost the others
            reason = f"{type(error).__name__}: {error}"
            content = PackageContent(package.name, package.version, "", problem=reason)
        answer = asdict(content) | {"rows": [list(asdict(row).values()) for row in content.rows]}
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()
    return 0


if __name__ == "__main__":
    with closing(sys.stdin):
        sys.exit(main())

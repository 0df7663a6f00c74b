"""Loads the problems of an evaluation, and reports every fault of the file before anything is spent on it."""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from pydantic import BaseModel, ValidationError

from exploracoder_jupyter.core.configuration.settings import Settings
from exploracoder_jupyter.core.errors import UsageError
from exploracoder_jupyter.core.messages import plural
from exploracoder_jupyter.evaluation.problems import Problem, ProblemRow, RepositoryRow, set_name
from exploracoder_jupyter.evaluation.public_sets import ClassRow, PublicRow, UnusableRow, find_form
from exploracoder_jupyter.runs.factories import check_libraries_at_target

_MAX_FAULTS: Final = 10


@dataclass(frozen=True, slots=True)
class ProblemSet:
    """The problems of one file."""

    problems: tuple[Problem, ...]
    notices: tuple[str, ...] = ()
    """Sentences for the user, such as which problems of a public set are left out, and why."""


@dataclass(slots=True)
class _Reading:
    """What has been read of a file so far."""

    path: Path
    problems: dict[str, tuple[int, Problem]] = field(default_factory=dict)
    """Line number and problem by id."""
    unusable: list[str] = field(default_factory=list)
    faults: list[tuple[int, str]] = field(default_factory=list)
    """Line number and sentences."""

    def add(self, line: int, problem: Problem) -> None:
        if problem.id in self.problems:
            first, _ = self.problems[problem.id]
            self.faults.append((line, f"The id {problem.id!r} is used in line {first} too. Give each problem its own."))
            return
        self.problems[problem.id] = line, problem
        if problem.repository:
            from exploracoder_jupyter.repository.target import removable_target

            try:
                removable_target(problem.folder, problem.repository.target)
            except UsageError as error:
                self.faults.append((line, str(error)))
        self.faults += [
            (line, f"The documentation {path!r} does not exist in {problem.folder}. Correct the path.")
            for path in problem.docs
            if not (problem.folder / path).exists()
        ]


async def load_problems(path: Path, settings: Settings | None = None) -> ProblemSet:
    """Load a problem file: one problem per line, in the form of `problems` or of a public set, or a JSON list.

    The file may be compressed with gzip. A folder of its name beside it, such as `own` for `own.jsonl`, is the working
    directory of the problems, where their documentation, data and private libraries are found. Without it, paths of
    documentation are relative to the file. The settings of the runs determine where the libraries must be installed.

    Raises:
        UsageError: the file cannot be read, or has faults; the message lists the first ten with their lines.
        MissingRequirement, KernelError: the interpreter named by the settings cannot be used.
    """
    reading = _Reading(path)
    for line, content in _rows(path):
        _read_row(reading, line, content)
    if not (reading.problems or reading.faults or reading.unusable):
        raise UsageError(f"{path} has no problems.", remedy="Write one JSON object per line.")
    await _check_libraries(reading, settings or Settings())
    if faults := [f"line {line}: {sentence}" for line, sentence in sorted(reading.faults)]:
        if len(faults) == 1:
            raise UsageError(f"{path}, {faults[0]}")
        more = [f"and {len(faults) - _MAX_FAULTS} more."] if len(faults) > _MAX_FAULTS else []
        raise UsageError("\n  ".join([f"{path} has {len(faults)} faults:", *faults[:_MAX_FAULTS], *more]))
    if not reading.problems:
        why = f": {reading.unusable[0]}" if reading.unusable else ""
        raise UsageError(f"No problem in {path} can be used{why}.", remedy="Choose another file.")
    names = [*reading.unusable[:_MAX_FAULTS], *(["..."] if len(reading.unusable) > _MAX_FAULTS else [])]
    left_out = f"{plural(len(reading.unusable), 'problem')} of the set left out: {'; '.join(names)}."
    return ProblemSet(
        tuple(problem for _, problem in reading.problems.values()), (left_out,) if reading.unusable else ()
    )


def _rows(path: Path) -> Iterator[tuple[int, object]]:
    """Yield the numbers and contents of the lines that are not blank, or of the items of a list."""
    if path.is_dir():
        raise UsageError(f"{path} is a folder.", remedy="Name the problem file in it, e.g. problems.jsonl.")
    try:
        content = path.read_bytes()
        content = gzip.decompress(content) if content.startswith(b"\x1f\x8b") else content
        text = content.decode("utf-8-sig")
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror or error}.", remedy="Check the path.") from None
    except (UnicodeDecodeError, EOFError, zlib.error):
        raise UsageError(f"{path} is not a text file in UTF-8.", remedy="Save it as JSON lines in UTF-8.") from None
    if isinstance(whole := _parsed(text) if text.lstrip().startswith("[") else None, list):
        yield from enumerate(whole, start=1)
        return
    yield from ((number, _parsed(line)) for number, line in enumerate(text.split("\n"), start=1) if line.strip())


class _NotJson:
    pass


def _parsed(text: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return _NotJson()


def _read_row(reading: _Reading, line: int, content: object) -> None:
    if isinstance(content, _NotJson):
        reading.faults.append((line, "The line is not JSON. Write one object per line, and nothing else."))
        return
    if not isinstance(content, dict):
        reading.faults.append((line, "The line is not a JSON object. Write {...} with the fields of a problem."))
        return
    own = RepositoryRow if "repository" in content else ProblemRow
    form: type[ProblemRow] | type[RepositoryRow] | type[PublicRow] = find_form(content) or own
    try:
        row = form.model_validate(content)
        for problem in row.problems(reading.path) if isinstance(row, ClassRow) else [row.problem(reading.path)]:
            reading.add(line, problem)
    except ValidationError as error:
        reading.faults += [(line, sentence) for sentence in _sentences(error, form)]
    except UnusableRow as error:
        reading.unusable.append(str(error))


def _sentences(error: ValidationError, form: type[BaseModel]) -> Iterator[str]:
    """Describe each fault of a row in a sentence."""
    for fault in error.errors(include_url=False):
        name, *item = fault["loc"] or ("",)
        place = f"{name!r}" + "".join(f" [{part}]" for part in item if isinstance(part, int))
        match fault["type"]:
            case "missing":
                yield f"The field {place} is missing. Add it."
            case "extra_forbidden":
                yield f"The field {place} is unknown. Remove it, or use one of {', '.join(form.model_fields)}."
            case "too_short":
                yield f"The field {place} is empty. Give at least one."
            case "value_error":
                yield f"The field {place} {fault['ctx']['error']!s}."
            case _:
                yield f"The field {place} has a wrong type: {fault['msg'].lower()}. Correct it."


async def _check_libraries(reading: _Reading, settings: Settings) -> None:
    """Check once for each library that it is installed or in the folder; documentation does not replace it here."""
    settings = replace(settings, retrieval=replace(settings.retrieval, docs=()))
    known: dict[str, str] = {}
    with TemporaryDirectory() as empty:
        for line, problem in reading.problems.values():
            folder = problem.folder if problem.folder != Path() else Path(empty)
            for library in problem.libraries:
                if library not in known:
                    known[library] = ""
                    try:
                        await check_libraries_at_target([library], settings, folder=folder)
                    except UsageError as error:
                        known[library] = str(error)
                if fault := known[library]:
                    if problem.folder == Path():
                        fault += f" A private library belongs in the folder {set_name(reading.path)} beside the file."
                    reading.faults.append((line, fault))

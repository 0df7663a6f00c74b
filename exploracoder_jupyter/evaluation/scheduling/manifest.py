"""The manifest of an evaluation: what was asked for, so that only the same evaluation is resumed in its folder."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import re
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field, fields
from datetime import datetime
from itertools import count
from pathlib import Path
from secrets import token_hex

from pydantic import JsonValue, TypeAdapter, ValidationError

from exploracoder_jupyter.core.atomic_write import write_atomic
from exploracoder_jupyter.core.errors import UsageError
from exploracoder_jupyter.core.version import __version__
from exploracoder_jupyter.evaluation.problems.problem import Problem

EVALUATIONS = "evaluations"
_NAME = "manifest.json"
_FORMAT = 1
_WORDS = {
    "problem_set": "problems",
    "problems_digest": "problems",
    "version": "versions of this package",
    "format": "versions of this package",
    "model": "models",
    "replies": "recorded replies",
}
"""What differs where a field does."""


@dataclass(frozen=True, slots=True)
class Manifest:
    """What an evaluation runs."""

    problem_set: str
    problems: int
    problems_digest: str
    """Digest of the contents of all problems."""
    strategies: tuple[str, ...]
    model: str
    samples: int
    settings: dict[str, JsonValue] = field(default_factory=dict)
    """The settings layer that was given."""
    replies: str = ""
    """Where recorded replies come from, if a replay was asked for."""
    version: str = __version__
    """Version of this package."""
    id: str = field(default_factory=lambda: token_hex(8), compare=False)
    """Identifies the evaluation, however often it is resumed."""
    python: str = field(default_factory=platform.python_version, compare=False)
    created: str = field(default_factory=lambda: datetime.now().isoformat(timespec="seconds"), compare=False)
    format: int = _FORMAT


_MANIFEST: TypeAdapter[Manifest] = TypeAdapter(Manifest)


def problems_digest(problems: Iterable[Problem]) -> str:
    """Return a digest of the problems in their order; where they are stored does not matter."""
    digest = hashlib.sha256()
    for problem in problems:
        values = {name: value for name, value in asdict(problem).items() if name not in ("folder", "docs")}
        digest.update(json.dumps(values, sort_keys=True).encode() + b"\n")
    return digest.hexdigest()


def default_folder(beside: Path, problem_set: str, now: datetime) -> Path:
    """Create and return an unused folder `evaluations/<problem set>-<yyyymmdd-hhmmss>`."""
    stem = f"{re.sub(r'[^A-Za-z0-9._-]+', '-', problem_set).strip('.-')[:60] or 'problems'}-{now:%Y%m%d-%H%M%S}"
    for number in count(1):
        folder = beside / EVALUATIONS / (stem if number == 1 else f"{stem}-{number}")
        try:
            folder.mkdir(parents=True)
            break
        except FileExistsError:
            continue
        except OSError as error:
            raise _unwritable(folder, error) from error
    return folder


def prepare_folder(folder: Path, wanted: Manifest, *, resume: bool) -> Manifest:
    """Write the manifest into a new folder, or check that the folder's evaluation is the wanted one, and return it."""
    recorded = read_manifest(folder)
    if recorded is None:
        if resume:
            raise UsageError(f"There is no evaluation in {str(folder)!r}.", remedy="Omit --resume to start one.")
        try:
            folder.mkdir(parents=True, exist_ok=True)
            write_atomic(folder / _NAME, _MANIFEST.dump_json(wanted, indent=2) + b"\n")
        except OSError as error:
            raise _unwritable(folder, error) from error
        return wanted
    compared = [one.name for one in fields(Manifest) if one.compare]
    changed = [name for name in compared if getattr(recorded, name) != getattr(wanted, name)]
    if different := dict.fromkeys(_WORDS.get(name, name) for name in changed):
        raise UsageError(
            f"The evaluation in {str(folder)!r} was started with other {' and '.join(different)}.",
            remedy="Repeat its arguments, or name another folder with --out.",
        )
    if not resume:
        raise UsageError(
            f"{str(folder)!r} already contains this evaluation.",
            remedy="Add --resume to continue it, or name another folder with --out.",
        )
    return recorded


def read_manifest(folder: Path) -> Manifest | None:
    """Return the manifest in a folder; `None` if there is none."""
    path = folder / _NAME
    try:
        return _MANIFEST.validate_json(path.read_bytes())
    except FileNotFoundError:
        return None
    except (OSError, ValidationError) as error:
        remedy = "Name another folder with --out."
        raise UsageError(f"{str(path)!r} is not the manifest of an evaluation.", remedy=remedy) from error


def _unwritable(folder: Path, error: OSError) -> UsageError:
    reason = error.strerror or os.strerror(error.errno or 0)
    return UsageError(
        f"The folder {str(folder)!r} cannot be written: {reason}.", remedy="Name another folder with --out."
    )

"""Makes paths below the working directory relative, because it may differ when a trace is executed again.

Not every trace records the working directory of its run. So paths found below the current one are searched in the
record below any folder.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path

from exploracoder_jupyter.core.errors import UsageError
from exploracoder_jupyter.core.secrets.secret_patterns import REDACTED
from exploracoder_jupyter.core.types import Observation
from exploracoder_jupyter.trace.comparing.output_comparison import map_strings
from exploracoder_jupyter.trace.trace_paths import FOLDER

_HOME = re.compile(r"(?:(?<![\w.~/)}\\-])|(?<=\\[abfnrtv])|(?<=file://)|(?<=:///))~(?=/)")
"""A redacted home folder, `~/`: in code, these characters occur only in strings, comments and shell commands."""
_END = r"[^\s'\"<>:;,()\[\]{}|*?\\]"


def workdir_of(trace: Path, named: Path | None = None) -> Path:
    """Return the folder with a run's files.

    This is the one that is named, else the folder of the trace, or its parent if it is the folder for traces.

    Raises:
        UsageError: the folder does not exist.
    """
    beside = trace.resolve().parent
    folder = (named or (beside.parent if beside.name == FOLDER else beside)).resolve()
    if not folder.is_dir():
        raise UsageError(f"There is no folder {str(named or folder)!r}.", remedy="Name one with --workdir.")
    return folder


def expand_home(code: str) -> str:
    """Replace redacted home folders in code by the current user's home folder."""
    return _HOME.sub(lambda _: Path.home().as_posix(), code)


def is_redacted(code: str) -> bool:
    """Whether the code contains a redacted home folder or key, so that it differs from the code that was executed."""
    return REDACTED in code or _HOME.search(code) is not None


def relative_paths(observations: Iterable[Observation], folder: str) -> frozenset[str]:
    """Return the paths below the folder that these observations contain, relative to it."""
    below = re.compile(rf"{re.escape(folder)}/({_END}+)")
    found: list[str] = []

    def collect(text: str) -> str:
        found.extend(below.findall(text))
        return text

    for one in observations:
        _map_texts(one, collect)
    return frozenset(found)


def make_relative(observation: Observation, folder: str, *, itself: bool = True) -> Observation:
    """Make paths below the folder relative; replace the folder itself by `.` unless `itself` is false."""
    if not folder:
        return observation
    inner, whole = re.compile(rf"{re.escape(folder)}/(?={_END})"), re.compile(rf"{re.escape(folder)}(?![\w.-])")
    return _map_texts(observation, lambda text: whole.sub("." if itself else r"\g<0>", inner.sub("", text)))


def make_known_relative(observation: Observation, found: frozenset[str]) -> Observation:
    """Make these paths relative, whatever folder they are in."""
    if not found:
        return observation
    longest = sorted(found, key=len, reverse=True)
    anywhere = re.compile(rf"(?<![\w/~])[~/](?:{_END}*/)?({'|'.join(map(re.escape, longest))})(?!{_END})")
    return _map_texts(observation, lambda text: anywhere.sub(r"\1", text))


def _map_texts(observation: Observation, change: Callable[[str], str]) -> Observation:
    error = observation.error
    new_error = replace(error, message=change(error.message)) if error else None
    outputs = tuple({key: map_strings(value, change) for key, value in one.items()} for one in observation.outputs)
    return replace(observation, outputs=outputs, error=new_error)

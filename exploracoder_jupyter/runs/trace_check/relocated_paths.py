"""Paths below the working directory, which lies elsewhere when a trace is executed again: told relative to it.

Where it lay in the run is not known of every trace. So what is found below the one of now is looked for in the record,
below whatever folder.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path

from exploracoder_jupyter.core.errors import UsageError
from exploracoder_jupyter.core.types import Observation
from exploracoder_jupyter.trace.comparing.output_parts import changed
from exploracoder_jupyter.trace.sanitizing.record_redaction import REDACTED
from exploracoder_jupyter.trace.trace_paths import FOLDER

_HOME = re.compile(r"(?:(?<![\w.~/)}\\-])|(?<=\\[abfnrtv])|(?<=file://)|(?<=:///))~(?=/)")
"""Wherever a trace hides one: no code but strings, comments and commands has these two signs."""
_END = r"[^\s'\"<>:;,()\[\]{}|*?\\]"


def workdir_of(trace: Path, named: Path | None = None) -> Path:
    """Where a run has its files: in the folder that is named, else in the trace's, or the one that holds the folder of
    traces.

    Raises:
        UsageError: there is no such folder.
    """
    beside = trace.resolve().parent
    folder = (named or (beside.parent if beside.name == FOLDER else beside)).resolve()
    if not folder.is_dir():
        raise UsageError(f"There is no folder {str(named or folder)!r}.", remedy="Name one with --workdir.")
    return folder


def at_home(code: str) -> str:
    """The code with paths that a trace tells from somebody's home in the home of whoever executes it."""
    return _HOME.sub(lambda _: Path.home().as_posix(), code)


def tells_less(code: str) -> bool:
    """Whether the code named a home or a key, so that it is not what was executed."""
    return REDACTED in code or _HOME.search(code) is not None


def tails(observations: Iterable[Observation], folder: str) -> frozenset[str]:
    """The paths below the folder that these observations show, relative to it."""
    below = re.compile(rf"{re.escape(folder)}/({_END}+)")
    return frozenset(tail for one in observations for text in _texts(one) for tail in below.findall(text))


def below(observation: Observation, folder: str, *, itself: bool = True) -> Observation:
    """The observation with paths below the folder told relative to it, and the folder itself, if wanted, as a point."""
    if not folder:
        return observation
    inner, whole = re.compile(rf"{re.escape(folder)}/(?={_END})"), re.compile(rf"{re.escape(folder)}(?![\w.-])")
    return _changed(observation, lambda text: whole.sub("." if itself else r"\g<0>", inner.sub("", text)))


def below_any(observation: Observation, found: frozenset[str]) -> Observation:
    """The observation with these paths told relative, whatever folder they are in."""
    if not found:
        return observation
    longest = sorted(found, key=len, reverse=True)
    anywhere = re.compile(rf"(?<![\w/~])[~/](?:{_END}*/)?({'|'.join(map(re.escape, longest))})(?!{_END})")
    return _changed(observation, lambda text: anywhere.sub(r"\1", text))


def _changed(observation: Observation, change: Callable[[str], str]) -> Observation:
    error = observation.error
    told = replace(error, message=change(error.message)) if error else None
    outputs = tuple({key: changed(value, change) for key, value in one.items()} for one in observation.outputs)
    return replace(observation, outputs=outputs, error=told)


def _texts(observation: Observation) -> list[str]:
    found: list[str] = []

    def keep(text: str) -> str:
        found.append(text)
        return text

    _changed(observation, keep)
    return found

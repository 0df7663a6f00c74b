"""Builds the `Observation` that the pipeline sees from how an execution ended and what it printed."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import islice
from typing import Final

from exploracoder_jupyter.core.types import ErrorInfo, Observation, Status
from exploracoder_jupyter.kernels.observing.cell_outcome import Failure
from exploracoder_jupyter.kernels.observing.output_collector import Collector
from exploracoder_jupyter.kernels.observing.output_text import (
    for_people,
    schema_text,
    short_traceback,
    shown_text,
    strip_ansi,
)
from exploracoder_jupyter.kernels.sandbox.visible_files import VisibleFiles
from exploracoder_jupyter.kernels.sibling_kernel import Ending

_PATH: Final = re.compile(r"""['"]([^'"\n\0]*/[^'"\n\0]+)['"]""")
_MOST_LETTERS, _MOST_PATHS = 4000, 5
_UNSEEN: Final = (
    "that file exists, but experiments cannot see it: in the home folder they see only this project; "
    "the option --allow-read PATH makes more visible"
)


def build_observation(ending: Ending, collector: Collector, *, timeout: float) -> Observation:
    """Build the observation of one execution that was given `timeout` seconds."""
    status = _status(ending)
    outputs, after = collector.outputs(), collector.aftermath
    return Observation(
        status=status,
        outputs=tuple(map(for_people, outputs)),
        error=_explained(_error(status, ending, collector, timeout), after.failure),
        text=shown_text(outputs),
        seconds=ending.seconds,
        names=after.names,
        note=_note(status, ending, collector, timeout),
        changes=after.changes,
        schema=schema_text(outputs),
        warnings=after.warnings,
        logs=after.logs,
        files=after.files,
        memory=after.memory,
    )


def add_hidden_file_note(observation: Observation, files: VisibleFiles | None) -> Observation:
    """Add a note to the observation where its error names a file of the user that experiments cannot see.

    The note does not repeat the path, because not everything the user sees may be sent to the model.
    """
    if files is None or observation.status != "error" or observation.error is None:
        return observation
    named = islice(_PATH.findall(observation.error.message[:_MOST_LETTERS]), _MOST_PATHS)
    if not any(files.covers(path) for path in named):
        return observation
    return replace(observation, note=_joined(_UNSEEN, observation.note))


def state_lost_observation(why: str) -> Observation:
    """Return the observation of code that could not run because its state is lost."""
    return Observation("died", error=ErrorInfo("StateLost", why), note=why)


def _status(ending: Ending) -> Status:
    match ending.cause:
        case "timeout":
            return "timeout"
        case "flooded":
            return "interrupted"
        case "died":
            return "died"
        case "finished":
            if _asked_to_exit(ending):
                return "died"
            return "ok" if ending.reply.get("status") == "ok" else "error"


def _asked_to_exit(ending: Ending) -> bool:
    payload = ending.reply.get("payload") or []
    return any(isinstance(item, dict) and item.get("source") == "ask_exit" for item in payload)


def _note(status: Status, ending: Ending, collector: Collector, timeout: float) -> str:
    match status:
        case "timeout":
            return _joined(f"did not finish within {timeout:g} s", ending.note)
        case "interrupted":
            return _joined(f"printed {collector.received:,} characters and was stopped", ending.note)
        case "died":
            return "the code asked the kernel to exit" if _asked_to_exit(ending) else ending.note
        case "ok" | "error":
            return f"{collector.cut:,} characters of output were cut" if collector.cut else ""


def _joined(what: str, more: str) -> str:
    return f"{what}; {more}" if more else what


def _error(status: Status, ending: Ending, collector: Collector, timeout: float) -> ErrorInfo | None:
    at = collector.error.traceback if collector.error else ""
    match status:
        case "ok":
            return None
        case "error":
            return collector.error or _replied(ending)
        case "timeout":
            return ErrorInfo("Timeout", _note(status, ending, collector, timeout), at)
        case "interrupted":
            return ErrorInfo("OutputLimit", _note(status, ending, collector, timeout), at)
        case "died":
            return ErrorInfo("KernelDied", _note(status, ending, collector, timeout), at)


def _explained(error: ErrorInfo | None, failure: Failure) -> ErrorInfo | None:
    if error is None:
        return None
    return replace(error, report=failure.report, schema=failure.schema, nearest=failure.nearest)


def _replied(ending: Ending) -> ErrorInfo:
    reply = ending.reply
    frames = [str(frame) for frame in reply.get("traceback") or []]
    name = str(reply.get("ename") or reply.get("status") or "Error")
    return ErrorInfo(name, strip_ansi(str(reply.get("evalue", ""))), short_traceback(frames))

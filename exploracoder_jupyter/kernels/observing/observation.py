"""Builds the `Observation` that the pipeline sees from how an execution ended and what it printed."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import islice
from typing import Final

from exploracoder_jupyter.core.types import ErrorInfo, Observation, Status
from exploracoder_jupyter.kernels.observing.output_collector import OutputCollector
from exploracoder_jupyter.kernels.observing.output_text import (
    schema_text,
    short_traceback,
    shown_text,
    without_model_texts,
)
from exploracoder_jupyter.kernels.sandbox.visible_home_files import VisibleFiles
from exploracoder_jupyter.kernels.sibling_kernel import ExecutionResult
from exploracoder_jupyter.text.terminal_text import strip_ansi

_PATH: Final = re.compile(r"""(?<![^\s(=:,\[])['"]([^'"\n\0]+)['"]""")
_MAX_CHARACTERS, _MAX_PATHS = 4000, 5
_HIDDEN_FILE_NOTE: Final = (
    "that file exists, but experiments cannot see it: in the home folder they see only this project, "
    "without what looks like credentials; the option --allow-read PATH makes more visible"
)


def build_observation(result: ExecutionResult, collector: OutputCollector, *, timeout: float) -> Observation:
    """Build the observation of one execution that was given `timeout` seconds."""
    status, note, error = _describe_end(result, collector, timeout)
    outputs, after = collector.outputs(), collector.outcome
    if error is not None:
        report, schema, nearest = after.failure
        error = replace(error, report=report, schema=schema, nearest=nearest)
    return Observation(
        status=status,
        outputs=tuple(map(without_model_texts, outputs)),
        error=error,
        text=shown_text(outputs),
        seconds=result.seconds,
        names=after.names,
        note=note,
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
    named = islice(_PATH.findall(observation.error.message[:_MAX_CHARACTERS]), _MAX_PATHS)
    if not any(files.covers(path) for path in named):
        return observation
    return replace(observation, note=_join_notes(_HIDDEN_FILE_NOTE, observation.note))


def state_lost_observation(why: str) -> Observation:
    """Return the observation of code that could not run because its state is lost."""
    return Observation("died", error=ErrorInfo("StateLost", why), note=why)


def _describe_end(
    result: ExecutionResult, collector: OutputCollector, timeout: float
) -> tuple[Status, str, ErrorInfo | None]:
    """Return the status, the note and the error."""
    reply, at = result.reply, collector.error.traceback if collector.error else ""
    match result.cause:
        case "timeout":
            note = _join_notes(f"did not finish within {timeout:g} s", result.note)
            return "timeout", note, ErrorInfo("Timeout", note, at)
        case "flooded":
            note = _join_notes(f"printed {collector.received:,} characters and was stopped", result.note)
            return "interrupted", note, ErrorInfo("OutputLimit", note, at)
    asked = any(isinstance(item, dict) and item.get("source") == "ask_exit" for item in reply.get("payload") or [])
    if asked or result.cause == "died":  # a kernel that was asked to exit may be seen to die before its last message
        note = "the code asked the kernel to exit" if asked else result.note
        return "died", note, ErrorInfo("KernelDied", note, at)
    note = f"{collector.cut:,} characters of output were cut" if collector.cut else ""
    if reply.get("status") == "ok":
        return "ok", note, None
    frames = [str(frame) for frame in reply.get("traceback") or []]
    name = str(reply.get("ename") or reply.get("status") or "Error")
    replied = ErrorInfo(name, strip_ansi(str(reply.get("evalue", ""))), short_traceback(frames))
    return "error", note, collector.error or replied


def _join_notes(what: str, more: str) -> str:
    return f"{what}; {more}" if more else what

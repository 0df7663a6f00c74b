"""The export formats of a trace, and their single implementation, shared by the command line and nbconvert."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, Literal

from exploracoder_jupyter.core.errors import UsageError
from exploracoder_jupyter.core.events import Record
from exploracoder_jupyter.core.run_state import fold_all
from exploracoder_jupyter.export.html_page import render_page
from exploracoder_jupyter.export.solution_script import render_script
from exploracoder_jupyter.trace import trace_document
from exploracoder_jupyter.trace.cells.escaped_text import encodable
from exploracoder_jupyter.trace.module_distributions import imported_modules
from exploracoder_jupyter.trace.reduced_notebook import without_unselected
from exploracoder_jupyter.trace.sanitizing.path_redaction import Homes
from exploracoder_jupyter.trace.sanitizing.record_redaction import Redactor
from exploracoder_jupyter.trace.trace_paths import notebook_path

Form = Literal["script", "html", "notebook"]
ENDINGS: Final[dict[Form, str]] = {"script": ".py", "html": ".html", "notebook": "-selected.ipynb"}
"""Replacement for `.ipynb` in the name of the trace."""


def export_run(records: Iterable[Record], form: Form, trace: Path, *, pinned: bool = True) -> str:
    """Convert a run to another format, with secrets and paths of home folders redacted.

    Args:
        records: all records of the run.
        form: the format.
        trace: the trace that contains the records; the export mentions its name.
        pinned: whether a script requires the versions that the run used.

    Raises:
        UsageError: the run cannot be converted to this format.
    """
    redactor = Redactor(homes=Homes())
    trace = trace.with_name(encodable(trace.name))
    run = fold_all(redactor.record(record) for record in records)
    _check_start_time(run.started_at)
    match form:
        case "script":
            return render_script(run, trace, pinned=pinned)
        case "html":
            return render_page(run, trace)
        case "notebook":
            return trace_document.serialize_notebook(
                without_unselected(trace_document.build_notebook(run, ()))
            ).decode()


def _check_start_time(at: float) -> None:
    try:
        datetime.fromtimestamp(at, UTC)
    except (ValueError, OverflowError, OSError):
        raise UsageError(
            f"The trace has an invalid start time: {at} seconds after 1970.", remedy="Correct it in the file."
        ) from None


def default_export_path(trace: Path, form: Form, content: str) -> Path:
    """Return the default output path: next to the trace, with the same name or a similar one."""
    path = trace.with_name(f"{notebook_path(trace).stem}{ENDINGS[form]}")
    return avoid_module_clash(path, content) if form == "script" else path


def avoid_module_clash(path: Path, program: str) -> Path:
    """Return the path, or a different name if the script would shadow a module that it imports."""
    taken = path.suffix == ".py" and path.stem in imported_modules(program)
    return path.with_stem(f"{path.stem}-solution") if taken else path

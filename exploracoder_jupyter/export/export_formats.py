"""The forms in which a trace is exported, and the one way to make them: command line and nbconvert give the same."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, Literal

from exploracoder_jupyter.core.errors import UsageError
from exploracoder_jupyter.core.events import Record
from exploracoder_jupyter.export.html_page import page
from exploracoder_jupyter.export.solution_script import script
from exploracoder_jupyter.trace.cells.escaped_text import encodable
from exploracoder_jupyter.trace.needed_packages import imported
from exploracoder_jupyter.trace.reduced_notebook import without_losers
from exploracoder_jupyter.trace.run_state import fold_all
from exploracoder_jupyter.trace.sanitizing.path_redaction import Homes
from exploracoder_jupyter.trace.sanitizing.record_redaction import Redactor
from exploracoder_jupyter.trace.trace_document import content, document
from exploracoder_jupyter.trace.trace_paths import notebook_path

Form = Literal["script", "html", "notebook"]
ENDINGS: Final[dict[Form, str]] = {"script": ".py", "html": ".html", "notebook": "-selected.ipynb"}
"""What takes the place of `.ipynb` in the name of the trace."""


def exported(records: Iterable[Record], form: Form, trace: Path, *, pinned: bool = True) -> str:
    """The run in another form, without secrets and people's homes.

    Args:
        records: all records of the run.
        form: which one.
        trace: the trace that they are from; it is named in what is made.
        pinned: whether a script asks for the versions that the run had.

    Raises:
        UsageError: the run has nothing to make this form of.
    """
    redactor = Redactor(homes=Homes())
    trace = trace.with_name(encodable(trace.name))
    run = fold_all(redactor.record(record) for record in records)
    _refuse_no_moment(run.started_at)
    match form:
        case "script":
            return script(run, trace, pinned=pinned)
        case "html":
            return page(run, trace)
        case "notebook":
            return content(without_losers(document(run, ()))).decode()


def _refuse_no_moment(at: float) -> None:
    try:
        datetime.fromtimestamp(at, UTC)
    except (ValueError, OverflowError, OSError):
        raise UsageError(f"The trace says that its run began {at} seconds after 1970.", remedy="Mend that.") from None


def path_beside(trace: Path, form: Form, made: str) -> Path:
    """Where what was made goes if nobody says where: beside the trace, under its name, or one much like it."""
    path = trace.with_name(f"{notebook_path(trace).stem}{ENDINGS[form]}")
    return apart(path, made) if form == "script" else path


def apart(path: Path, program: str) -> Path:
    """The path, or one beside it where the program would be imported in place of a module that it imports."""
    taken = path.suffix == ".py" and path.stem in imported(program)
    return path.with_stem(f"{path.stem}-solution") if taken else path

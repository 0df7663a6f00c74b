"""The export formats of a trace, and their single implementation, shared by the command line and nbconvert.

A format is an `Exporter` that is registered in the group `exploracoder_jupyter.exporters`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol

from exploracoder_jupyter.core import plugins
from exploracoder_jupyter.core.errors import UsageError
from exploracoder_jupyter.core.events import Record
from exploracoder_jupyter.core.run_state import RunState, fold_all
from exploracoder_jupyter.export.html import render_page
from exploracoder_jupyter.export.script import render_script
from exploracoder_jupyter.text.characters import encodable
from exploracoder_jupyter.trace import file
from exploracoder_jupyter.trace.edits import without_unselected
from exploracoder_jupyter.trace.paths import notebook_path
from exploracoder_jupyter.trace.reading import imported_modules
from exploracoder_jupyter.trace.redaction import Homes, Redactor


class Exporter(Protocol):
    """What an entry point in the group `exploracoder_jupyter.exporters` refers to."""

    @property
    def ending(self) -> str:
        """Replacement for `.ipynb` in the name of the trace: `.html`."""
        ...

    def render(self, run: RunState, trace: Path, *, pinned: bool) -> str:
        """Return the content of the file.

        Args:
            run: the run, in which secrets and home folders are redacted.
            trace: the trace, whose name may be mentioned.
            pinned: whether to require the versions that the run used.

        Raises:
            UsageError: the run cannot be converted to this format.
        """
        ...


@dataclass(frozen=True, slots=True)
class _Format:
    ending: str
    convert: Callable[[RunState, Path, bool], str]

    def render(self, run: RunState, trace: Path, *, pinned: bool) -> str:
        return self.convert(run, trace, pinned)


def _render_notebook(run: RunState) -> str:
    return file.serialize_notebook(without_unselected(file.build_notebook(run))).decode()


SCRIPT = _Format(".py", lambda run, trace, pinned: render_script(run, trace, pinned=pinned))
HTML = _Format(".html", lambda run, trace, pinned: render_page(run, trace))
NOTEBOOK = _Format("-selected.ipynb", lambda run, trace, pinned: _render_notebook(run))


def exporter(form: str) -> Exporter:
    """Return the exporter of a format."""
    found: Exporter = plugins.get("exporters", form)
    return found


def export_run(records: Iterable[Record], form: str, trace: Path, *, pinned: bool = True) -> str:
    """Convert a run to another format, with secrets and paths of home folders redacted.

    The export mentions the name of the trace; if `pinned`, a script requires the versions that the run used.
    """
    redactor = Redactor(homes=Homes())
    trace = trace.with_name(encodable(trace.name))
    run = fold_all(redactor.record(record) for record in records)
    try:
        datetime.fromtimestamp(run.started_at, UTC)
    except (ValueError, OverflowError, OSError):
        problem = f"The trace has an invalid start time: {run.started_at} seconds after 1970."
        raise UsageError(problem, remedy="Correct it in the file.") from None
    return exporter(form).render(run, trace, pinned=pinned)


def default_export_path(trace: Path, form: str, content: str) -> Path:
    """Return the default output path: next to the trace, with the same name or a similar one."""
    path = trace.with_name(f"{notebook_path(trace).stem}{exporter(form).ending}")
    return avoid_module_clash(path, content) if form == "script" else path


def avoid_module_clash(path: Path, program: str) -> Path:
    """Return the path, or a different name if the script would shadow a module that it imports."""
    taken = path.suffix == ".py" and path.stem in imported_modules(program)
    return path.with_stem(f"{path.stem}-solution") if taken else path

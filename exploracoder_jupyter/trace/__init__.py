"""Renders a run as notebook cells, as a trace file and as a summary, all computed from the run's events.

`CellView` returns the cell changes that each record causes, `Trace` writes a separate notebook to disk, and
`summarize_run` returns a run as one JSON object. Outputs are sanitized and secrets are redacted before anything is
written.
"""

import exploracoder_jupyter.trace.fast_nbformat_import  # noqa: F401  must come first
from exploracoder_jupyter.trace.cells import CellView
from exploracoder_jupyter.trace.edits import without_unselected
from exploracoder_jupyter.trace.file import Trace, load, render
from exploracoder_jupyter.trace.metadata import generated_metadata
from exploracoder_jupyter.trace.paths import journal_path
from exploracoder_jupyter.trace.reading import summarize_run
from exploracoder_jupyter.trace.redaction import Redactor
from exploracoder_jupyter.trace.schema_validation import find_problems

__all__ = [
    "CellView",
    "Redactor",
    "Trace",
    "find_problems",
    "generated_metadata",
    "journal_path",
    "load",
    "render",
    "summarize_run",
    "without_unselected",
]

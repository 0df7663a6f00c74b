"""A run as notebook cells: live changes, the trace file, the summary, all computed from the run's events.

`CellView` gives the changes that each record makes to a notebook, `Trace` keeps a notebook of its own on disk,
`summary` puts a run into one JSON object. Outputs are sanitized and secrets redacted before anything is written.
"""

import exploracoder_jupyter.notebook.nbformat_import  # noqa: F401  must come first
from exploracoder_jupyter.notebook.cells import CellView
from exploracoder_jupyter.notebook.export import clean, without_losers
from exploracoder_jupyter.notebook.journal import Journal
from exploracoder_jupyter.notebook.paths import default_path, journal_path, prepare
from exploracoder_jupyter.notebook.redact import Redactor
from exploracoder_jupyter.notebook.sanitize import Limits, sanitize
from exploracoder_jupyter.notebook.schema import Cell, ours, schema
from exploracoder_jupyter.notebook.summary import summary
from exploracoder_jupyter.notebook.trace import Trace, load, render
from exploracoder_jupyter.notebook.valid import problems

__all__ = [
    "Cell",
    "CellView",
    "Journal",
    "Limits",
    "Redactor",
    "Trace",
    "clean",
    "default_path",
    "journal_path",
    "load",
    "ours",
    "prepare",
    "problems",
    "render",
    "sanitize",
    "schema",
    "summary",
    "without_losers",
]

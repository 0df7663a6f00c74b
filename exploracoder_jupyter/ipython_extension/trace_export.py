"""Exports a trace with the command line in a separate process: the user's kernel imports nothing for it."""

from __future__ import annotations

import re
from pathlib import Path

from exploracoder_jupyter.core import plugins
from exploracoder_jupyter.core.errors import UsageError
from exploracoder_jupyter.ipython_extension.running.command_process import run_command
from exploracoder_jupyter.ipython_extension.tab_completion import FORMS

_FORM = re.compile(r"(?:^|(?<=\s))--to(?:\s+|=)(\S+)(?=\s|$)")


def export_trace(trace: Path, arguments: str) -> Path:
    """Convert the trace and return the path of the result.

    The arguments are `--to script|html|notebook` and a path, in any order; without them the notebook without the
    candidates that were not selected is written beside the trace.
    """
    form, path = _FORM.search(arguments), _FORM.sub("", arguments, count=1).strip()
    if path.startswith("--") or (form and form[1] not in FORMS and not plugins.find("exporters", form[1])):
        raise UsageError("%explora export takes `--to script|html|notebook` and a path.")
    to = ("--to", form[1]) if form else ()
    out = ("--out", path.strip("'\"")) if path else ()
    return Path(run_command("export", str(trace), *to, *out)["out"])

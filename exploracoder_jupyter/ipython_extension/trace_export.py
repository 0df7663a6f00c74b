"""Exports a trace with the command line in a separate process: the user's kernel imports nothing for it."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

from exploracoder_jupyter.core import plugins
from exploracoder_jupyter.core.errors import UsageError

_MAIN = "import sys; from exploracoder_jupyter.cli import main; sys.exit(main())"
_FORMS = ("script", "html", "notebook")
_FORM = re.compile(r"(?:^|(?<=\s))--to(?:\s+|=)(\S+)(?=\s|$)")


def export_trace(trace: Path, arguments: str) -> Path:
    """Convert the trace and return the path of the result.

    Args:
        trace: the trace notebook.
        arguments: `--to script|html|notebook` and a path, in any order, as on the line of the magic; empty: the
            notebook without the candidates that were not selected, beside the trace.

    Raises:
        UsageError: the export failed; the message is that of the command line.
    """
    form, path = _FORM.search(arguments), _FORM.sub("", arguments, count=1).strip()
    if path.startswith("--") or (form and form[1] not in _FORMS and not plugins.find("exporters", form[1])):
        raise UsageError("%explora export takes `--to script|html|notebook` and a path.")
    to = ("--to", form[1]) if form else ()
    out = ("--out", path.strip("'\"")) if path else ()
    done = _run_command("export", str(trace), *to, *out, "--json")
    try:
        result = json.loads(done.stdout)
    except ValueError:
        lines = done.stderr.strip().splitlines() or [f"The export failed with exit status {done.returncode}."]
        raise UsageError(lines[-1]) from None
    if done.returncode != 0:
        raise UsageError(result["error"], remedy=result["remedy"])
    return Path(result["out"])


def _run_command(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = (sys.executable, "-P", "-c", _MAIN, *arguments)
    return subprocess.run(command, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)

"""Exports a trace by the command line, in a process of its own: the user's kernel imports nothing for it."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

from exploracoder_jupyter.core.errors import UsageError

_MAIN = "import sys; from exploracoder_jupyter.cli import main; sys.exit(main())"
_FORMS = ("script", "html", "notebook")
_FORM = re.compile(r"(?:^|(?<=\s))--to(?:\s+|=)(\S+)(?=\s|$)")


def export_trace(trace: Path, wanted: str) -> Path:
    """Write the trace in another form, and return where that is.

    Args:
        trace: the trace notebook.
        wanted: `--to script|html|notebook` and a path, in any order, as on the line of the magic; empty: the notebook
            without the candidates that lost, beside the trace.

    Raises:
        UsageError: it could not be written; the sentence is the command line's.
    """
    asked, path = _FORM.search(wanted), _FORM.sub("", wanted, count=1).strip()
    if path.startswith("--") or (asked and asked[1] not in _FORMS):
        raise UsageError("%explora export takes `--to script|html|notebook` and a path.")
    form = ("--to", asked[1]) if asked else ()
    out = ("--out", path.strip("'\"")) if path else ()
    done = _command("export", str(trace), *form, *out, "--json")
    try:
        told = json.loads(done.stdout)
    except ValueError:
        said = done.stderr.strip().splitlines() or [f"The export failed with exit status {done.returncode}."]
        raise UsageError(said[-1]) from None
    if done.returncode != 0:
        raise UsageError(told["error"], remedy=told["remedy"])
    return Path(told["out"])


def _command(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = (sys.executable, "-P", "-c", _MAIN, *arguments)
    return subprocess.run(command, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)

"""Runs commands of `jupyter explora` in processes: this kernel imports nothing for them, and never has the key."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, Literal

from exploracoder_jupyter.core import plugins
from exploracoder_jupyter.core.errors import ExploraError, MissingRequirement, UsageError
from exploracoder_jupyter.core.time_limits import scale_limit
from exploracoder_jupyter.ipython_extension.tab_completion import FORMS

_FORM = re.compile(r"(?:^|(?<=\s))--to(?:\s+|=)(\S+)(?=\s|$)")

_SECONDS: Final = 60.0
_PREFIX: Final = "jupyter explora: "


def run_command(*words: str, python: str | None = None, environ: Mapping[str, str] | None = None) -> dict[str, Any]:
    """Run a command with `--json`, by default in this interpreter, and return the object that it prints."""
    # `-P`: a file in the user's folder must not shadow one of our modules.
    command = (python or sys.executable, "-P", "-m", "exploracoder_jupyter.cli", *words, "--json")
    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, env=environ
        )
        answer: dict[str, Any] = json.loads(done.stdout)
    except OSError as error:
        raise MissingRequirement(f"{command[0]!r} cannot be started: {error.strerror}.") from error
    except ValueError as error:
        output = done.stderr.strip()[-300:]
        raise ExploraError(f"`jupyter explora {words[0]}` ended without an answer: {output}") from error
    except KeyboardInterrupt:
        raise UsageError(f"`jupyter explora {words[0]}` was stopped.") from None
    if "error" in answer:
        raise UsageError(answer["error"], remedy=answer["remedy"])
    return answer


def change_repository(
    action: Literal["apply", "undo"], source: str, *, repository: str = "", engine_python: str | None = None
) -> str:
    """Apply the patch of a trace or file to a repository (by default that of the trace), or undo it.

    Returns a sentence about it. `engine_python` is the interpreter of the command line, by default that of this kernel.
    """
    python = engine_python or sys.executable
    command = [python, "-P", "-m", "exploracoder_jupyter.cli", "repo", action, source]  # -P: as above
    command += ["--repo", repository] if repository else []
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=scale_limit(_SECONDS), stdin=subprocess.DEVNULL
        )
    except subprocess.TimeoutExpired:
        raise UsageError("The patch was not applied in time.", remedy=f"Run `{' '.join(command[4:])}`.") from None
    if done.returncode:
        lines = done.stderr.strip().splitlines() or ["The command failed."]
        raise UsageError(lines[-1].removeprefix(_PREFIX))
    return f"{done.stdout}{done.stderr}".strip()


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

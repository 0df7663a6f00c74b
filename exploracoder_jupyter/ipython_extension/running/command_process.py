"""Runs a command of `jupyter explora` in a process: this kernel imports nothing for it, and never has the key."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from typing import Any

from exploracoder_jupyter.core.errors import ExploraError, MissingRequirement, UsageError


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
        raise UsageError(f"`jupyter explora {words[0]}` was stopped; nothing was changed.") from None
    if "error" in answer:
        raise UsageError(answer["error"], remedy=answer["remedy"])
    return answer

"""Shows a recorded cell's outputs again when the cell is run, so that Run All does not empty a trace.

A front end clears a cell's outputs as soon as it is executed, but the file on disk still has them: they are looked up
there by the cell's id and source, and sent again as the original messages. They are sanitized once more, because the
front end trusts what a cell shows while it runs, and the file may come from anyone. An error among them is an output
like the others: the cell itself succeeds, and Run All continues. Nothing here raises.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from IPython.core.interactiveshell import InteractiveShell

from exploracoder_jupyter.ipython_extension.calling_cell import find_caller

_CONTENT: dict[str, tuple[str, ...]] = {
    "stream": ("name", "text"),
    "display_data": ("data", "metadata"),
    "execute_result": ("data", "metadata", "execution_count"),
    "error": ("ename", "evalue", "traceback"),
}
"""The fields of each type of output, which are those of its message."""


def show_recorded(shell: InteractiveShell) -> bool:
    """Send the outputs of the executing cell from the saved notebook; return whether the notebook has that cell."""
    caller = find_caller(shell)
    if caller.notebook is None or caller.cell is None:
        return False
    code = shell.get_parent()["content"]["code"]  # type: ignore[attr-defined]
    try:
        outputs = _saved(caller.notebook, caller.notebook.stat().st_mtime_ns).get((caller.cell, code))
        messages = None if outputs is None else [_message(output) for output in _sanitized(outputs)]
    except (OSError, ValueError, LookupError, TypeError, AttributeError):  # the file is missing or not a notebook
        return False
    for kind, content in messages or ():
        kernel = shell.kernel  # type: ignore[attr-defined]
        kernel.send_response(kernel.iopub_socket, kind, content)
    return messages is not None


@lru_cache(maxsize=1)  # Run All executes every candidate of the same file
def _saved(path: Path, changed: int) -> Mapping[tuple[str, str], list[dict[str, Any]]]:
    """Return the outputs of a notebook's code cells by id and source; `changed` is when the file was written."""
    cells = json.loads(path.read_bytes())["cells"]
    return {
        (cell["id"], _join(cell["source"])): cell["outputs"]
        for cell in cells
        if cell["cell_type"] == "code" and "id" in cell
    }


def _sanitized(outputs: list[dict[str, Any]]) -> tuple[Mapping[str, Any], ...]:
    from exploracoder_jupyter.trace.sanitizing.output_sanitizer import sanitize  # takes a second to import

    return sanitize(outputs)


def _message(output: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    kind = output["output_type"]
    content = {name: output[name] for name in _CONTENT[kind]}
    if kind == "stream":
        content["text"] = _join(content["text"])
    if "data" in content:
        data = content["data"].items()
        content["data"] = {mime: value if mime.endswith("json") else _join(value) for mime, value in data}
    return kind, content


def _join(text: str | list[str]) -> str:
    return text if isinstance(text, str) else "".join(text)

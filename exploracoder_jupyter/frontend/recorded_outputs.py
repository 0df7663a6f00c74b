"""Shows a recorded cell's outputs again when the cell is run, so that Run All does not empty a trace.

A front end clears a cell's outputs as soon as it is sent, but the file on disk still has them: they are found there by
the cell's id and source, and sent back as the very messages they once were. An error among them is an output like the
others: the cell itself succeeds, and Run All goes on. Nothing here raises.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from IPython.core.interactiveshell import InteractiveShell

from exploracoder_jupyter.frontend.calling_cell import find_caller

_CONTENT: dict[str, tuple[str, ...]] = {
    "stream": ("name", "text"),
    "display_data": ("data", "metadata"),
    "execute_result": ("data", "metadata", "execution_count"),
    "error": ("ename", "evalue", "traceback"),
}
"""The fields of each kind of output, which are those of its message."""


def show_recorded(shell: InteractiveShell) -> bool:
    """Send the outputs that the saved notebook has for the cell being run; whether it has such a cell."""
    caller = find_caller(shell)
    if caller.notebook is None or caller.cell is None:
        return False
    code = shell.get_parent()["content"]["code"]  # type: ignore[attr-defined]
    try:
        outputs = _saved(caller.notebook, caller.notebook.stat().st_mtime_ns).get((caller.cell, code))
        messages = None if outputs is None else [_message(output) for output in outputs]
    except (OSError, ValueError, LookupError, TypeError, AttributeError):  # not there, or not a notebook
        return False
    for kind, content in messages or ():
        kernel = shell.kernel  # type: ignore[attr-defined]
        kernel.send_response(kernel.iopub_socket, kind, content)
    return messages is not None


@lru_cache(maxsize=1)  # Run All asks for every candidate of the same file
def _saved(path: Path, changed: int) -> Mapping[tuple[str, str], list[dict[str, Any]]]:
    """The outputs of a notebook's code cells by id and source; `changed` is when the file was written."""
    cells = json.loads(path.read_bytes())["cells"]
    return {
        (cell["id"], _joined(cell["source"])): cell["outputs"]
        for cell in cells
        if cell["cell_type"] == "code" and "id" in cell
    }


def _message(output: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    kind = output["output_type"]
    content = {name: output[name] for name in _CONTENT[kind]}
    if kind == "stream":
        content["text"] = _joined(content["text"])
    if "data" in content:
        content["data"] = {mime: _value(mime, value) for mime, value in content["data"].items()}
    return kind, content


def _value(mime: str, value: Any) -> Any:
    return value if mime.endswith("json") else _joined(value)


def _joined(text: str | list[str]) -> str:
    """Notebooks store a long text as its lines."""
    return text if isinstance(text, str) else "".join(text)

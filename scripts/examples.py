"""Execute the example notebooks again and keep their outputs, without the folder they ran in.

Call it as `python scripts/examples.py [NOTEBOOK ...]`; without names it takes all that are not labelled as recorded.
"""

import json
import sys
import tempfile
from pathlib import Path

import nbformat
from nbclient import NotebookClient

EXAMPLES = Path(__file__).parent.parent / "examples"


def execute(path: Path, *, folder: str) -> nbformat.NotebookNode:
    """The notebook, executed in that folder."""
    notebook = nbformat.read(path, as_version=4)
    NotebookClient(notebook, timeout=600, resources={"metadata": {"path": folder}}).execute()
    return notebook


def portable(notebook: nbformat.NotebookNode, *, folder: str) -> nbformat.NotebookNode:
    """The notebook without times, and with paths relative to the folder it ran in."""
    text = json.dumps(notebook).replace(f"{Path(folder).resolve()}/", "").replace(f"{folder}/", "")
    clean = nbformat.from_dict(json.loads(text))
    for cell in clean.cells:
        cell.metadata.pop("execution", None)
    clean.metadata.pop("widgets", None)
    return clean


def is_recorded(path: Path) -> bool:
    """Whether its outputs came from a real model once, and must not be made again."""
    return path.stem.endswith("recorded")


def main(names: list[str]) -> None:
    """Renew the notebooks of these names, or all."""
    chosen = [Path(name) for name in names] or [path for path in EXAMPLES.glob("*.ipynb") if not is_recorded(path)]
    for path in chosen:
        with tempfile.TemporaryDirectory() as folder:
            done = portable(execute(path, folder=folder), folder=folder)
        nbformat.validate(done)
        nbformat.write(done, path)


if __name__ == "__main__":
    main(sys.argv[1:])

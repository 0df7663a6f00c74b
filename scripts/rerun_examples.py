"""Execute the example notebooks again and keep their outputs and traces, without the folder they ran in.

Call it as `python scripts/rerun_examples.py [NOTEBOOK ...]`; without names it takes all that are not labelled as
recorded. `python scripts/rerun_examples.py --record TRACE NAME [BEFORE [NOTE]]` takes the trace of a run with a real
model over as an example: replies and outputs as they are, with a label, and without the folder and the machine. BEFORE
is a file with the code that the user had run, for the solution to find the same variables; NOTE is added to the label.
"""

import json
import re
import sys
import tempfile
from pathlib import Path

import nbformat
from nbclient import NotebookClient

from exploracoder_jupyter.trace.cells import source_hash
from exploracoder_jupyter.trace.storage import PackedRecords, parse_records, unpack_records

EXAMPLES = Path(__file__).parent.parent / "examples"
TRACES = "explorations"
"""Where examples write the traces of their explorations, below their own folder."""


def execute(path: Path, *, folder: str) -> nbformat.NotebookNode:
    """The notebook, executed in that folder."""
    notebook = nbformat.read(path, as_version=4)
    NotebookClient(notebook, timeout=600, resources={"metadata": {"path": folder}}).execute()
    return notebook


def without_machine(notebook: nbformat.NotebookNode) -> nbformat.NotebookNode:
    """The trace without the name of the machine and the folders of its Python, its cells marked as untouched.

    Its records have to be unpacked, as by `portable`, and are packed afterwards.
    """
    text = re.sub(r"Linux-[\w.-]*?(x86_64|aarch64)", r"Linux-\1", json.dumps(notebook))
    text = re.sub(r"(?:/[\w.-]+)+?/(?=lib/python3)", "", text)
    clean = nbformat.from_dict(json.loads(re.sub(r"Linux-[\w.-]*?(x86\\\\_64)", r"Linux-\1", text)))
    facts = clean.metadata.exploracoder_jupyter
    facts.records = PackedRecords(parse_records(facts.records, facts.schema_version)).text()
    for cell in clean.cells:
        if mark := cell.metadata.get("exploracoder_jupyter"):
            mark.source_hash = source_hash(cell.source)
    return clean


def portable(notebook: nbformat.NotebookNode, *, folder: str) -> nbformat.NotebookNode:
    """The notebook without times, and with paths relative to the folder it ran in; the records of a trace unpacked."""
    facts = notebook.metadata.get("exploracoder_jupyter", {})
    if "records" in facts:
        facts["records"] = [*unpack_records(facts["records"])]
    text = json.dumps(notebook).replace(f"{Path(folder).resolve()}/", "").replace(f"{folder}/", "")
    text = text.replace(f'"{Path(folder).resolve()}"', '""')
    clean = nbformat.from_dict(json.loads(text))
    for cell in clean.cells:
        cell.metadata.pop("execution", None)
    clean.metadata.pop("widgets", None)
    return clean


def labelled(trace: nbformat.NotebookNode, note: str) -> nbformat.NotebookNode:
    """The trace with a first cell that says what it is."""
    facts = trace.metadata.exploracoder_jupyter
    label = nbformat.v4.new_markdown_cell(
        f"> **Recorded.** This is the trace of one run on {facts.started[:10]}, as it was written. The replies are a "
        f"language model's (its endpoint names it `{facts.model}`), unedited, and so are all outputs. Every prompt and "
        "reply is in the notebook's metadata. *Run All* leaves the candidates alone and runs the solution."
        f"{f' {note}' if note else ''}"
    )
    label.id = f"explora-{facts.run_id}-label"
    trace.cells.insert(0, label)
    return trace


def begun(trace: nbformat.NotebookNode, code: str) -> nbformat.NotebookNode:
    """The trace with the code that the user had run, behind the label; it is run here for its output."""
    cell = nbformat.v4.new_code_cell(code.strip(), id=f"explora-{trace.metadata.exploracoder_jupyter.run_id}-before")
    with tempfile.TemporaryDirectory() as folder:
        alone = nbformat.v4.new_notebook(cells=[cell])
        NotebookClient(alone, timeout=600, resources={"metadata": {"path": folder}}).execute()
    cell.metadata.pop("execution", None)
    trace.cells.insert(1, cell)
    return trace


def record(source: Path, name: str, before: str = "", note: str = "") -> None:
    """Take a trace over as the example of that name."""
    notebook = portable(nbformat.read(source, as_version=4), folder=str(source.parent))
    done = labelled(without_machine(notebook), note)
    if before:
        done = begun(done, Path(before).read_text(encoding="utf-8"))
    nbformat.validate(done)
    nbformat.write(done, EXAMPLES / f"{name}-recorded.ipynb")


def is_recorded(path: Path) -> bool:
    """Whether its outputs came from a real model once, and must not be made again."""
    return path.stem.endswith("recorded")


def main(names: list[str]) -> None:
    """Renew the notebooks of these names, or all."""
    chosen = [Path(name) for name in names] or [path for path in EXAMPLES.glob("*.ipynb") if not is_recorded(path)]
    for path in chosen:
        with tempfile.TemporaryDirectory() as folder:
            done = portable(execute(path, folder=folder), folder=folder)
            traces = {found.name: nbformat.read(found, as_version=4) for found in Path(folder, TRACES).glob("*.ipynb")}
        nbformat.validate(done)
        nbformat.write(done, path)
        for name, trace in traces.items():
            (path.parent / TRACES).mkdir(exist_ok=True)
            nbformat.write(without_machine(portable(trace, folder=folder)), path.parent / TRACES / name)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--record"]:
        record(Path(sys.argv[2]), *sys.argv[3:])
    else:
        main(sys.argv[1:])

"""What tests of traces share: the cells of a run, their metadata, packed records, a trace that is being written."""

import base64
import json
import lzma
import random
from functools import cache

from exploracoder_jupyter.trace import CellView, Trace, generated_metadata, journal_path
from exploracoder_jupyter.trace.storage import Journal
from tests.unit.factories import recorded, states


def viewed(events, **options):
    """The cells after these events."""
    view = CellView(**options)
    for state in states(recorded(events)):
        view.update(state)
    return view.cells


def with_role(cells, role):
    """The generated cells of this role."""
    return [cell for cell in cells if (found := generated_metadata(cell)) and found["role"] == role]


def roles(notebook):
    """The role and the candidate of each generated cell."""
    marks = filter(None, map(generated_metadata, notebook.cells))
    return [(mark["role"], mark.get("candidate", "")) for mark in marks]


def facts(notebook):
    """What the notebook says of its run."""
    return notebook["metadata"]["exploracoder_jupyter"]


def pack(lines):
    """These lines as a trace stores its records."""
    return base64.b64encode(lzma.compress("".join(f"{line}\n" for line in lines).encode())).decode()


def unpack(packed):
    """The records that a trace stores, as JSON."""
    return [json.loads(line) for line in lzma.decompress(base64.b64decode(packed)).splitlines()]


def whole_text(path):
    """All text in a notebook, including the records of a trace; the text of any other file."""
    text = path.read_text(encoding="utf-8")
    metadata = json.loads(text)["metadata"] if path.suffix == ".ipynb" else {}
    packed = metadata.get("exploracoder_jupyter", {}).get("records")
    return f"{text}\n{lzma.decompress(base64.b64decode(packed)).decode() if packed else ''}"


@cache
def a_picture(seed, size=30_000):
    """A picture of noise, in base64; `size` is in bytes."""
    return base64.b64encode(b"\x89PNG" + random.Random(seed).randbytes(size)).decode()


def journaled(path, records):
    """Write these records to the journal of the trace at this path."""
    journal = Journal(journal_path(path))
    for record in records:
        journal.append(record)
    journal.close()


def traced(path, records, **options):
    """An open trace with these records."""
    trace = Trace(path, **options)
    for record in records:
        trace.append(record)
    return trace

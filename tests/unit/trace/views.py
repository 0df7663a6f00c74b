"""What tests of traces share: the cells of a run, their metadata, and a trace that is being written."""

from exploracoder_jupyter.trace import CellView, Trace, generated_metadata, journal_path
from exploracoder_jupyter.trace.storage.journal import Journal
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

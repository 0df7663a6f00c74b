"""What tests of the recording of runs share."""

from exploracoder_jupyter.core.configuration.sources import resolve
from exploracoder_jupyter.core.types import Task
from exploracoder_jupyter.runs import Order
from exploracoder_jupyter.runs.recording import EventRecorder


def recorder_at(path, workdir, listen=print, **options):
    """The recorder of a run whose trace is at this path; `listen` is called with every record."""
    settings = resolve({"view": {"out": str(path)}}, environ={})
    order = Order(Task("x", ("networkx",)), workdir=workdir)
    return EventRecorder(
        order, settings, lambda record, state: listen(record), on_trace_created=lambda path: None, **options
    )

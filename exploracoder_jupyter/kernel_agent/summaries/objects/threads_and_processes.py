"""Threads and processes, and whether they are running.

They are described in the kernel's own process: in a fork of it no other thread is alive, and its children are not the
fork's. A subclass of theirs is described in a fork all the same, so its state is omitted.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from exploracoder_jupyter.kernel_agent.summaries.objects import python_objects
from exploracoder_jupyter.kernel_agent.summaries.summary_facts import Fact, TypeFamily
from exploracoder_jupyter.kernel_agent.summaries.summary_options import SummaryOptions


def _describe(worker: Any, options: SummaryOptions) -> Iterator[Fact]:
    """Describe a worker by its `repr`, which has its name and state, or by the attributes of a subclass."""
    if type(worker).__module__.partition(".")[0] in ("threading", "multiprocessing"):
        yield Fact(repr(worker), shows=True)
    else:
        yield Fact(repr(worker.name), shows=True)
        yield from python_objects.field_facts(python_objects.stored_fields(worker), options)


FAMILY = TypeFamily({"threading.Thread": _describe, "multiprocessing.BaseProcess": _describe}, in_process=True)

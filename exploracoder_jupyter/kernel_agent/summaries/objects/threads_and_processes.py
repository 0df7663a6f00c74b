"""Threads and processes, and whether they are running.

They are described in the kernel's own process: in a fork of it no other thread is alive, and its children are not the
fork's. A subclass of theirs is described in a fork all the same, so its state is omitted.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

from exploracoder_jupyter.kernel_agent.reporting.notebook_names import type_path
from exploracoder_jupyter.kernel_agent.summaries.summary_facts import Fact, TypeFamily
from exploracoder_jupyter.kernel_agent.summaries.summary_options import SummaryOptions


def _describe_thread(value: Any, options: SummaryOptions) -> Iterator[Fact]:
    is_plain_thread = type(value).__module__ == "threading"
    yield from _worker_facts(value, _thread_state(value) if is_plain_thread else "", options)


def _thread_state(value: Any) -> str:
    if value.is_alive():
        return "running"
    return "not started" if value.ident is None else "finished"


def _describe_process(value: Any, options: SummaryOptions) -> Iterator[Fact]:
    yield from _worker_facts(value, _process_state(value), options)


def _process_state(value: Any) -> str:
    try:
        if value.is_alive():
            return "running"
        return "not started" if value.pid is None else f"finished with exit code {value.exitcode}"
    except ValueError:
        return "closed"
    except AssertionError:  # not a child of this process
        return ""


def _worker_facts(value: Any, state: str, options: SummaryOptions) -> Iterator[Fact]:
    status = ", ".join(filter(None, (state, "daemon" if value.daemon else "")))
    yield Fact(", ".join(filter(None, (repr(value.name), status))), shows=True, schema=status)
    attributes = ((name, attribute) for name, attribute in vars(value).items() if not name.startswith("_"))
    for name, attribute in islice(attributes, options.columns):
        yield Fact(f"{name}: {options.short(attribute)}", shows=True, schema=f"{name}: {type_path(attribute)}")


FAMILY = TypeFamily(
    {"threading.Thread": _describe_thread, "multiprocessing.BaseProcess": _describe_process},
    in_process=True,
)

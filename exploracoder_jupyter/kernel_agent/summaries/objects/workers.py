"""Threads and processes: whether they run.

They are told in the kernel's own process: in a fork of it no other thread lives, and its children are not the fork's.
Of a class based on theirs, which is told in a fork for all that, the state is left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

from exploracoder_jupyter.kernel_agent.reporting.notebook_names import type_path
from exploracoder_jupyter.kernel_agent.summaries.summary_facts import Fact, Family, Look


def _thread(value: Any, look: Look) -> Iterator[Fact]:
    own = type(value).__module__ == "threading"
    yield from _told(value, _thread_state(value) if own else "", look)


def _thread_state(value: Any) -> str:
    if value.is_alive():
        return "running"
    return "not started" if value.ident is None else "finished"


def _process(value: Any, look: Look) -> Iterator[Fact]:
    yield from _told(value, _process_state(value), look)


def _process_state(value: Any) -> str:
    try:
        if value.is_alive():
            return "running"
        return "not started" if value.pid is None else f"finished with exit code {value.exitcode}"
    except ValueError:
        return "closed"
    except AssertionError:  # it is no child of this process
        return ""


def _told(value: Any, state: str, look: Look) -> Iterator[Fact]:
    known = ", ".join(filter(None, (state, "daemon" if value.daemon else "")))
    yield Fact(", ".join(filter(None, (repr(value.name), known))), shows=True, schema=known)
    others = ((name, held) for name, held in vars(value).items() if not name.startswith("_"))
    for name, held in islice(others, look.columns):
        yield Fact(f"{name}: {look.short(held)}", shows=True, schema=f"{name}: {type_path(held)}")


FAMILY = Family(
    {"threading.Thread": _thread, "multiprocessing.BaseProcess": _process},
    here=True,
)

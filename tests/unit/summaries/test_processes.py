"""Threads and processes are described in their current state."""

import multiprocessing
import threading

import pytest

from exploracoder_jupyter.kernel_agent.summaries.short_values import ShortFormatter
from exploracoder_jupyter.kernel_agent.summaries.summarizer import Summarizer


class Worker(threading.Thread):
    def __init__(self, count: int) -> None:
        super().__init__(name="worker")
        self.count = count


def describe(value: object) -> list[str]:
    (summary,) = Summarizer().tell([value])
    return [summary.text, summary.schema]


def test_a_thread_is_described_from_before_its_start_to_its_end() -> None:
    finish = threading.Event()
    thread = threading.Thread(target=finish.wait, name="waiter", daemon=True)
    assert describe(thread) == [
        "threading.Thread: 'waiter', not started, daemon",
        "threading.Thread: not started, daemon",
    ]
    thread.start()
    assert describe(thread) == ["threading.Thread: 'waiter', running, daemon", "threading.Thread: running, daemon"]
    finish.set()
    thread.join()
    assert describe(thread)[1] == "threading.Thread: finished, daemon"


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_a_process_that_waits_to_be_started_is_described(method: str) -> None:
    process = multiprocessing.get_context(method).Process(target=print, name="idle")
    assert describe(process)[0].endswith("Process: 'idle', not started")


def test_a_process_is_described_from_its_start_to_its_end() -> None:
    finish = multiprocessing.get_context("fork").Event()
    process = multiprocessing.get_context("fork").Process(target=finish.wait, name="waiter")
    process.start()
    assert describe(process)[1] == "multiprocessing.context.ForkProcess: running"
    finish.set()
    process.join()
    assert describe(process)[1] == "multiprocessing.context.ForkProcess: finished with exit code 0"
    process.close()
    assert describe(process)[1] == "multiprocessing.context.ForkProcess: closed"


def test_a_class_based_on_threads_is_described_without_a_wrong_state() -> None:
    worker = Worker(98761)
    path = f"{__name__}.Worker"
    assert describe(worker) == [f"{path}: 'worker'\n  count: 98761", f"{path}\n  count: int"]
    assert ShortFormatter(apart=True, letters=100)([worker]) == f"[{path}]"

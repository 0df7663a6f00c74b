"""Threads and processes are told in the state that they are in."""

import multiprocessing
import threading

import pytest

from exploracoder_jupyter.kernel_agent.summaries.short_values import ShortFormatter
from exploracoder_jupyter.kernel_agent.summaries.summarizer import Summarizer


class Worker(threading.Thread):
    def __init__(self, count: int) -> None:
        super().__init__(name="worker")
        self.count = count


def told(value: object) -> list[str]:
    (summary,) = Summarizer().tell([value])
    return [summary.text, summary.schema]


def test_a_thread_is_told_from_before_its_start_to_its_end() -> None:
    goes_on = threading.Event()
    thread = threading.Thread(target=goes_on.wait, name="waiter", daemon=True)
    assert told(thread) == ["threading.Thread: 'waiter', not started, daemon", "threading.Thread: not started, daemon"]
    thread.start()
    assert told(thread) == ["threading.Thread: 'waiter', running, daemon", "threading.Thread: running, daemon"]
    goes_on.set()
    thread.join()
    assert told(thread)[1] == "threading.Thread: finished, daemon"


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_a_process_that_waits_to_be_started_is_told(method: str) -> None:
    process = multiprocessing.get_context(method).Process(target=print, name="idle")
    assert told(process)[0].endswith("Process: 'idle', not started")


def test_a_process_is_told_from_its_start_to_its_end() -> None:
    goes_on = multiprocessing.get_context("fork").Event()
    process = multiprocessing.get_context("fork").Process(target=goes_on.wait, name="waiter")
    process.start()
    assert told(process)[1] == "multiprocessing.context.ForkProcess: running"
    goes_on.set()
    process.join()
    assert told(process)[1] == "multiprocessing.context.ForkProcess: finished with exit code 0"
    process.close()
    assert told(process)[1] == "multiprocessing.context.ForkProcess: closed"


def test_no_wrong_state_is_told_of_a_class_based_on_threads() -> None:
    worker = Worker(98761)
    path = f"{__name__}.Worker"
    assert told(worker) == [f"{path}: 'worker'\n  count: 98761", f"{path}\n  count: int"]
    assert ShortFormatter(apart=True, letters=100)([worker]) == f"[{path}]"

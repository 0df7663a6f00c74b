"""Threads and processes are described in their current state."""

import multiprocessing
import threading

from exploracoder_jupyter.kernel_agent.summaries.short_values import ShortFormatter
from tests.unit.summaries.described import summarize


class Worker(threading.Thread):
    def __init__(self, count: int) -> None:
        super().__init__(name="worker")
        self.count = count


def test_a_thread_is_described_in_every_state() -> None:
    finish = threading.Event()
    thread = threading.Thread(target=finish.wait, name="waiter", daemon=True)
    assert summarize(thread) == ("threading.Thread: <Thread(waiter, initial daemon)>", "threading.Thread")
    thread.start()
    assert "started daemon" in summarize(thread).text
    finish.set()
    thread.join()
    assert "stopped daemon" in summarize(thread).text


def test_a_process_is_described_in_every_state() -> None:
    context = multiprocessing.get_context("fork")
    finish = context.Event()
    process = context.Process(target=finish.wait, name="waiter")
    assert "initial" in summarize(process).text
    process.start()
    assert "started" in summarize(process).text
    finish.set()
    process.join()
    assert "stopped exitcode=0" in summarize(process).text
    process.close()
    assert "closed" in summarize(process).text


def test_a_subclass_of_threads_shows_no_wrong_state() -> None:
    worker, path = Worker(98761), f"{__name__}.Worker"
    assert summarize(worker) == (f"{path}: 'worker'\n  count = 98761", f"{path}\n  count: int")
    assert ShortFormatter(apart=True, letters=100)([worker]) == f"[{path}]"

"""Threads and processes are described in their current state."""

import multiprocessing
import threading

from exploracoder_jupyter.kernel_agent.summaries.short_values import ShortFormatter
from exploracoder_jupyter.kernel_agent.summaries.summarizer import Summarizer


class Worker(threading.Thread):
    def __init__(self, count: int) -> None:
        super().__init__(name="worker")
        self.count = count


def describe(value: object) -> list[str]:
    return list(Summarizer().tell([value])[0])


def test_a_thread_is_described_from_before_its_start_to_its_end() -> None:
    finish = threading.Event()
    thread = threading.Thread(target=finish.wait, name="waiter", daemon=True)
    assert describe(thread) == ["threading.Thread: <Thread(waiter, initial daemon)>", "threading.Thread"]
    thread.start()
    assert "started daemon" in describe(thread)[0]
    finish.set()
    thread.join()
    assert "stopped daemon" in describe(thread)[0]


def test_a_process_is_described_from_before_its_start_to_its_end() -> None:
    context = multiprocessing.get_context("fork")
    finish = context.Event()
    process = context.Process(target=finish.wait, name="waiter")
    assert "initial" in describe(process)[0]
    process.start()
    assert "started" in describe(process)[0]
    finish.set()
    process.join()
    assert "stopped exitcode=0" in describe(process)[0]
    process.close()
    assert "closed" in describe(process)[0]


def test_a_class_based_on_threads_is_described_without_a_wrong_state() -> None:
    worker, path = Worker(98761), f"{__name__}.Worker"
    assert describe(worker) == [f"{path}: 'worker'\n  count = 98761", f"{path}\n  count: int"]
    assert ShortFormatter(apart=True, letters=100)([worker]) == f"[{path}]"

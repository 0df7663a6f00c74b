"""A process that hangs on a lock is distinguished from those that wait for something; real processes, a short limit."""

import os
import signal
import subprocess
import sys
import time

import pytest

from exploracoder_jupyter.kernels.processes.watching import StallDetector
from tests.patience import patience

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks at /proc")
PRELUDE = """
import threading, time, os, sys, subprocess, queue
idle = threading.Thread(target=os.read, args=(os.pipe()[0], 1), daemon=True)  # housekeeping, as kernels have
idle.start()
print(flush=True)
sys.stdin.readline()
"""
SECONDS = 0.4
HANGS = {
    "a lock": "lock = threading.Lock(); lock.acquire(); lock.acquire()",
    "a queue": "queue.Queue().get()",
    "idle workers": "threading.Thread(target=queue.Queue().get, daemon=True).start(); queue.Queue().get()",
}
WAITS = {
    "sleep": "time.sleep(9)",
    "child": "subprocess.run(['sleep', '9'])",
    "work": "sum(range(10**10))",
    "a limit": "threading.Event().wait(9)",
    "a sleeping worker": "t = threading.Thread(target=time.sleep, args=(9,)); t.start(); t.join()",
    "a working worker": "t = threading.Thread(target=sum, args=(range(10**10),)); t.start(); t.join()",
    "a worker's child": "t = threading.Thread(target=os.system, args=('sleep 9',)); t.start(); t.join()",
    "a child with the lock": "subprocess.Popen(['sleep', '9']); queue.Queue().get()",
    "turns": "a, b = queue.Queue(), queue.Queue()\n"
    "def pong():\n    while True: b.put(a.get()); time.sleep(0.05)\n"
    "threading.Thread(target=pong, daemon=True).start()\n"
    "while True: a.put(1); b.get()",
}


def is_hang(code, within=3 * SECONDS + 0.3):
    """Whether it is called a hang within so many seconds."""
    program = [sys.executable, "-c", PRELUDE + code]
    process = subprocess.Popen(program, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True)
    with process:
        try:
            process.stdout.readline()
            stall = StallDetector(process.pid, seconds=SECONDS)
            process.stdin.write(b"\n")
            process.stdin.flush()
            end = time.monotonic() + within
            while time.monotonic() < end:
                if stall.is_stalled():
                    return True
                time.sleep(0.05)
            return False
        finally:
            os.killpg(process.pid, signal.SIGKILL)


@pytest.mark.parametrize("code", HANGS.values(), ids=HANGS)
def test_hangs_are_detected(code):
    assert is_hang(code, within=patience(3))


@pytest.mark.parametrize("code", WAITS.values(), ids=WAITS)
def test_waits_are_not(code):
    assert not is_hang(code)


def test_a_process_that_is_gone_does_not_hang():
    process = subprocess.Popen(["true"])
    process.wait()
    assert not StallDetector(process.pid, seconds=0).is_stalled()

"""A child that may hang, print, exit and change things; nothing of it is left."""

import atexit
import contextlib
import gc
import os
import signal
import socket
import sys
import threading
import time
import warnings
from pathlib import Path

import psutil
import pytest

from exploracoder_jupyter.kernel_agent.forking import process_fork
from exploracoder_jupyter.kernel_agent.summaries import forked_probe
from tests.patience import patience

pytestmark = pytest.mark.skipif(not forked_probe.possible(), reason="no process can be forked here")


def descriptors():
    return {int(path.name) for path in Path("/dev/fd").iterdir()}


def children():
    return {child.pid for child in psutil.Process().children()}


def say(*pieces):
    return lambda out: [out(piece) for piece in pieces]


def hang(out):
    out("begun")
    while True:
        time.sleep(60)


def compute(out):
    out("begun")
    while True:
        pass


def hang_in_c(out):
    out("begun")
    sum(range(10**12))


def hang_without_timer(out):
    signal.setitimer(signal.ITIMER_REAL, 0)
    hang(out)


def die(out):
    out("begun")
    os._exit(3)


def leave(out):
    out("begun")
    sys.exit(0)


def flood(out):
    while True:
        out("x" * 100_000)


ENDINGS = {
    "done": (say(1, [2, "three"]), [1, [2, "three"]], "done"),
    "nothing": (say(), [], "done"),
    "hang": (hang, ["begun"], "late"),
    "computing": (compute, ["begun"], "late"),
    "hang in C": (hang_in_c, ["begun"], "late"),
    "no timer": (hang_without_timer, ["begun"], "late"),
    "exit": (die, ["begun"], "died"),
    "raised": (leave, ["begun"], "died"),
}


@pytest.mark.parametrize("job, pieces, ending", ENDINGS.values(), ids=ENDINGS)
def test_sent_data_arrives_before_the_next_job(job, pieces, ending):
    results = forked_probe.run([job, say("next")], each=patience(0.2), seconds=patience(10))
    assert results == [forked_probe.Result(pieces, ending), forked_probe.Result(["next"], "done")]


@pytest.mark.parametrize("noise", [b"nope!\n", b"{}\n", b"\xff\xff\n", b"\n", b"\0"])
def test_noise_on_the_pipe_ends_it(noise):
    before = descriptors()

    def babble(out):
        out("begun")
        for number in descriptors() - before:
            with contextlib.suppress(OSError):
                os.write(number, noise)
        hang(out)

    (result,) = forked_probe.run([babble], each=0.2)
    assert result.pieces == ["begun"]
    assert result.outcome in ("late", "died")


def test_a_flood_is_bounded():
    (result,) = forked_probe.run([flood], each=5, seconds=5)
    assert result.outcome in ("died", "late")
    assert sum(map(len, result.pieces)) < 5_000_000


def test_no_process_and_no_descriptor_is_left():
    files, others = descriptors(), children()
    for _ in range(2):
        forked_probe.run([hang, die, say(1)], each=0.1)
    assert children() <= others  # those that other tests left may end meanwhile
    assert descriptors() == files


def test_jobs_beyond_the_total_time_are_not_run():
    results = forked_probe.run([hang, hang, hang, say(1)], each=0.2, seconds=0.3)
    assert (results[0].outcome, results[-1].outcome) == ("late", "unrun")


@pytest.mark.parametrize("handler", [signal.SIG_IGN, lambda *_: reap()], ids=["ignored", "reaped by the user"])
def test_a_process_that_reaps_for_itself_is_fine(handler):
    before = signal.signal(signal.SIGCHLD, handler)
    try:
        results = forked_probe.run([hang, die, say(1)], each=patience(0.3), seconds=patience(20))
    finally:
        signal.signal(signal.SIGCHLD, before)
    assert [one.outcome for one in results] == ["late", "died", "done"]


def test_handlers_see_only_the_users_own_children():
    signals = []
    before = signal.signal(signal.SIGCHLD, lambda *_: signals.append(1))
    try:
        forked_probe.run([die, say(1)], each=20, seconds=20)
        assert signals == []
        own = os.spawnlp(os.P_NOWAIT, "sleep", "sleep", "0.1")
        (result,) = forked_probe.run([lambda out: time.sleep(1)], each=20, seconds=20)
        assert (result.outcome, signals) == ("done", [1])
        assert os.waitpid(own, 0)[0] == own
        assert signal.getsignal(signal.SIGCHLD) not in (signal.SIG_DFL, before)
    finally:
        signal.signal(signal.SIGCHLD, before)


def test_handlers_in_another_thread_stay():
    results = []
    before = signal.signal(signal.SIGCHLD, lambda *_: None)
    try:
        thread = threading.Thread(target=lambda: results.extend(forked_probe.run([say(1)], each=20, seconds=20)))
        thread.start()
        thread.join()
    finally:
        signal.signal(signal.SIGCHLD, before)
    assert results == [forked_probe.Result([1], "done")]


def reap():
    with contextlib.suppress(ChildProcessError):
        os.waitpid(-1, os.WNOHANG)


def test_nothing_that_happens_there_reaches_this_process(capfd):
    calls = []

    def spoil(out):
        calls.append(1)
        sys.stderr.write("printed")
        os.write(1, b"written")
        os.system("echo from a shell")
        gc.collect()
        out("done")

    handler = atexit.register(print, "at exit")
    try:
        assert forked_probe.run([spoil], each=20, seconds=20) == [forked_probe.Result(["done"], "done")]
    finally:
        atexit.unregister(handler)
    assert calls == []
    assert capfd.readouterr() == ("", "")


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="the system does not list open files")
def test_files_and_connections_stay_where_they_are(tmp_path):
    path = tmp_path / "file"
    path.write_text("abcdef")
    ours, theirs = socket.socketpair()
    reading, writing = os.pipe()
    theirs.send(b"sent")
    os.write(writing, b"piped")
    with path.open("r+b", buffering=0) as file, (tmp_path / "log").open("w") as log, ours, theirs:
        path.unlink()
        file.seek(2)
        log.write("held back")

        def use(out):
            out(file.read(2).decode())
            log.flush()
            out(len(os.read(reading, 9)))
            with contextlib.suppress(OSError):
                ours.recv(9)
            with contextlib.suppress(OSError):
                file.write(b"xx")

        (result,) = forked_probe.run([use], each=20, seconds=20)
        assert result == forked_probe.Result(["cd", 0], "done")
        assert (file.read(), ours.recv(9), os.read(reading, 9)) == (b"cdef", b"sent", b"piped")
    os.close(reading), os.close(writing)
    assert (tmp_path / "log").read_text() == "held back"


def test_a_fork_repeats_and_adds_no_warnings(monkeypatch):
    def hooked():
        warnings.warn("a fork", RuntimeWarning, stacklevel=2)
        return os.fork()

    monkeypatch.setattr(process_fork, "_fork", hooked)
    with warnings.catch_warnings(record=True) as shown:
        warnings.simplefilter("default")
        for _ in range(2):
            warnings.warn("once", UserWarning, stacklevel=1)
            forked_probe.run([say(1)])
    assert [str(one.message) for one in shown] == ["once"]


def test_a_blocked_alarm_still_ends_a_hang():
    signals = []
    before = signal.signal(signal.SIGALRM, lambda *_: signals.append(1))
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGALRM])
    try:
        (result,) = forked_probe.run([hang_in_c], each=0.1)
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGALRM])
        signal.signal(signal.SIGALRM, before)
    assert (result.outcome, signals) == ("late", [])


def test_a_job_ended_by_its_timer_is_late():
    (result,) = forked_probe.run([lambda _: os.kill(os.getpid(), signal.SIGALRM)], each=60, seconds=60)
    assert result.outcome == "late"


@pytest.mark.parametrize("lacking", ["fork", "process", "descriptor"])
def test_without_a_process_nothing_is_run(monkeypatch, lacking):
    def refuse():
        raise BlockingIOError

    if lacking == "fork":
        monkeypatch.setattr(process_fork, "_fork", None)
    elif lacking == "process":
        monkeypatch.setattr(forked_probe, "fork", refuse)
    else:
        monkeypatch.setattr(forked_probe, "_pipe", refuse)
    assert forked_probe.run([say(1)]) == [forked_probe.Result([], "unrun")]


@pytest.fixture
def interruptible():
    """Also where the tests were started with interrupts ignored, as a shell does in the background."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_an_interrupt_leaves_no_process(interruptible):
    def interrupt(out):
        time.sleep(0.3)  # Python drops what interrupts it within the fork itself
        os.kill(os.getppid(), signal.SIGINT)
        time.sleep(10)

    others = children()
    with pytest.raises(KeyboardInterrupt):
        forked_probe.run([interrupt], each=20, seconds=20)
    assert children() <= others

"""What a live kernel may hold, aspect by aspect: how to make it, look at it, and spoil it in a branch.

The same `look` runs in every branch and afterwards in the kernel. It changes what it looks at as well, so it can only
come out the same everywhere if nobody shares anything with anybody. `spoil` is what a branch does besides, and `after`
is looked at in the kernel alone.
"""

from dataclasses import dataclass
from importlib.util import find_spec


@dataclass(frozen=True)
class Aspect:
    given: str
    look: str = ""
    spoil: str = ""
    after: str = ""
    needs: str = ""
    """A module without which there is no such aspect."""


_ALL = {
    "names": Aspect(
        """
class Thing:
    pass
numbers = [1, 2, 3]
alias = numbers
thing = Thing()
squares = (n * n for n in range(5))
next(squares), next(squares)
double = lambda n: n * 2 * len(numbers)
""",
        """
assert alias is numbers and type(thing) is Thing and not vars(thing)
assert double(2) == 12
assert next(squares) == 4 and list(squares) == [9, 16]
numbers.append(4); thing.seen = True
assert alias == [1, 2, 3, 4]
""",
        "del thing, squares; numbers.clear(); Thing.spoiled = True",
        "assert numbers == [1, 2, 3, 4] and not hasattr(Thing, 'spoiled')",
    ),
    "arguments of the kernel": Aspect(
        "import sys",
        "assert sys.argv == [''] if IN_BRANCH else '-f' in sys.argv, sys.argv",
        "sys.argv.append('spoiled')",
        "assert 'spoiled' not in sys.argv",
    ),
    "text file half read": Aspect(
        """
open("lines.txt", "w").write("one\\ntwo\\nthree\\n" * 5000)
lines = open("lines.txt")
lines.readline()
""",
        "assert lines.readline() == 'two\\n' and len(list(lines)) == 14998",
        "lines.close(); import os; os.remove('lines.txt')",
        "assert lines.read() == '' and lines.tell() == 70000",
    ),
    "binary file half read": Aspect(
        """
open("bytes.bin", "wb").write(bytes(range(256)) * 100)
raw, buffered = open("bytes.bin", "rb", buffering=0), open("bytes.bin", "rb")
raw.read(10), buffered.read(1000)
""",
        """
assert (raw.tell(), raw.read(3)) == (10, b"\\x0a\\x0b\\x0c")
assert (buffered.tell(), buffered.read(20000)) == (1000, (bytes(range(256)) * 100)[1000:21000])
""",
        "raw.seek(0); buffered.seek(0); open('bytes.bin', 'wb').close()",
        "assert (raw.tell(), buffered.tell()) == (13, 21000) and len(open('bytes.bin', 'rb').read()) == 25600",
    ),
    "unflushed writes": Aspect(
        """
import tempfile
written, elsewhere = open("written.txt", "w"), tempfile.NamedTemporaryFile("w+", suffix=".txt")
written.write("begun "); elsewhere.write("begun "); elsewhere.flush(); elsewhere.write("and ")
""",
        """
written.write("more"); written.flush()
assert open("written.txt").read() == "begun more"
elsewhere.write("more"); elsewhere.flush(); elsewhere.seek(0)
assert elsewhere.read() == "begun and more"
""",
        "written.write('spoiled'); written.close(); elsewhere.truncate(0)",
        """
import os
assert open("written.txt").read() == "begun more"
assert open(elsewhere.name).read() == "begun and more"
""",
    ),
    "random state": Aspect(
        """
import random, numpy as np
random.seed(7); np.random.seed(7); generator = np.random.default_rng(7)
draw = lambda: (random.random(), float(np.random.rand()), float(generator.random()))
states = random.getstate(), np.random.get_state(), generator.bit_generator.state
drawn = draw()
random.setstate(states[0]); np.random.set_state(states[1]); generator.bit_generator.state = states[2]
""",
        "assert draw() == drawn",
        "random.seed(1); np.random.seed(1); generator.random(100)",
    ),
    "arrays, bit for bit": Aspect(
        """
import hashlib, pandas as pd
frame = pd.DataFrame({"n": np.arange(300_000), "x": np.random.default_rng(1).random(300_000)})
frame["s"] = [f"row {n}" for n in frame.n]
digest = lambda: hashlib.sha256(pd.util.hash_pandas_object(frame).values.tobytes()).hexdigest()
digested, address = digest(), frame["x"].values.ctypes.data
""",
        "assert digest() == digested and frame['x'].values.ctypes.data == address",
        "frame['x'] = 0; frame.loc[3, 's'] = 'spoiled'; frame.drop(columns='n', inplace=True); del digest",
        needs="pandas",
    ),
    "memory shared with others": Aspect(
        """
from multiprocessing import shared_memory
import mmap
mapped = np.memmap("mapped.bin", dtype="int64", mode="w+", shape=1000)
mapped[:] = 5; mapped.flush()
shared = shared_memory.SharedMemory(create=True, size=100)
shared.buf[:3] = b"abc"
anonymous = mmap.mmap(-1, 100)
anonymous[:3] = b"abc"
""",
        """
assert mapped.sum() == 5000 and bytes(shared.buf[:3]) == b"abc" and anonymous[:3] == b"abc"
mapped[0] = 6; shared.buf[3] = 100; anonymous[3:4] = b"d"
""",
        "mapped[:] = 0; mapped.flush(); shared.buf[:4] = b'xxxx'; anonymous[:] = b'x' * 100",
        """
assert mapped[:2].tolist() == [6, 5] and np.fromfile("mapped.bin", dtype="int64")[:2].tolist() == [6, 5]
other = shared_memory.SharedMemory(shared.name)
assert bytes(other.buf[:4]) == b"abcd" and anonymous[:5] == b"abcd\\0"
""",
    ),
    "sqlite, in a transaction": Aspect(
        """
import sqlite3
database = sqlite3.connect("data.db")
database.execute("create table t (n)"); database.execute("insert into t values (1)"); database.commit()
database.execute("insert into t values (2)")
counted = lambda: sqlite3.connect("data.db").execute("select count(*) from t").fetchone()[0]
""",
        "assert counted() == 1",
        """
other = sqlite3.connect("data.db")
other.execute("delete from t"); other.commit(); other.close()
""",
        """
assert database.in_transaction and database.execute("select count(*) from t").fetchone() == (2,)
database.execute("insert into t values (3)"); database.commit()
assert counted() == 3 and database.execute("pragma integrity_check").fetchone() == ("ok",)
""",
    ),
    "a child process": Aspect(
        """
import subprocess
child = subprocess.Popen(["cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
def converse(word):
    child.stdin.write(word + b"\\n"); child.stdin.flush()
    return child.stdout.readline()
assert converse(b"before") == b"before\\n"
""",
        spoil="child.stdin.close(); child.stdout.close()",
        after="assert child.poll() is None and converse(b'after') == b'after\\n'",
    ),
    "a connection to a server": Aspect(
        """
import socket
connection = socket.create_connection(("127.0.0.1", PORT))
def talk(word):
    connection.sendall(word)
    return connection.recv(100)
assert talk(b"before") == b"before"
""",
        """
if IN_BRANCH:
    try:
        assert talk(b"branch") != b"branch"
    except OSError:
        pass
""",
        "connection.close()",
        "assert talk(b'after') == b'after'",
    ),
    "sockets of ZeroMQ": Aspect(
        """
import zmq
context = zmq.Context()
sender, receiver = context.socket(zmq.PUSH), context.socket(zmq.PULL)
sender.connect(f"tcp://127.0.0.1:{receiver.bind_to_random_port('tcp://127.0.0.1')}")
sender.send(b"before")
assert receiver.recv() == b"before"
""",
        after="sender.send(b'after')\nassert receiver.poll(5000) and receiver.recv() == b'after'",
    ),
    "threads": Aspect(
        """
import threading, time, queue
ticks, wanted, given = [], queue.Queue(), queue.Queue()
def tick():
    while True:
        ticks.append(len(ticks)); time.sleep(0.01)
def serve():
    while True:
        given.put(wanted.get() * 2)
workers = [threading.Thread(target=each, daemon=True) for each in (tick, serve)]
for worker in workers: worker.start()
time.sleep(0.1)
""",
        """
assert len(ticks) > 5 and ticks == list(range(len(ticks)))
new = threading.Thread(target=ticks.count, args=(0,)); new.start(); new.join(5)
assert not new.is_alive()
""",
        "ticks.clear()",
        """
before = len(ticks); time.sleep(0.2); wanted.put(21)
assert len(ticks) > before and given.get(timeout=5) == 42 and all(worker.is_alive() for worker in workers)
""",
    ),
    "tasks of the event loop": Aspect(
        """
import asyncio
beats = 0
async def beat():
    global beats
    while True:
        beats += 1
        await asyncio.sleep(0.01)
task = asyncio.create_task(beat())
event = asyncio.Event()
await asyncio.sleep(0.1)
""",
        """
assert beats > 3
assert await asyncio.wait_for(asyncio.sleep(0.01, "slept"), 5) == "slept"
""",
        "task.cancel()",
        """
before = beats
await asyncio.sleep(0.2)
assert beats > before and not task.done()
asyncio.get_running_loop().call_later(0.05, event.set)
await asyncio.wait_for(event.wait(), 5)
""",
    ),
    "context variables": Aspect(
        "import contextvars, decimal\nvariable = contextvars.ContextVar('variable', default=0)\nvariable.set(5)\n"
        "decimal.getcontext().prec = 7",
        "assert variable.get() == 5 and decimal.getcontext().prec == 7",
        "variable.set(9); decimal.getcontext().prec = 3",
        "assert variable.get() == 5 and str(decimal.Decimal(1) / 3) == '0.3333333'",
    ),
    "timers and signals": Aspect(
        """
import signal
alarms = 0
def on_alarm(*_):
    global alarms
    alarms += 1
signal.signal(signal.SIGALRM, on_alarm)
signal.setitimer(signal.ITIMER_REAL, 0.02, 0.02)
time.sleep(0.1)
""",
        "assert alarms > 0 and signal.getsignal(signal.SIGALRM) is on_alarm",
        "signal.setitimer(signal.ITIMER_REAL, 0); signal.signal(signal.SIGALRM, signal.SIG_DFL)",
        "before = alarms; time.sleep(0.1)\nassert alarms > before\nsignal.setitimer(signal.ITIMER_REAL, 0)",
    ),
    "the process": Aspect(
        """
import os, sys, gc, builtins, warnings
os.makedirs("below", exist_ok=True)
folder = tempfile.TemporaryDirectory()
os.environ["CHOSEN"] = "mine"; sys.path.append("/nowhere"); builtins.chosen = 1
pid, here = os.getpid(), os.getcwd()
""",
        "assert gc.isenabled() and sys.path[-1] == '/nowhere' and chosen == 1",
        """
os.chdir("below"); os.environ["CHOSEN"] = "theirs"; sys.path.clear(); builtins.chosen = 2; gc.disable()
os.umask(0); sys.setrecursionlimit(5000)
""",
        """
assert (os.getpid(), os.getcwd(), os.environ["CHOSEN"]) == (pid, here, "mine") and gc.get_freeze_count() == 0
assert os.path.isdir(folder.name) and sys.getrecursionlimit() != 5000
""",
    ),
    "widgets": Aspect(
        """
import ipywidgets
slider, moved = ipywidgets.IntSlider(value=3), []
slider.observe(lambda change: moved.append(change.new), "value")
""",
        "assert slider.value == 3 and moved == []",
        "slider.value = 9; slider.close()",
        "assert slider.comm is not None and slider.keys",
    ),
    "figures": Aspect(
        """
%matplotlib inline
import matplotlib.pyplot as plt
plt.ioff()
figure, axes = plt.subplots()
line, = axes.plot([1, 2, 3])
def draw_it():
    figure.canvas.draw()
    return hash(bytes(figure.canvas.buffer_rgba()))
picture = draw_it()
""",
        "assert plt.get_fignums() == [figure.number] and plt.gca() is axes and draw_it() == picture",
        "axes.set_title('spoiled'); plt.close('all'); plt.rcParams['lines.linewidth'] = 9",
        "plt.close('all')",
        needs="matplotlib",
    ),
}
ASPECTS = {name: aspect for name, aspect in _ALL.items() if not aspect.needs or find_spec(aspect.needs)}

"""Snippet chains for the comparison of implementations, composed of blocks that interact through what they name.

A chain draws a few topics and two to five steps; a step is one to four blocks of its topics, in the order of what they
need, and ends by `look()`, defined in `START`, which prints all the state that the topics can reach. `SPOIL` is what
the other fork does meanwhile: it changes everything that it can find.
"""

from dataclasses import dataclass

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

SETUP = """
import asyncio, contextlib, contextvars, decimal, gc, io, itertools, json, locale, logging, os
import random, shutil, signal, sqlite3, sys, tempfile, threading, types, warnings
from pathlib import Path
import numpy as np
get_ipython().run_line_magic("matplotlib", "agg")
import matplotlib.pyplot as plt
from IPython.display import HTML, display
"""

BEGIN = "BASE = _base()\n"
"""Before each step: where the working directory is copied, it has another path in each branch."""

START = """
os.mkdir(".base")
def _base():
    place = Path.cwd()
    while not (place / ".base").exists(): place = place.parent
    return str(place)
BASE = _base()
random.seed(20); np.random.seed(20)

def _tree():
    for folder, names, files in os.walk(BASE):
        names[:] = sorted(name for name in names if name not in ("__pycache__", ".base"))
        for name in sorted([*names, *files]):
            path = os.path.join(folder, name)
            mode = oct(os.lstat(path).st_mode)
            if os.path.islink(path):
                yield os.path.relpath(path, BASE), mode, os.readlink(path)
            elif os.path.isfile(path):
                yield os.path.relpath(path, BASE), mode, hash(Path(path).read_bytes())
            else:
                yield os.path.relpath(path, BASE), mode

_PLAIN = (int, str, float, bytes, list, dict, tuple, set, type(None))

def look():
    names = [name for name in sorted(globals()) if name[0] != "_" and name not in _FIRST]
    values = {name: globals()[name] for name in names if name not in ("In", "Out", "fd")}
    print({name: value if type(value) in _PLAIN else type(value).__name__ for name, value in values.items()})
    print(*_tree(), os.path.relpath(os.getcwd(), BASE), os.environ.get("XP"), sep="|")
    print(random.getstate()[1][-1], np.random.get_state()[2], decimal.getcontext().prec, len(warnings.filters),
          locale.setlocale(locale.LC_ALL), plt.get_fignums(), plt.rcParams["lines.linewidth"], gc.isenabled(), len(Out))

_FIRST = {*globals(), "_FIRST"}
"""

SPOIL = """
import gc, os, random, shutil, signal, sys
for name, value in list(globals().items()):
    if name.startswith("_") or name in ("In", "Out"):
        continue
    try:
        if isinstance(value, list): value[:] = ["spoiled"]
        elif isinstance(value, dict): value.clear()
        elif hasattr(value, "seek"): value.seek(0); value.write("spoiled"); value.truncate(); value.close()
        elif hasattr(value, "executescript"): value.executescript("drop table t")
        elif hasattr(value, "release"): value.release()
        elif hasattr(value, "put_nowait"): value.put_nowait("spoiled")
        elif hasattr(value, "handlers"): value.setLevel(1)
        elif type(value) is int and name == "fd": os.lseek(value, 0, 0); os.write(value, b"spoiled"); os.close(value)
    except Exception as error:
        pass
os.chdir(BASE)
for entry in os.listdir("."):
    shutil.rmtree(entry) if os.path.isdir(entry) and not os.path.islink(entry) else os.remove(entry)
open("spoiled.txt", "w").write("spoiled"); open("data.csv", "w").write("spoiled")
for folder, folders, entries in os.walk(tempfile.gettempdir()):
    if not os.access(folder, os.W_OK):  # an environment below it, which is shown read-only
        folders.clear(); continue
    for entry in entries:
        with contextlib.suppress(OSError): open(os.path.join(folder, entry), "w").write("spoiled")
random.seed(99); np.random.seed(99); plt.close("all"); plt.rcParams["lines.linewidth"] = 99
os.environ["XP"] = "spoiled"
decimal.getcontext().prec = 99; warnings.simplefilter("error"); locale.setlocale(locale.LC_ALL, "C")
signal.signal(signal.SIGUSR1, signal.SIG_IGN)
sys.modules.pop("helper", None); Out.clear(); gc.disable()
"""

FILES = {"data.csv": "a,b\n1,2\n3,4\n5,6\n", "helper.py": "calls = []\ndef twice(x):\n    return 2 * x\n"}


@dataclass(frozen=True)
class Block:
    """A piece of code with `§` for a small number, what it needs to have run before, and what it makes."""

    code: str
    needs: str = ""
    makes: str = ""


def _blocks(*rows):
    return tuple(Block(*row) for row in rows)


TOPICS = {
    "imports": _blocks(
        ("import math as m; m.factorial(§)", "", "m"),
        ("m.floor(§ / 2); m = None", "m"),
        ("from helper import twice; twice(§)", "", "twice"),
        ("import helper; helper.calls.append(§); helper.calls", "", "helper"),
        ("helper.calls = [len(helper.calls)]; sys.modules['helper'].calls", "helper"),
        ("import importlib; importlib.reload(helper); helper.calls", "helper"),
        ("open(BASE + '/helper.py', 'a').write('extra = ' + '§' * (len(helper.calls) + 2) + '\\n')", "helper"),
        ("import importlib; importlib.reload(helper); helper.extra", "helper"),
        ("Path(BASE, 'made§.py').write_text('value = [§]'); import made§; made§.value.append(1); made§.value", ""),
        ("import not_to_be_found_§", ""),
        ("from collections import Counter as C; C('aab§').most_common(1)", ""),
    ),
    "open files": _blocks(
        ("f = open(BASE + '/data.csv'); f.readline()", "", "f"),
        ("f.readline(), f.tell()", "f"),
        ("f.seek(§); f.read(3)", "f"),
        ("f.close(); f.closed", "f"),
        ("out = open('log.txt', 'a'); out.write('begun § ')", "", "out"),
        ("out.write('more § '); out.tell()", "out"),
        ("out.flush(); Path(out.name).read_text()", "out"),
        ("both = open('both.txt', 'w+'); both.write('0123456789'); both.seek(§)", "", "both"),
        ("both.read(2), both.tell()", "both"),
        ("both.write('x'); both.seek(0); both.read()", "both"),
        ("fd = os.open('raw.bin', os.O_RDWR | os.O_CREAT); os.write(fd, b'0123456789')", "", "fd"),
        ("os.lseek(fd, §, 0); os.read(fd, 2)", "fd"),
        ("os.write(fd, b'ab'), os.lseek(fd, 0, 1), os.fstat(fd).st_size", "fd"),
        ("kept = tempfile.NamedTemporaryFile('w+'); kept.write('temporary §'); kept.flush()", "", "kept"),
        ("kept.seek(§); kept.read(), os.path.exists(kept.name)", "kept"),
    ),
    "figures": _blocks(
        ("fig, ax = plt.subplots(figsize=(2, 1)); lines = ax.plot([1, §])", "", "ax"),
        ("more = ax.plot([2, 3]); len(ax.lines), plt.gcf() is fig", "ax"),
        ("title = ax.set_title('title §'); ax.get_title(), ax.lines[0].get_linewidth()", "ax"),
        ("plt.rcParams['lines.linewidth'] = §", ""),
        ("plt.figure().number", ""),
        ("plt.close(fig)", "ax"),
        ("fig.savefig('fig.png'); os.path.getsize('fig.png')", "ax"),
        ("display(fig)", "ax"),
        ("plt.gcf().axes == [ax]", "ax"),
    ),
    "random": _blocks(
        ("random.seed(§)", ""),
        ("random.random(), random.gauss(0, 1)", ""),
        ("np.random.rand(2)", ""),
        ("rng = np.random.default_rng(§)", "", "rng"),
        ("rng.integers(1000, size=3), rng.random()", "rng"),
        ("legacy = np.random.RandomState(§); legacy.randn()", "", "legacy"),
        ("legacy.randint(99), legacy.choice(5)", "legacy"),
        ("import uuid; uuid.UUID(int=random.getrandbits(128)).hex", ""),
        ("deck = random.sample(range(9), 5); random.shuffle(deck)", ""),
    ),
    "surroundings": _blocks(
        ("os.makedirs('deep/er', exist_ok=True); os.chdir('deep')", ""),
        ("os.chdir(BASE)", ""),
        ("if os.getcwd() != BASE: os.chdir('..')", ""),
        ("Path('here.txt').write_text('in ' + os.path.basename(os.getcwd()) * (os.getcwd() != BASE))", ""),
        ("os.environ['XP'] = '§'", ""),
        ("os.environ.pop('XP')", ""),
        ('!echo "$XP" && basename "$PWD" | wc -l', ""),
        ("before = os.umask(0o077 if § % 2 else 0o022); open('masked.txt', 'a').close()", ""),
        ("sys.path.insert(0, 'path§'); sys.path[0], sys.path.count('path§')", ""),
        ("sys.setrecursionlimit(3000 + §); sys.getrecursionlimit()", ""),
        ("gc.disable() if § % 2 else gc.enable(); gc.isenabled()", ""),
    ),
    "written files": _blocks(
        ("Path('note.txt').write_text('note §')", "", "note"),
        ("with open('note.txt', 'a') as note: note.write(' and §')", "note"),
        ("os.rename('note.txt', 'moved.txt')", "note", "moved"),
        ("os.remove('moved.txt')", "moved"),
        ("os.remove(BASE + '/data.csv')", ""),
        ("os.replace(BASE + '/helper.py', BASE + '/data.csv')", ""),
        ("os.mkdir('made'); Path('made/one.txt').write_text('§')", "", "made"),
        ("shutil.copytree('made', 'copied'); os.listdir('copied')", "made"),
        ("shutil.rmtree('made')", "made"),
        ("os.mkdir('made'); Path('made/two.txt').write_text('§')", "made"),
        ("os.symlink('note.txt', 'link'); Path('link').read_text()", "note", "link"),
        ("Path('link').write_text('through the link §')", "link"),
        ("os.link('note.txt', 'hard')", "note", "hard"),
        ("with open('hard', 'a') as hard: hard.write('!')\nPath('note.txt').read_text()", "hard"),
        ("os.chmod('note.txt', 0o640); os.utime('note.txt', (§, §)); os.stat('note.txt').st_mtime", "note"),
        ("os.truncate(BASE + '/data.csv', §)", ""),
        ("os.rename('made', 'renamed'); sorted(os.listdir('renamed'))", "made"),
    ),
    "failures": _blocks(
        ("before = §\n1 / 0\nafter = §", ""),
        ("raise RuntimeError('failed at §')", ""),
        ("never_bound_§", ""),
        ("try:\n    [][§]\nexcept IndexError as error:\n    caught = repr(error)", ""),
        ("assert § > 4, '§ is too small'", ""),
        ("def deep(n): return deep(n - 1) if n else [][0]\ndeep(§)", ""),
        ("sys.last_type.__name__ if hasattr(sys, 'last_type') else None", ""),
        ("x = ] §", ""),
        ("raise KeyError('§') from ValueError('cause')", ""),
    ),
    "displays": _blocks(
        ("display({'shown': §})", ""),
        ("handle = display(HTML('<b>§</b>'), display_id='h§')", "", "handle"),
        ("handle.update(HTML('<i>§</i>'))", "handle"),
        ("display(HTML('<u>§</u>'), display_id='again')", ""),
        ("print('to stderr §', file=sys.stderr)", ""),
        ("from IPython.display import clear_output; clear_output(); print('after clearing')", ""),
        ("HTML('<p>§</p>')", ""),
        ("get_ipython().ast_node_interactivity = 'all' if § % 2 else 'last_expr'", ""),
        ("§; § + 1", ""),
    ),
    "history": _blocks(
        ("§ + 1", ""),
        ("_", ""),
        ("__, ___", ""),
        ("In[-2][15:45]", ""),
        ("Out[max(Out)] if Out else 'nothing yet'", ""),
        ("_i[15:40]", ""),
        ("sorted(type(value).__name__ for value in Out.values())", ""),
        ("_ = 'bound §'", ""),
        ("['§'] * 2", ""),
        ("_.append('§')", ""),
    ),
    "contexts": _blocks(
        ("var = contextvars.ContextVar('var', default=0)", "", "var"),
        ("token = var.set(§); var.get()", "var"),
        ("var.get()", "var"),
        ("decimal.getcontext().prec = § + 2; decimal.Decimal(1) / 7", ""),
        ("decimal.Decimal(§) / 3", ""),
        ("with decimal.localcontext() as local: local.prec = 3; print(decimal.Decimal(2) / 3)", ""),
        ("warnings.simplefilter('ignore' if § % 2 else 'default')", ""),
        ("warnings.warn('warned §')", ""),
        ("warnings.filterwarnings('error', message='bad'); warnings.warn('bad §')", ""),
        ("locale.setlocale(locale.LC_ALL, 'C.UTF-8' if § % 2 else 'C')", ""),
        ("logging.getLogger('own').setLevel(10 * §); logging.getLogger('own').error('told §')", ""),
    ),
    "handles": _blocks(
        ("lock = threading.Lock(); lock.acquire()", "", "lock"),
        ("lock.acquire(blocking=False), lock.locked()", "lock"),
        ("lock.release()", "lock"),
        (
            "db = sqlite3.connect(':memory:', check_same_thread=False); db.execute('create table t(n)').description",
            "",
            "db",
        ),
        ("db.execute('insert into t values (§)').rowcount, db.in_transaction", "db"),
        ("db.commit(); db.execute('select count(*), sum(n) from t').fetchone()", "db"),
        ("db.rollback(); db.execute('select * from t').fetchall()", "db"),
        ("text = io.StringIO('0123456789'); text.seek(§); text.read(2)", "", "text"),
        ("text.read(2), text.tell()", "text"),
        ("queue = asyncio.Queue(); queue.put_nowait(§)", "", "queue"),
        ("queue.put_nowait('§'); await queue.get()", "queue"),
        ("await asyncio.sleep(0, 'slept §')", ""),
        ("got = []; held = signal.signal(signal.SIGUSR1, lambda *_: got.append(§))", "", "signal"),
        ("signal.raise_signal(signal.SIGUSR1); got", "signal"),
        ("thread = threading.Thread(target=print, args=('thread §',)); thread.start(); thread.join()", ""),
    ),
}


@dataclass(frozen=True)
class Chain:
    """Steps, one cell each."""

    topics: tuple[str, ...]
    steps: tuple[str, ...]


@st.composite
def _chains(draw, topic):
    topics = [topic, *draw(st.lists(st.sampled_from(sorted({*TOPICS} - {topic})), max_size=2, unique=True))]
    blocks = [block for name in topics for block in TOPICS[name]]
    made, used, steps = {""}, [], []
    for _ in range(draw(st.integers(2, 5))):
        lines = []
        for _ in range(draw(st.integers(1, 4))):
            able = [block for block in blocks if block.needs in made]
            block = draw(st.sampled_from([block for block in able if block not in used] or able))
            made.add(block.makes)
            used.append(block)
            lines.append(block.code.replace("§", str(draw(st.integers(0, 9)))))
        steps.append("\n".join([*lines[:-1], "look()", lines[-1]]))
    return Chain(tuple(topics), tuple(steps))


def generate(number):
    """Chains, all different, each topic the first of as many, the same at every call."""
    each = -(-number // len(TOPICS))
    found = [chain for topic in sorted(TOPICS) for chain in _generate(topic, each)]
    return [found[n * len(found) // number] for n in range(number)]


def _generate(topic, number):
    """The longest of those that are drawn: the first ones of a search are small on purpose."""
    found = {}

    @settings(
        max_examples=max(24, number * 6),
        derandomize=True,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(_chains(topic))
    def collect(chain):
        found[chain] = None

    collect()
    return sorted(found, key=lambda chain: len("".join(chain.steps)))[-number:]

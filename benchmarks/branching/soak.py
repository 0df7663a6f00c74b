"""Thousands of branches from one live kernel: does anything leak or hang? `python benchmarks/branching/soak.py`.

One user's kernel with pandas, matplotlib, an open SQLite database and, where it is installed, torch, is forked for
run after run; each run is a chain of subtasks of five candidates that work, write files, leave processes behind,
crash, exit or hang. Between the runs the kernel's own cells must give the right answers. After each run the memory,
descriptors, threads and children of the kernel and of the engine (this process) are counted, and the files,
processes, mounts and namespaces that should be gone. Ends with status 1 if anything is wrong.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import anyio
import psutil
from table import machine
from user_kernel import UserKernel, now_ms, private_mb

from exploracoder_jupyter.core.configuration.sections import Sandbox
from exploracoder_jupyter.kernels import open_siblings
from exploracoder_jupyter.kernels.branching.fork_siblings import ForkBranch

CANDIDATES, SUBTASKS = 5, 10
_PREPARE = """
import sqlite3, threading, io, hashlib, os
import numpy as np, pandas as pd, matplotlib
matplotlib.use("agg")
import matplotlib.pyplot as plt
{torch}
database = sqlite3.connect("shop.db")
database.execute("create table sales (n integer, price real)")
df = pd.DataFrame({{"n": np.arange(200_000), "group": np.arange(200_000) % 7, "text": "row"}})
axes = plt.figure().add_subplot(); axes.plot([1, 2, 3])
log = open("log.txt", "w+")
beats = []
def _beat():
    import time
    while True:
        beats.append(1); time.sleep(0.05)
threading.Thread(target=_beat, daemon=True).start()
random = np.random.default_rng(1)
twin = np.random.default_rng(1)
counted = (n for n in range(10**9))
runs = 0
"""
_TORCH = "import torch\nweights = torch.arange(90_000, dtype=torch.float32).reshape(300, 300) % 10\nweights @ weights"
_CHECK = """
runs += 1
assert next(counted) == runs - 1
assert random.random() == twin.random()
assert df.groupby("group")["n"].sum().sum() == 199_999 * 100_000
database.execute("insert into sales values (?, 2.5)", (runs,)); database.commit()
assert database.execute("select count(*), sum(price) from sales").fetchone() == (runs, runs * 2.5)
log.write("x"); log.flush(); assert log.tell() == runs == os.path.getsize("log.txt")
assert len(plt.get_fignums()) == 1 and len(axes.lines) == 1
_png = io.BytesIO(); plt.savefig(_png); assert len(_png.getvalue()) > 1000; plt.close("never made")
_before = len(beats); import time; time.sleep(0.15); assert len(beats) > _before, "its thread is gone"
assert not os.path.exists("made.csv") and "made_by_a_candidate" not in globals()
{torch}
"""
_TORCH_CHECK = "assert (weights @ weights).sum().item() == _sum"
WORK = {
    "table": ("made_by_a_candidate = df.groupby('group')['n'].sum(); assert made_by_a_candidate.sum() > 0", "ok"),
    "file": ("df.head(100).to_csv('made.csv'); assert os.path.getsize('made.csv') > 100", "ok"),
    "figure": ("axes.plot([3, 2, 1]); plt.savefig('figure.png'); plt.gcf()", "ok"),
    "database": (
        "again = sqlite3.connect('shop.db'); assert again.execute('select count(*) from sales').fetchone()[0] == runs",
        "ok",
    ),
    "processes": ("import subprocess; left = [subprocess.Popen(['sleep', '1000']) for _ in range(3)]", "ok"),
    "descriptors": ("import socket; left = [socket.socket() for _ in range(20)] + [open('many', 'a')] * 20", "ok"),
    "threads": (
        "import threading, time; [threading.Thread(target=time.sleep, args=(99,)).start() for _ in '12345']",
        "ok",
    ),
    "error": ("1 / 0", "error"),
    "crash": ("import ctypes; ctypes.string_at(0)", "died"),
    "exit": ("os._exit(3)", "died"),
    "hang": ("while True: pass", "timeout"),
    "torch": ("assert (weights @ weights).sum().item() == _sum", "ok"),
}
RARE = ("hang",)


@dataclass
class Seen:
    """What this soak made, to look for it afterwards."""

    processes: dict[int, float] = field(default_factory=dict)
    statuses: dict[str, int] = field(default_factory=dict)
    wrong: list[str] = field(default_factory=list)
    starts: list[float] = field(default_factory=list)

    def note(self, branch: ForkBranch) -> None:
        """Remember its processes."""
        body = branch.process
        for pid in filter(None, (body and body.pid, body and body.reaper_pid)):
            with contextlib.suppress(psutil.Error):
                self.processes[pid] = psutil.Process(pid).create_time()

    def states(self) -> list[str]:
        """How those of the branches are that are still there."""
        return [state for pid, born in self.processes.items() if (state := _state(pid, born))]


def _inside(folder: Path) -> int:
    """Processes that see a working directory of a branch: branches, what reaps in them, what candidates started."""
    found = 0
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            found += f" {folder} " in (process / "mountinfo").read_text()
    return found


def _state(pid: int, born: float) -> str:
    try:
        process = psutil.Process(pid)
        return process.status() if process.create_time() == born else ""
    except psutil.Error:
        return ""


def _codes(*, torch: bool) -> Iterator[str]:
    """What the candidates do: everything in turn, what takes long seldom."""
    usual = [name for name in WORK if name not in RARE and (torch or name != "torch")]
    number = 0
    while True:
        number += 1
        yield "hang" if number % 100 == 0 else usual[number % len(usual)]


async def candidate(base: ForkBranch, name: str, seen: Seen) -> ForkBranch:
    """One candidate: forked, run, compared with what was expected."""
    begun = now_ms()
    (branch,) = await base.fork(1)
    code, expected = WORK[name]
    seen.note(branch)
    observation = await branch.run(code, timeout=1 if name in RARE else 30)
    if name not in RARE:
        seen.starts.append(now_ms() - begun)
    seen.statuses[observation.status] = seen.statuses.get(observation.status, 0) + 1
    if observation.status != expected:
        seen.wrong.append(f"{name}: {observation.status} {observation.note} {observation.error}")
    return branch


async def run(kernel: UserKernel, sandbox: Sandbox, codes: Iterator[str], seen: Seen, folder: Path) -> int:
    """One run: a chain of subtasks from the live state; how many branches."""
    async with open_siblings(sandbox, workdir=folder, live=kernel.live) as siblings:
        base = await siblings.root()
        assert isinstance(base, ForkBranch)
        root = base
        for _ in range(SUBTASKS):
            made: list[ForkBranch] = []
            base.expect(CANDIDATES)

            async def one(base: ForkBranch, name: str, made: list[ForkBranch]) -> None:
                branch = await candidate(base, name, seen)
                if WORK[name][1] == "ok" and not made:
                    made.append(branch)
                else:
                    await branch.close()

            async with anyio.create_task_group() as tasks:
                for _ in range(CANDIDATES):
                    tasks.start_soon(one, base, next(codes), made)
            if made:
                if base is not root:
                    await base.close()
                base = made[0]
    return CANDIDATES * SUBTASKS


def _process(pid: int) -> dict[str, float]:
    found = psutil.Process(pid)
    children = found.children()
    return {
        "MB": private_mb(pid),
        "descriptors": found.num_fds(),
        "threads": found.num_threads(),
        "children": len(children),
        "zombies": sum(1 for child in children if child.status() == psutil.STATUS_ZOMBIE),
    }


def _slabs() -> dict[str, int]:
    """Objects of the system itself, all processes'; empty for who may not see them."""
    wanted = {"mnt_cache": "mounts", "net_namespace": "networks", "pid_namespace": "pid namespaces"}
    try:
        lines = Path("/proc/slabinfo").read_text().splitlines()
    except OSError:
        return {}
    return {wanted[name]: int(count) for name, count, *_ in map(str.split, lines) if name in wanted}


def count(kernel: UserKernel, seen: Seen, folder: Path, temporary: Path) -> dict[str, float]:
    """Everything that might grow."""
    gc.collect()
    states = seen.states()
    return {
        **{f"kernel {name}": value for name, value in _process(kernel.pid).items()},
        **{f"engine {name}": value for name, value in _process(os.getpid()).items()},
        "temporary files": sum(1 for _ in temporary.rglob("*")),
        "branches left": sum(state != psutil.STATUS_ZOMBIE for state in states),
        "branches ended and not yet reaped": states.count(psutil.STATUS_ZOMBIE),
        "processes that see their files": _inside(folder),
        "mounts seen here": len(Path("/proc/self/mountinfo").read_text().splitlines()),
        **{f"system {name}": value for name, value in _slabs().items()},
    }


async def soak(branches: int, sandbox: Sandbox, python: str | None, folder: Path, temporary: Path) -> int:
    """The soak; how many things were wrong."""
    seen, rows, made, begun = Seen(), [], 0, time.monotonic()
    async with UserKernel(folder / "work", python=python) as kernel:
        torch = bool(await kernel.value("__import__('importlib.util').util.find_spec('torch') is not None"))
        await kernel.run(_PREPARE.format(torch=_TORCH if torch else ""))
        if torch:
            await kernel.run("_sum = (weights @ weights).sum().item()")
        check, codes = _CHECK.format(torch=_TORCH_CHECK if torch else ""), _codes(torch=torch)
        print(f"torch is {'loaded' if torch else 'not installed'}; {machine()}", flush=True)
        await kernel.run(check)
        while made < branches:
            with anyio.fail_after(120):
                made += await run(kernel, sandbox, codes, seen, folder / "work")
                await kernel.run(check)
            await anyio.sleep(0.3)
            rows.append(
                {
                    "branches": made,
                    "ms": statistics.median(seen.starts),
                    **count(kernel, seen, folder / "work", temporary),
                }
            )
            seen.starts.clear()
            print("  ".join(f"{name} {value:.0f}" for name, value in rows[-1].items() if value), flush=True)
    show(rows, seen, time.monotonic() - begun)
    return len(seen.wrong)


def show(rows: list[dict[str, float]], seen: Seen, seconds: float) -> None:
    """The table: after the first run, at the middle, at the end."""
    chosen = [rows[0], rows[len(rows) // 2], rows[-1]]
    print(f"\n| {'':33} |" + "".join(f" {row['branches']:8.0f} |" for row in chosen))
    for name in rows[0]:
        if name != "branches":
            print(f"| {name:33} |" + "".join(f" {row[name]:8.0f} |" for row in chosen))
    print(f"{seconds:.0f} s; ended as: {seen.statuses}; not as expected: {len(seen.wrong)}")
    for what in seen.wrong[:20]:
        print(what)
    print(f"at the end: {machine()}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--branches", type=int, default=2000)
    parser.add_argument("--python", help="interpreter of the kernel, e.g. one that has torch")
    parser.add_argument("--isolation", choices=("require", "best"), default="require")
    arguments = parser.parse_args()
    sandbox = Sandbox(state="live", branching="fork", isolation=arguments.isolation)
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as temporary:
        tempfile.tempdir = temporary
        wrong = anyio.run(lambda: soak(arguments.branches, sandbox, arguments.python, Path(folder), Path(temporary)))
    sys.exit(wrong > 0)


if __name__ == "__main__":
    main()

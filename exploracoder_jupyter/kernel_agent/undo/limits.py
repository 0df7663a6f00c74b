"""Where undo is refused, what it costs in memory, and what stops or goes wrong in a kernel that went back."""

from __future__ import annotations

import contextlib
import glob
import os
import re
import sys
from collections.abc import Iterable
from typing import Any

from exploracoder_jupyter.kernel_agent.forking import fork_hazards

MAX_CHECKPOINTS = 16
"""Checkpoints that are kept, the oldest out first."""
MEMORY_SHARE = 0.25
"""Share of the machine's memory that all checkpoints together may hold, besides what the live kernel has."""
_COMMAND = re.compile(r"\s*%explora\s+(checkpoint|back)\b[^\n]*\s*")


def reason_refused(shell: Any, command: str) -> str:
    """Return why this kernel cannot have a checkpoint, or go back, now: a sentence; empty if it can."""
    if not hasattr(os, "pidfd_open"):
        return "Checkpoints need Linux 5.3 or newer."
    app = getattr(getattr(shell, "kernel", None), "parent", None)
    threads: list[Any] = [
        getattr(app, name, None) for name in ("shell_channel_thread", "control_thread", "iopub_thread")
    ]
    if app is None or None in threads or not hasattr(threads[2], "_handle_subscription"):
        return "Checkpoints need a kernel of ipykernel 7.2 or newer, in a process of its own."
    if getattr(app, "curve_secretkey", None):
        return "This kernel encrypts its connections, which a checkpoint cannot take over."
    request = shell.get_parent()
    code = request.get("content", {}).get("code", "")
    if request.get("header", {}).get("msg_type") != "execute_request" or not _COMMAND.fullmatch(code):
        return f"`%explora {command}` must be alone in its cell: a kernel goes back to between cells."
    if threads[0].manager.list_subshell():
        return "This kernel has subshells, which a checkpoint cannot carry."
    holder = fork_hazards.module_variable("_pydevd_bundle.pydevd_constants", "GlobalDebuggerHolder")
    if sys.gettrace() or getattr(holder, "global_dbg", None):
        return "A debugger is attached, or was: a kernel that is forked then would hang. Restart it first."
    if getattr(app.kernel, "eventloop", None) is not None:
        return "This kernel runs the event loop of windows (`%gui`), which a checkpoint cannot carry."
    for hazard in _hazards(shell):
        if hazard["kind"] == "refuse":
            return f"This kernel cannot have a checkpoint: {hazard['what']}."
    return ""


def losses(shell: Any, since: Iterable[int] = ()) -> list[str]:
    """Return what stops or goes wrong when this kernel goes back, as clauses; `since` are older child processes."""
    found = []
    pools, threads, _ = fork_hazards.find_workers()
    if threads:
        found.append(f"these threads stop: {', '.join(sorted(threads)[:5])}")
    if pools:
        found.append("pools of workers stop")
    tasks = _tasks(shell)
    if tasks:
        found.append(f"these asyncio tasks stop: {', '.join(tasks[:5])}")
    if children := child_processes():
        older = [f"{name} ({pid})" for pid, name in children.items() if pid in set(since)]
        newer = [f"{name} ({pid})" for pid, name in children.items() if pid not in set(since)]
        if older:
            found.append(f"these child processes go on, but cannot be waited for: {', '.join(older[:5])}")
        if newer:
            found.append(f"these child processes were started since and go on: {', '.join(newer[:5])}")
    if any(type(value).__module__ == "sqlite3" for value in list(shell.user_ns.values())):
        found.append("SQLite connections must be opened again")
    return [*found, *_connections(shell)]


def _hazards(shell: Any) -> list[fork_hazards.Hazard]:
    return fork_hazards.find_hazards(shell.user_ns, ours=_own_connections(_ports(shell)))


def _ports(shell: Any) -> set[int]:
    app = shell.kernel.parent
    return {getattr(app, f"{name}_port") for name in ("shell", "iopub", "stdin", "hb", "control")}


def _own_connections(ports: set[int]) -> set[int]:
    """Return the descriptors with which the kernel is a client of itself, which now goes through the relay."""
    peers = {number: fork_hazards.peer_address(number) for number in fork_hazards.descriptor_targets()}
    return {number for number, peer in peers.items() if peer is not None and peer[1] in ports}


def _tasks(shell: Any) -> list[str]:
    words = [hazard["what"] for hazard in _hazards(shell) if "asyncio tasks of" in hazard["what"]]
    return [name for word in words for name in word.partition("tasks of ")[2].split(", ")]


def _connections(shell: Any) -> list[str]:
    ports = _ports(shell)
    opened = fork_hazards.outgoing_connections(fork_hazards.descriptor_targets(_own_connections(ports)), ports)
    peers = sorted({one.peer for one in opened if not one.peer.startswith(("@", "/"))})
    return [f"these connections are closed: {', '.join(peers[:5])}"] if peers else []


def child_processes() -> dict[int, str]:
    """Return the children of this process that are not part of undo, by id, each with the name of its program."""
    found = {}
    for path in glob.glob("/proc/self/task/*/children"):
        with contextlib.suppress(OSError), open(path, encoding="ascii") as file:
            for pid in map(int, file.read().split()):
                with contextlib.suppress(OSError), open(f"/proc/{pid}/cmdline", "rb") as line:
                    words = line.read().split(b"\0")
                    if words != _own_command() and not any(word.endswith(b"/undo/relay.py") for word in words):
                        found[pid] = os.path.basename(os.fsdecode(words[0])) or str(pid)
    return found


def _own_command() -> list[bytes]:
    with open("/proc/self/cmdline", "rb") as line:
        return line.read().split(b"\0")


def memory(pids: Iterable[int]) -> int:
    """Return the bytes that these processes hold besides what this one has: the sum of all shares, less its own pages.

    The private memory of a checkpoint would not do: what the live kernel changes is held by all checkpoints together.
    """
    shared = _rollup("self")
    total = shared.get("Pss", 0) + sum(_rollup(str(pid)).get("Pss", 0) for pid in pids)
    return max(0, total - shared.get("Rss", 0))


def _rollup(process: str) -> dict[str, int]:
    found = {}
    with contextlib.suppress(OSError), open(f"/proc/{process}/smaps_rollup", encoding="ascii") as file:
        for line in file:
            name, _, value = line.partition(":")
            if value.rstrip().endswith("kB"):
                found[name] = int(value.split()[0]) * 1024
    return found


def memory_limit() -> int:
    """Return the bytes that all checkpoints together may hold."""
    return int(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") * MEMORY_SHARE)

"""Files that several processes use at once: the lock on a trace, and the store of snippets."""

import subprocess
import sys

import pytest

from exploracoder_jupyter.core.configuration.sources import resolve
from exploracoder_jupyter.core.errors import UsageError
from exploracoder_jupyter.core.types import Snippet, Task
from exploracoder_jupyter.knowledge.sources import SnippetStore
from exploracoder_jupyter.runs import Order, order
from exploracoder_jupyter.runs.order import refuse_active
from exploracoder_jupyter.runs.recording import EventRecorder

_LOCK = """
import sys, time
from pathlib import Path
from exploracoder_jupyter.runs.order import TraceLock
lock = TraceLock(Path(sys.argv[1]))
print(flush=True)
time.sleep(60)
"""
_STORE = """
import sys
from pathlib import Path
from exploracoder_jupyter.knowledge.sources.snippets import SnippetStore
from exploracoder_jupyter.core.types import Snippet

print(flush=True)
for at in range(8):
    SnippetStore(Path(sys.argv[1])).add([Snippet("pandas", "2.2.1", "", f"b{at}", (), "", "3.11")], "values")
"""


def begun(program, path):
    """The program, run with this path, which has printed its first line."""
    process = subprocess.Popen([sys.executable, "-c", program, str(path)], stdout=subprocess.PIPE)
    process.stdout.readline()
    return process


def run_at(path):
    settings = resolve({"view": {"out": str(path)}}, environ={})
    return EventRecorder(Order(Task("x", ("networkx",)), workdir=path.parent), settings, print, on_trace_created=print)


def test_the_lock_of_a_killed_process_blocks_nobody(tmp_path, monkeypatch):
    """Issue 14, item 11: what it left is used again, and goes away with the next run."""
    monkeypatch.setattr(order, "PATIENCE", 0.0)
    path = tmp_path / "a.ipynb"
    with begun(_LOCK, path) as process:
        with pytest.raises(UsageError, match=f"process {process.pid}, since"):
            run_at(path)
        with pytest.raises(UsageError, match="still active"):
            refuse_active(path)
        process.kill()
    assert list(tmp_path.iterdir())
    refuse_active(path)
    run_at(path).close()
    assert list(tmp_path.iterdir()) == []


def test_simultaneous_processes_share_the_snippet_store(tmp_path):
    store = SnippetStore(tmp_path / "snippets.sqlite")
    with begun(_STORE, store.path) as other:
        for at in range(8):
            store.add([Snippet("pandas", "2.2.1", "", f"a{at}", (), "", "3.11")], "values")
    assert other.returncode == 0
    assert sorted(one.snippet.code for one in store.all()) == [f"{name}{at}" for name in "ab" for at in range(8)]

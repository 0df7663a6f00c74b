"""Traces of whole runs with a scripted model and real siblings, for what is done with traces afterwards."""

import json
import sys
from pathlib import Path

import anyio
import nbformat

from exploracoder_jupyter.core.types import Task
from exploracoder_jupyter.llm.scripted_model import ScriptedModel
from exploracoder_jupyter.runs import Order, run

VARYING = {
    "threads": [
        """
import random, threading, time
def work(n):
    time.sleep(random.random() / 50)
    print('worker', n)
every = [threading.Thread(target=work, args=(n,)) for n in range(5)]
for one in every: one.start()
for one in every: one.join()
""",
        """
import random, time
from concurrent.futures import ThreadPoolExecutor, as_completed
def slow(n):
    time.sleep(random.random() / 50)
    return n * n
with ThreadPoolExecutor() as pool:
    for done in as_completed([pool.submit(slow, n) for n in range(6)]): print(done.result())
""",
    ],
    "times": [
        """
import datetime, time
began = time.perf_counter()
print(datetime.datetime.now(), time.time(), time.ctime())
print(f'took {time.perf_counter() - began:.6f} s')
datetime.datetime.now()
""",
        """
import os, tempfile, uuid
print(os.getpid(), uuid.uuid4(), tempfile.mkdtemp())
print(os.getcwd())
""",
        """
import sys, time
for done in range(4):
    print(f'\\r{done * 25}%|{"█" * done}   | {done}/4 [00:0{done}<00:01, 7.{done}it/s]', end='', file=sys.stderr)
    time.sleep(0.01)
""",
    ],
    "sets": [
        """
words = {'ant', 'bee', 'cat', 'dog'}
print(words, frozenset(words))
print(dict.fromkeys(words).keys())
words
""",
        """
order = list({'ant', 'bee', 'cat', 'dog', 'elk', 'fox', 'gnu'})
print(order)
table = {word: len(word) for word in order}
table
""",
    ],
    "addresses": [
        "class Thing: pass\nthing = Thing()\nprint(thing, id(thing), hash(thing))\nthing",
        "print(lambda: 0, object())",
    ],
    "random": [
        "import random\ndraw = random.random()\nprint('drew', draw, random.randint(0, 10**6))",
        """
import numpy as np
values = np.random.default_rng().normal(size=4)
values
""",
        """
import matplotlib.pyplot as plt, numpy as np
values = np.random.default_rng().normal(size=4)
plt.plot(values)
""",
    ],
    "what follows": ["print('after', len(values) if 'values' in globals() else draw)\nnumber = id(object())\nnumber"],
}
"""Subtasks whose snippets show something else each time: in order, in time, in place, at random."""


def explore(
    folder, subtasks, solution, *, monkeypatch, library="statistics", check=None, tests=None, setup="", **settings
):
    """The path of the trace of a run whose model proposes these snippets: for each title of `subtasks` a list of them.

    `tests`: generated inputs, as the model would write them; `timeout` is a setting, others are the sandbox's.
    """
    given = {str(number): snippets for number, snippets in enumerate(subtasks.values(), 1)}

    def answer(request):
        replies = {
            "introduce": "It does things.",
            "planners": json.dumps({"planners": []}),
            "plan": json.dumps({"subtasks": list(subtasks)}),
            "recommend": json.dumps({"apis": []}),
            "recommend_global": json.dumps({"apis": []}),
            "invent": json.dumps({"inputs": tests or []}),
            "judge": "nothing that can be read",
        }
        code = given.get(request.subject, [solution])
        return replies.get(request.step) or [f"```python\n{one.strip()}\n```" for one in code]

    async def choose(*_, **__):
        return ScriptedModel(answer)

    monkeypatch.setattr(sys.modules[run.__module__], "choose_model", choose)
    method = {
        "effort": "explore",
        "candidates": max(map(len, subtasks.values())),
        "first_candidates": max(map(len, subtasks.values())),
        "debug_rounds": 0,
        "plan_revisions": 0,
        "tests": tests is not None,
        "timeout": settings.pop("timeout", 60.0),
    }
    layer = {
        "exploration": method,
        "endpoint": {"model": "offline"},
        "retrieval": {"snippets": False},
        "sandbox": settings,
        "view": {"out": str(folder / "explorations" / "trace.ipynb")},
    }
    order = Order(Task("Do it.", (library,), check=check, setup=setup), (layer,), workdir=folder)

    async def main():
        return await run(order, lambda record: None)

    return Path(anyio.run(main)["trace"])


def rewrite(path, change, *, role="candidate", candidate=None):
    """Change a cell of a trace in the file, as somebody with an editor would."""
    notebook = nbformat.read(path, 4)
    for cell in notebook.cells:
        mark = cell.metadata.get("exploracoder_jupyter", {})
        if mark.get("role") == role and mark.get("candidate") == candidate:
            change(cell)
    nbformat.write(notebook, path)

"""How many of the examples that a search shows run as they stand: `python benchmarks/search_examples.py [LIBRARY ...]`.

Of each library 150 APIs that have an example are drawn (seed 1). The first example is run in a fresh namespace, in a
scratch folder and at most five seconds long: as the documentation has it, and as the search shows it. The examples are
the libraries' own; they run in one process without confinement.
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

import anyio

from exploracoder_jupyter.core.configuration.sections import Sandbox
from exploracoder_jupyter.kernels.agent import local_inspector
from exploracoder_jupyter.knowledge.task_libraries import TaskLibraries
from exploracoder_jupyter.runs.library_search import runnable_examples

DRAWN = 150

RUN = """
import contextlib, io, json, signal, sys, warnings

warnings.simplefilter("ignore")

def late(*_):
    raise TimeoutError

def outcome(code):
    signal.alarm(5)
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            exec(compile(code, "example", "exec"), {"__name__": "example"})
        return "ran"
    except BaseException as error:
        return type(error).__name__
    finally:
        signal.alarm(0)

signal.signal(signal.SIGALRM, late)
codes = json.load(sys.stdin)
with open("outcomes.json", "w") as file:
    json.dump([outcome(code) for code in codes], file)
"""


def outcomes(codes: list[str]) -> list[str]:
    """How each of these programs ended: `ran`, or the name of its error."""
    with tempfile.TemporaryDirectory() as folder:
        environ = {"PATH": "/usr/bin:/bin", "HOME": folder, "MPLBACKEND": "agg"}
        command = [sys.executable, "-c", RUN]
        subprocess.run(command, cwd=folder, env=environ, input=json.dumps(codes), text=True, capture_output=True)
        return list(json.loads(Path(folder, "outcomes.json").read_text()))


async def measure(name: str, cache: Path) -> None:
    library = await TaskLibraries.open([name], inspect=local_inspector(Sandbox()), cache=cache)
    apis = [api for api in library.apis if api.examples]
    drawn = random.Random(1).sample(apis, min(DRAWN, len(apis)))
    documented = Counter(outcomes([api.examples[0] for api in drawn]))
    shown = Counter(outcomes([runnable_examples(api, library)[0] for api in drawn]))
    why = ", ".join(f"{count} {error}" for error, count in shown.most_common() if error != "ran")
    version = library.libraries[0].version
    print(f"| {name} {version} | {len(drawn)} | {documented['ran']} | {shown['ran']} | {why} |", flush=True)


def main() -> None:
    print("| library | examples | run as documented | run as shown | the others |\n| --- | --- | --- | --- | --- |")
    with tempfile.TemporaryDirectory() as cache:
        for name in sys.argv[1:] or ["networkx", "pandas", "numpy", "sklearn", "statistics"]:
            anyio.run(measure, name, Path(cache))


if __name__ == "__main__":
    main()

"""Whether the reference solutions of problem files pass their hidden tests and checks, and empty ones fail.

    python benchmarks/verify_problems.py FILE ... [--python INTERPRETER]

Every program (setup, solution, one test) runs in a process of its own, in an empty temporary folder. INTERPRETER
is that of an environment with the libraries of the problems. Each of the needed APIs must exist there, at least under
one of its names, and each live variable after the setup.
"""

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import anyio

from exploracoder_jupyter.core.configuration.sources import resolve
from exploracoder_jupyter.evaluation.problem_files import load_problems
from exploracoder_jupyter.evaluation.problems import Problem, hidden_test_code

SECONDS = 120


CHILD = """
import importlib, json, os, signal, sys, tempfile, traceback

def run(parts):
    names = {"__name__": "__main__"}
    for part in parts:  # each compiled by itself, as cells are
        exec(compile(part, "<part>", "exec"), names)

given = json.load(sys.stdin)
for name in given["libraries"]:
    importlib.import_module(name)  # once; forks have it
for parts in given["programs"]:
    read, write = os.pipe()
    if (child := os.fork()) == 0:
        os.close(read)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        signal.alarm(given["seconds"])
        try:
            with tempfile.TemporaryDirectory() as folder:
                os.chdir(folder)
                run(parts)
        except BaseException as error:
            os.write(write, " ".join(traceback.format_exception_only(error)[-1].split())[:160].encode() or b"error")
            os._exit(1)
        os._exit(0)
    os.close(write)
    error = b"".join(iter(lambda: os.read(read, 4096), b"")).decode()
    os.close(read)
    _, status = os.waitpid(child, 0)
    print(json.dumps(error or ("" if status == 0 else f"status {status}")), flush=True)
"""
"""Runs each program in a fork of a process that has imported the libraries."""


API_TEST = """
import importlib

def find(path):
    names = path.split(".")
    for end in range(len(names), 0, -1):
        try:
            value = importlib.import_module(".".join(names[:end]))
        except ImportError:
            continue
        for name in names[end:]:
            value = getattr(value, name, None)
        return value

missing = [names for names in {} if all(find(name) is None for name in names)]
assert not missing, missing
"""


def hidden_tests(problem: Problem, solution: str) -> list[str]:
    """Return the tests as they are run after the solution."""
    return [hidden_test_code(test, solution) for test in problem.tests]


def all_tests(problem: Problem, solution: str) -> list[str]:
    """Return the tests, the check, and whether the needed APIs and the live variables exist."""
    needed = [API_TEST.format([*map(list, problem.gold_apis)])] if problem.gold_apis else []
    return [*hidden_tests(problem, solution), *filter(None, [problem.check]), *needed, *problem.live]


def errors(
    problems: list[Problem], solutions: list[str], python: str, tests: Callable[[Problem, str], list[str]]
) -> list[str]:
    """Return the error of each solution in its first test that fails; empty if all pass."""
    programs, places = [], []
    for place, (problem, solution) in enumerate(zip(problems, solutions, strict=True)):
        for test in tests(problem, solution):
            programs.append([problem.setup, solution, test])
            places.append(place)
    libraries = sorted({library for problem in problems for library in problem.libraries})
    path = os.pathsep.join(filter(None, [str(problems[0].folder), os.environ.get("PYTHONPATH", "")]))
    done = subprocess.run(
        [python, "-W", "ignore", "-c", CHILD],
        input=json.dumps({"libraries": libraries, "programs": programs, "seconds": SECONDS}),
        env={**os.environ, "PYTHONPATH": path, "MPLBACKEND": "agg"},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    found = [""] * len(problems)
    for place, line in zip(places, done.stdout.splitlines(), strict=True):
        found[place] = found[place] or json.loads(line)
    return found


def verify(path: Path, python: str) -> None:
    """Print how many of the file's reference and empty solutions pass, and which are wrong."""
    settings = resolve({"sandbox": {"python": python}}, environ={})
    found = anyio.run(load_problems, path, settings)
    for notice in found.notices:
        print(notice)
    problems = [problem for problem in found.problems if problem.solution is not None]
    references = errors(problems, [problem.solution or "" for problem in problems], python, all_tests)
    empty = errors(problems, [""] * len(problems), python, hidden_tests)
    print(f"{path.name}: {references.count('')} of {len(problems)} references pass, {empty.count('')} empty ones pass")
    for problem, error, nothing in zip(problems, references, empty, strict=True):
        if error:
            print(f"  {problem.id}: {error}")
        if not nothing:
            print(f"  {problem.id}: passes without a solution")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--python", default=sys.executable)
    options = parser.parse_args()
    for file in options.files:
        verify(file, options.python)

"""What the offline model solves: `python benchmarks/offline_tasks.py [--tasks FILE] [LIBRARY ...]`.

Twenty short tasks for twenty libraries, each with the check that a user would give (data/offline_tasks.json). They
were written before the offline model was run on any of them. `offline_tasks_held_out.json` and
`offline_tasks_conversational.json` have twenty each by other authors. The libraries have to be installed; each is
read before its task is timed, as `jupyter explora index` does. A solution that passes its check is run again with a
second, hidden test: if that fails, it is wrong.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import exploracoder_jupyter

TASKS = Path(__file__).parent / "data" / "offline_tasks.json"


def outcome_of(task: dict[str, str], folder: str) -> tuple[str, float]:
    """Return the status of a run and its seconds; a solved task whose hidden test fails is `wrong`."""
    exploracoder_jupyter.search(task["library"], "anything")
    began = time.monotonic()
    found = exploracoder_jupyter.explore(
        task["task"], libraries=task["library"], check=task["check"], model="offline", workdir=folder, progress=False
    )
    seconds = time.monotonic() - began
    if found.status == "solved":
        program = f"{found.solution}\n{task['hidden']}"
        if subprocess.run([sys.executable, "-c", program], cwd=folder, check=False).returncode:
            return "wrong", seconds
    return found.status, seconds


def parse_arguments() -> argparse.Namespace:
    """Return the file of tasks and the libraries whose tasks are run (none: all)."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--tasks", type=Path, default=TASKS, metavar="FILE")
    parser.add_argument("libraries", nargs="*", metavar="LIBRARY")
    return parser.parse_args()


def main() -> None:
    arguments = parse_arguments()
    wanted = arguments.libraries
    tasks = [task for task in json.loads(arguments.tasks.read_text("utf-8")) if not wanted or task["library"] in wanted]
    statuses = []
    with tempfile.TemporaryDirectory() as folder:
        for task in tasks:
            status, seconds = outcome_of(task, folder)
            statuses.append(status)
            print(f"{task['library']:20} {status:10} {seconds:6.1f} s", flush=True)
    print(", ".join(f"{status}: {statuses.count(status)}" for status in sorted(set(statuses))))


if __name__ == "__main__":
    main()

"""Runs programs of the agent in an interpreter that finds only packages written for a test."""

import json
import os
import subprocess
import sys
import textwrap
from collections.abc import Mapping
from pathlib import Path

PROJECT = Path(__file__).parents[3]


def write_files(root: Path, files: Mapping[str, str]) -> Path:
    """Write the files, whose texts may be indented, below the folder."""
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(textwrap.dedent(text).lstrip("\n"))
    return root


def run(program: str, *arguments: str, path: tuple[Path, ...]) -> tuple[int, list[dict]]:
    """Run a module of the agent; returns its exit status and the lines that it prints."""
    done = subprocess.run(
        [sys.executable, "-S", "-m", f"exploracoder_jupyter.kernel_agent.introspection.{program}", *arguments],
        capture_output=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(map(str, [*path, PROJECT]))},
        timeout=60,
        check=False,
    )
    return done.returncode, [json.loads(line) for line in done.stdout.splitlines()]


def apis(lines: list[dict]) -> dict[str, dict]:
    """Return the rows of a walk by path."""
    return {line["api"]["path"]: line["api"] for line in lines if "api" in line}

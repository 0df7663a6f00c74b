"""Dependencies point one way: the contracts in pyproject.toml, checked by import-linter."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_import_contracts_are_kept(tmp_path):
    command = [sys.executable, "-c", "from importlinter.cli import lint_imports_command as lint; lint()"]
    options = ["--cache-dir", str(tmp_path), "--config", str(ROOT / "pyproject.toml")]
    done = subprocess.run(
        [*command, *options], cwd=ROOT, capture_output=True, text=True, env={**os.environ, "NO_COLOR": "1"}
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert ", 0 broken." in done.stdout

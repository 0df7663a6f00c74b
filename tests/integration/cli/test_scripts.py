"""The scripts of this repository."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize(("continuous", "status"), [("", 0), ("true", 1)])
def test_only_outside_the_continuous_integration_may_node_be_missing(tmp_path, continuous, status):
    (tmp_path / "bin").mkdir()
    for name in ("python", "ruff", "mypy", "lint-imports"):
        (tmp_path / "bin" / name).write_text("#!/bin/sh\n")
        (tmp_path / "bin" / name).chmod(0o700)
    for name in ("bash", "cat", "dirname", "mktemp", "rm"):
        (tmp_path / name).symlink_to(shutil.which(name))
    world = {"PATH": str(tmp_path), "VENV": str(tmp_path), "CI": continuous}
    done = subprocess.run(["bash", ROOT / "scripts" / "test"], env=world, capture_output=True, text=True)
    assert "there is no Node" in done.stdout
    assert done.returncode == status


def test_the_documentation_site_has_no_link_that_leads_nowhere(tmp_path):
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(tmp_path / "site")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    made = (tmp_path / "site" / "reference" / "commands" / "index.html").read_text()
    assert "--budget-tokens" in made and "jupyter explora check" in made

"""Where there is no Chromium, the browser tests say what is missing."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]


@pytest.mark.full
@pytest.mark.parametrize(("continuous", "outcome"), [("", "2 skipped"), ("true", "2 errors")])
def test_without_chromium_the_tests_name_the_remedy_and_fail_only_in_the_continuous_integration(continuous, outcome):
    some = [f"tests/e2e/browser/{name}" for name in ("test_hosts.py", "test_hostile.py")]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-rs", "-p", "no:cacheprovider", *some, "-k", "notebook_7 or no_script"],
        cwd=ROOT,
        env=os.environ | {"EXPLORA_CHROMIUM": "/no/chromium", "CI": continuous},
        capture_output=True,
        text=True,
    )
    assert outcome in done.stdout
    assert "`apt install chromium`, or set EXPLORA_CHROMIUM=path" in done.stdout

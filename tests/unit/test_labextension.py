"""The JupyterLab extension as it lies in the package: of the sources' version, and built from just these sources.
This check needs no Node."""

import importlib.util
import json
import re
import shutil
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
NPM = json.loads((ROOT / "labextension" / "package.json").read_text(encoding="utf-8"))


@pytest.fixture
def script():
    spec = importlib.util.spec_from_file_location("labextension_script", ROOT / "scripts" / "labextension.py")
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    return script


@pytest.fixture
def copied(script, tmp_path, monkeypatch):
    """The script, for a copy of the sources."""
    skipped = shutil.ignore_patterns("node_modules", "lib", "coverage", ".yarn")
    sources = shutil.copytree(ROOT / "labextension", tmp_path / "labextension", ignore=skipped)
    monkeypatch.setattr(script, "SOURCES", sources)
    return script


def test_npm_and_python_have_one_version():
    assert NPM["version"] == tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]


def test_the_hook_formats_with_the_locked_prettier():
    hooks = (ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8")
    lock = (ROOT / "labextension" / "yarn.lock").read_text(encoding="utf-8")
    locked = re.search(r'^"prettier@npm:[^\n]*:\n +version: (\S+)$', lock, flags=re.MULTILINE)
    assert re.findall(r"prettier@([\d.]+)", hooks) == [locked[1]]


def test_the_built_extension_is_of_these_sources(script):
    assert script.STAMP.read_text(encoding="utf-8") == script.digest() + "\n", "run `python scripts/labextension.py`"


def test_the_built_extension_has_what_jupyterlab_loads(script):
    built = json.loads((script.BUNDLE / "package.json").read_text(encoding="utf-8"))
    assert (built["name"], built["version"]) == (NPM["name"], NPM["version"])
    assert (script.BUNDLE / built["jupyterlab"]["_build"]["load"]).is_file()
    schemas = script.BUNDLE / "schemas" / NPM["name"]
    assert {path.name for path in schemas.glob("*.json")} == {
        path.name for path in (ROOT / "labextension" / "schema").glob("*.json")
    }
    assert list(script.BUNDLE.rglob("*.map")) == []


@pytest.mark.parametrize("changed", ["src/index.ts", "style/index.css", "yarn.lock", "package.json"])
def test_any_source_change_makes_the_bundle_stale(copied, changed):
    before = copied.digest()
    path = copied.SOURCES / changed
    path.write_bytes(path.read_bytes() + b" ")
    assert copied.digest() != before


def test_an_added_or_renamed_source_makes_it_stale(copied):
    before = copied.digest()
    (copied.SOURCES / "src" / "more.ts").write_bytes(b"")
    more = copied.digest()
    (copied.SOURCES / "src" / "more.ts").rename(copied.SOURCES / "src" / "renamed.ts")
    assert len({before, more, copied.digest()}) == 3


def test_line_ends_tests_and_installed_files_are_ignored(copied):
    before = copied.digest()
    path = copied.SOURCES / "src" / "index.ts"
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    (copied.SOURCES / "src" / "__tests__" / "more.spec.ts").write_bytes(b"")
    (copied.SOURCES / "node_modules").mkdir()
    (copied.SOURCES / "node_modules" / "index.js").write_bytes(b"")
    assert copied.digest() == before

"""The example of docs/plugins.md, in a wheel installed by pip, adds a model, a summarizer and a strategy."""

import json
import re
import subprocess
import sys
import sysconfig
import tomllib
import venv
import zipfile
from pathlib import Path

import pytest

from exploracoder_jupyter.trace import load

PAGE = Path(__file__).parents[3] / "docs" / "plugins.md"
REPLIES = """
import sys
prompt = sys.stdin.read()
print("```python\\nimport io, zipfile\\narchive = zipfile.ZipFile(io.BytesIO(), 'w')\\n"
      "archive.writestr('a.txt', 'text')\\ncount = len(archive.namelist())\\n```")
"""


def _block(language):
    [block] = re.findall(rf"```{language}\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    return block


def _build_wheel(folder):
    """Build the wheel as a build backend would, which is not installed here."""
    project = tomllib.loads(_block("toml"))["project"]
    info = f"explora_example-{project['version']}.dist-info"
    groups = [
        f"[{group}]\n" + "".join(f"{name} = {value}\n" for name, value in entries.items())
        for group, entries in project["entry-points"].items()
    ]
    files = {
        "explora_example.py": _block("python"),
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{info}/entry_points.txt": "\n".join(groups),
    }
    files[f"{info}/RECORD"] = "".join(f"{name},,\n" for name in (*files, f"{info}/RECORD"))
    path = folder / f"explora_example-{project['version']}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return path


@pytest.fixture(scope="module")
def explora(tmp_path_factory):
    """Run `jupyter explora` in an environment that has the packages of this one, and the plugin."""
    home = tmp_path_factory.mktemp("environment")
    venv.create(home, symlinks=True)
    python = str(home / "bin" / "python")
    site = Path(sysconfig.get_path("purelib", vars={"base": str(home)}))
    folders = [sysconfig.get_path("purelib"), str(Path(__file__).parents[3])]
    (site / "these.pth").write_text("\n".join(folders))
    install = ["install", "--quiet", "--no-deps", "--no-index", "--target", site, _build_wheel(home)]
    subprocess.run([sys.executable, "-m", "pip", *install], check=True)
    (home / "replies.py").write_text(REPLIES)

    def run(*arguments, cwd, monkeypatch):
        monkeypatch.setenv("EXPLORA_COMMAND", f"{python} {home / 'replies.py'}")
        command = [python, "-m", "exploracoder_jupyter.cli", *arguments, "--json"]
        return json.loads(subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False).stdout)

    return run


def test_the_doctor_lists_the_plugin_with_its_distribution(explora, tmp_path, monkeypatch):
    found = explora("doctor", cwd=tmp_path, monkeypatch=monkeypatch)
    origin = {"distribution": "explora-example", "version": "0.1"}
    assert {"name": "command", **origin} in found["plugins"]["models"]
    assert {"name": "zipfile", **origin} in found["plugins"]["summarizers"]
    assert {"name": "first-that-runs", **origin} in found["plugins"]["strategies"]
    assert not [problem for problem in found["problems"] if "explora-example" in problem["what"]]


def test_a_run_uses_all_plugins_of_a_wheel(explora, tmp_path, monkeypatch):
    (tmp_path / "config.toml").write_text('[exploration]\nstrategy = "first-that-runs"\n')
    monkeypatch.setenv("EXPLORACODER_CONFIG", str(tmp_path / "config.toml"))
    task = ["-t", "Write `a.txt` to a new archive in memory; store the number of its files in `count`"]
    task += ["--library", "zipfile", "--check", "assert count == 1", "--model", "command"]
    found = explora("run", *task, "--out", "trace.ipynb", cwd=tmp_path, monkeypatch=monkeypatch)
    assert found["status"] == "solved" and found["usage"]["calls"] == 1
    trace = (tmp_path / "trace.ipynb").read_text(encoding="utf-8")
    assert "### Strategy: first-that-runs" in trace
    assert "is sent to the model 'command' of explora-example 0.1" in trace
    assert "zipfile.ZipFile: 1 files" in repr(load(tmp_path / "trace.ipynb"))

"""What never enters a trace: keys, tokens, and who somebody is by the paths of their home."""

import getpass
import json
import re
from pathlib import Path

import pytest

from exploracoder_jupyter.events import dump, load
from exploracoder_jupyter.notebook import Redactor, Trace, journal_path, problems, render
from exploracoder_jupyter.notebook.homes import Homes
from tests.unit.factories import complete_run, recorded
from tests.unit.test_notebook_testing import run as a_tested_run

KEPT = {"kind", "status", "step", "role", "level", "outcome", "output_type", "ruling", "how", "run_id", "show"}
"""Fields of which the values are words of the events themselves, or identify the run."""

PLANTED = {
    "of the run": "hunter2-hunter2",
    "openai": "sk-proj-abc123def456ghi789",
    "bearer": "Bearer abcdef0123456789abcdef",
    "github": "ghp_" + "a1B2" * 9,
    "hugging face": "hf_" + "aB1" * 12,
    "aws": "AKIAIOSFODNN7EXAMPLE",
    "jwt": "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N",
    "pypi": "pypi-AgEIcHlwaS5vcmcCJDEyMzQ1Njc4LTEyMzQtMTIzNA",
    "stripe": "sk_live_4eC39HqLyjWDarjtT1zdp7dc",
    "password in an address": "postgres://maria:s3cr3t-pw@db.example.org/x",
    "linux": "/home/mariachen/thesis/data.csv",
    "linux, elsewhere": "/export/home/mariachen/data.csv",
    "a file's address": "file:///home/mariachen/data.csv",
    "macos": "/Users/mariachen/Documents/data.csv",
    "windows": r"C:\Users\Maria Chen\AppData\Local\data.csv",
    "windows in a string": r"C:\\Users\\Maria Chen\\AppData\\data.csv",
    "windows with slashes": "c:/Users/mariachen/data.csv",
    "windows seen from linux": "/mnt/c/Users/mariachen/data.csv",
    "git bash": "/c/Users/mariachen/data.csv",
    "own home": "/lustre/groups/mariachen-lab/data.csv",
    "own name": "/scratch/mariachen/data.csv",
}
TRACES = {
    "sk-proj",
    "abcdef0123456789",
    "ghp_",
    "hf_",
    "AKIA",
    "eyJhb",
    "pypi-",
    "sk_live",
    "s3cr3t",
    "hunter2",
    "mariachen",
    "Maria Chen",
}
"""Of what was planted nothing must be left that has one of these in it."""


@pytest.fixture
def mine(monkeypatch):
    """A user whose home is not where homes are."""
    monkeypatch.setattr(Path, "home", lambda: Path("/lustre/groups/mariachen-lab"))
    monkeypatch.setattr(getpass, "getuser", lambda: "mariachen")


def planted(value, text, key=""):
    """The JSON value with the text in every string of it, and as a key where any key may be."""
    if isinstance(value, dict):
        free = {text: text} if key in ("settings", "data") else {}
        return {name: planted(item, text, name) for name, item in value.items()} | free
    if isinstance(value, list):
        return [planted(item, text, key) for item in value]
    return f"{value} ({text})" if isinstance(value, str) and key not in KEPT and not key.endswith("id") else value


def everywhere(text):
    records = [json.loads(dump(record)) for record in [*complete_run(), *recorded(a_tested_run())]]
    return [load(json.dumps({**record, "event": planted(record["event"], text)})) for record in records]


@pytest.mark.parametrize("text", PLANTED.values(), ids=PLANTED)
def test_nothing_that_was_planted_in_any_string_of_a_run_is_written(tmp_path, mine, text):
    path = tmp_path / "run.ipynb"
    trace = Trace(path, secrets=["hunter2-hunter2"])
    for record in everywhere(text):
        trace.append(record)
    written = journal_path(path).read_text()
    trace.close()
    written += path.read_text()
    assert trace.problem is None
    assert written.count(" (") > 200
    assert not [left for left in TRACES if left in written]


def test_a_trace_in_which_everything_was_replaced_is_valid(tmp_path, mine):
    trace = Trace(tmp_path / "run.ipynb")
    for record in everywhere("/home/mariachen/x sk-proj-abc123def456ghi789"):
        trace.append(record)
    assert problems(render(trace.records)) == []


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('open("/home/me/data.csv")', 'open("~/data.csv")'),
        ("/home/me/a:/home/you/b", "~/a:~/b"),
        ('File "/home/me/lib/x.py", line 3', 'File "~/lib/x.py", line 3'),
        ("file:///Users/me/x", "file://~/x"),
        (r"C:\Users\me\x", r"~\x"),
        (r"'C:\\Users\\me\\x'", r"'~\\x'"),
    ],
)
def test_a_home_becomes_a_tilde_and_the_rest_of_the_path_stays(before, after):
    redactor = Redactor(homes=Homes())
    assert redactor.text(before) == after
    assert redactor.text(after) == after


@pytest.mark.parametrize(
    "text",
    [
        "https://example.com/home/index/a.html",
        "https://example.com/Users/me/x",
        '@app.get("/home/about")',
        "/usr/lib/python3.11/site-packages/pandas/io/common.py",
        "/root/item/name",
        "C:/Program Files/x",
        "/Users/Shared/x/y",
        "/tmp/x/home.csv",
        "a/home/b/c",
        "postgres://{user}:{password}@host/x",
        "http://localhost:8888/lab",
        "def f(x: int) -> str: ...",
        "~/x",
    ],
)
def test_what_is_nobodys_home_stays(text):
    assert Redactor(homes=Homes(["/root"], "root")).text(text) == text


def test_paths_stay_where_code_has_to_run():
    assert Redactor().text("open('/home/me/x/y')") == "open('/home/me/x/y')"


def test_hiding_twice_is_hiding_once(mine):
    for text in PLANTED.values():
        redactor = Redactor(homes=Homes(["/lustre/groups/mariachen-lab"], "mariachen"))
        once = redactor.text(f"a {text} b")
        assert redactor.text(once) == once
        assert Redactor(homes=Homes()).text(once) == once


def test_long_texts_without_homes_are_read_fast_enough_to_be_looked_at():
    text = "/home" * 20_000 + "/a.b-c" * 50_000 + "C:\\" * 50_000
    assert re.sub("~", "", Redactor(homes=Homes(["/lustre/x"], "me-me")).text(text))

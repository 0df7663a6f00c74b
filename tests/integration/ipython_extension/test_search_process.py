"""`%explora search` and the process that searches: what it is asked, what it answers, and how it ends."""

import json
import sys

import psutil
import pytest

from exploracoder_jupyter.core.errors import ExploraError, MissingRequirement, UsageError
from exploracoder_jupyter.ipython_extension.searching import search_process
from exploracoder_jupyter.ipython_extension.searching import search_process as search_magic
from exploracoder_jupyter.ipython_extension.searching.search_process import LibrarySearcher, run_search


def command(code):
    return (sys.executable, "-c", code)


PRINTS = "import sys, json; print('Reading lib', file=sys.stderr); print(' ', file=sys.stderr); print(json.dumps(%r))"


def test_the_process_says_what_it_does_and_answers():
    messages = []
    found = run_search(command(PRINTS % {"query": "q", "results": [{"path": "lib.f"}]}), on_progress=messages.append)
    assert (messages, found[0].path) == (["Reading lib"], "lib.f")


def test_what_the_process_refuses_is_its_own_sentence():
    with pytest.raises(UsageError, match=r"^No such library\. Install it\.$"):
        run_search(command(PRINTS % {"error": "No such library.", "remedy": "Install it."}), on_progress=print)


def test_a_process_without_an_answer_is_one_sentence():
    with pytest.raises(ExploraError, match=r"without an answer \(exit status 3\)\. Its last output: boom"):
        run_search(command("import sys; print('boom', file=sys.stderr); sys.exit(3)"), on_progress=lambda _: None)
    with pytest.raises(MissingRequirement, match="cannot be started with '/no/python'"):
        run_search(("/no/python",), on_progress=print)


@pytest.mark.parametrize("heeds", [True, False])
def test_an_interrupt_leaves_no_process(monkeypatch, heeds):
    monkeypatch.setattr(search_process, "PATIENCE", 20 if heeds else 0.2)
    end = "child.kill(); child.wait(); sys.exit()" if heeds else "pass"
    code = (
        "import os, signal, subprocess, sys, time\n"
        "child = subprocess.Popen(['sleep', '60'])\n"
        f"def stop(*_):\n    {end}\n"
        "signal.signal(signal.SIGINT, stop)\n"
        "print(os.getpid(), child.pid, file=sys.stderr, flush=True)\n"
        "while True: time.sleep(60)"
    )
    pids = []

    def interrupt(message):
        pids.extend(map(int, message.split()))
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_search(command(code), on_progress=interrupt)
    assert len(pids) == 2
    assert not any(psutil.pid_exists(pid) and psutil.Process(pid).status() != "zombie" for pid in pids)


def test_a_search_uses_the_settings_of_the_notebook(engine, tmp_path):
    configured = {**engine(kernel="weak"), "endpoint": {"base_url": "vllm"}}
    finder = LibrarySearcher(jupyter=False, configured=lambda: configured)
    assert len(finder.search("--kernel strong -k 4 mylib what it does")) == 0
    arguments = (tmp_path / "arguments").read_text().splitlines()
    assert arguments[:3] == ["-P", "-m", "exploracoder_jupyter.cli"]
    assert arguments[3:] == [
        *("search", "--json", "-k", "4", "--base-url=vllm", "--kernel=strong", "--", "mylib", "what it does")
    ]
    finder.search("something else")
    again = (tmp_path / "arguments").read_text().splitlines()
    assert again[-3:] == ["--", "mylib", "something else"]
    assert "--kernel=strong" in again


ENGINE = """#!/bin/sh
echo Indexing >&2
printf '%s\\n' "$@" > FOLDER/arguments
echo '{"query": "q", "results": [], "libraries": LIBRARIES}'
"""


@pytest.fixture
def engine(tmp_path, monkeypatch):
    """Settings that name an engine, which records its arguments and answers that it searched these libraries."""

    def made(*libraries, **sandbox):
        python = tmp_path / "python"
        python.write_text(ENGINE.replace("FOLDER", str(tmp_path)).replace("LIBRARIES", json.dumps(libraries)))
        python.chmod(0o700)
        return {"sandbox": {"engine_python": str(python), **sandbox}}

    (tmp_path / "none.toml").touch()
    monkeypatch.setenv("EXPLORACODER_CONFIG", str(tmp_path / "none.toml"))
    monkeypatch.setenv("JUPYTER_PATH", "/nowhere")
    return made


def test_another_interpreter_searches_this_one(engine, tmp_path):
    configured = engine()
    LibrarySearcher(jupyter=False, configured=lambda: configured).search("mylib what it does")
    assert f"--python={sys.executable}" in (tmp_path / "arguments").read_text().splitlines()


@pytest.mark.parametrize("sandbox", [{"kernel": "weak"}, {"gateway": "http://127.0.0.1:9"}, {"python": "/other"}])
def test_where_to_look_may_be_configured(engine, tmp_path, sandbox):
    configured = engine(**sandbox)
    LibrarySearcher(jupyter=False, configured=lambda: configured).search("mylib what it does")
    assert f"--python={sys.executable}" not in (tmp_path / "arguments").read_text().splitlines()


@pytest.mark.parametrize(
    ("cached", "notice"),
    [
        ((True, True), ""),
        ((True, False), "blib 2 was read; the results are cached for the next search."),
        ((False, False), "alib 1, blib 2 were read; the results are cached for the next search."),
    ],
)
def test_only_what_was_read_is_reported_as_read(engine, monkeypatch, cached, notice):
    class Handle:
        def update(self, bundle, raw):
            shown.append(bundle["text/plain"])

    def display(bundle, **_):
        shown.append(bundle["text/plain"])
        return Handle()

    shown = []
    monkeypatch.setattr(search_magic, "display", display)
    names = zip(("alib", "blib"), ("1", "2"), cached, strict=True)
    configured = engine(*({"name": name, "version": version, "cached": kept} for name, version, kept in names))
    LibrarySearcher(jupyter=True, configured=lambda: configured).search("alib,blib what it does")
    assert shown == ["Indexing …", notice]

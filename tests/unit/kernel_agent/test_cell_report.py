"""Reports of what a cell did, by a shell without a kernel: displayed values, warnings, log records, files."""

import gc
import io
import logging
import sys
import warnings
import weakref
from types import SimpleNamespace

import pytest
from IPython.core.formatters import DisplayFormatter

from exploracoder_jupyter.kernel_agent.reporting import cell_report
from exploracoder_jupyter.kernel_agent.reporting.cell_report import MIME, CellReporter, WarningCapture
from exploracoder_jupyter.kernel_agent.summaries.display_formatter import LLM, SCHEMA, install


class Cell:
    """As IPython's result of a cell."""

    def __init__(self, code, error=None):
        self.raw_cell, self.info, self.error_in_exec, self.error_before_exec = code, self, error, None


@pytest.fixture
def shell(tmp_path, monkeypatch):
    """As IPython's, as far as it is asked."""
    monkeypatch.chdir(tmp_path)
    events = SimpleNamespace(register=lambda *_: None)
    publisher = SimpleNamespace(publish=None)
    return SimpleNamespace(
        user_ns={},
        events=events,
        display_pub=publisher,
        display_formatter=DisplayFormatter(),
        transform_cell=str,
    )


@pytest.fixture
def report(shell):
    """Runs code between the two events, and gives what is published."""
    published = []
    shell.display_pub.publish = published.append
    shell.explora_cell_reporter = reporter = CellReporter(shell)

    def run(code, error=None):
        published.clear()
        cell = Cell(code, error)
        reporter._start_cell(cell.info)
        exec(code, shell.user_ns)
        reporter._finish_cell(cell)
        return published[0][MIME] if published else None

    return run


def test_a_cell_that_does_nothing_sends_nothing(report):
    assert report("pass") is None


def test_nested_cells_are_part_of_a_cell(report, shell):
    def run_inside(code):
        cell = Cell(code)
        if code:  # IPython ends an empty cell without having begun it
            shell.explora_cell_reporter._start_cell(cell.info)
        exec(code, shell.user_ns)
        shell.explora_cell_reporter._finish_cell(cell)

    shell.user_ns["run_inside"] = run_inside
    content = report(
        "import warnings\nx = [1]\nrun_inside('y = [2]')\nrun_inside('')\nwarnings.showwarning('w', UserWarning, '', 1)"
    )
    assert {change["name"] for change in content["changes"]} == {"x", "y", "warnings"}
    assert content["warnings"] == ["UserWarning: w"]


def test_an_unended_cell_does_not_silence_the_next(report, shell):
    shell.parent_header = {"msg_id": "lost"}
    shell.explora_cell_reporter._start_cell(Cell("lost"))
    shell.parent_header = {"msg_id": "next"}
    assert [change["name"] for change in report("a = [1]")["changes"]] == ["a"]


def test_the_message_goes_past_what_captures_outputs(report, shell):
    captured = []
    shell.user_ns.update(shell=shell, capture=SimpleNamespace(publish=captured.append))
    assert report("shell.display_pub = capture; a = [1]") is not None
    assert captured == []


def test_changes_carry_all_that_a_change_has(report):
    (change,) = report("a = [1]")["changes"]
    assert change == {
        "name": "a",
        "how": "new",
        "type": "list",
        "summary": "list: 1 item: int\n  [1]",
        "schema": "list: 1 item: int",
        "before": "",
    }


def test_imports_come_last_with_one_line(report):
    changes = report("from fractions import Fraction\nhalf = Fraction(1, 2)")["changes"]
    assert [change["name"] for change in changes] == ["half", "Fraction"]
    assert changes[1]["summary"].endswith("\n  ... more cut")
    assert len(changes[1]["summary"].splitlines()) == 2


def test_values_beyond_the_budget_get_one_line(report):
    content = report("\n".join(f"v{number} = ['x' * 30] * 30 + [{number}]" for number in range(70)))
    summaries = [change["summary"] for change in content["changes"]]
    assert len(summaries) == 60
    assert sum(map(len, summaries)) < 4_000 + 60 * 60
    assert summaries[0].count("\n") == 1
    assert summaries[-1] == "list: 31 items: str | int\n  ... more cut"


def test_a_broken_namespace_costs_only_the_changes(report, shell):
    class Broken(dict):
        def items(self):
            raise ValueError

    before = shell.user_ns
    code = "from pathlib import Path; Path({!r}).touch()"
    assert report(code.format("f"))["files"] == ["f"]
    shell.user_ns = Broken(before)
    content = report(code.format("g"))
    assert (content["files"], content["changes"]) == (["g"], [])
    shell.user_ns = before
    assert report(code.format("h"))["files"] == ["h"]


def formats(shell, value):
    data, _ = shell.display_formatter.format(value)
    return data.get(LLM), data.get(SCHEMA)


def test_displayed_values_have_a_text_for_models(shell):
    install(shell)
    assert formats(shell, [1]) == ("list: 1 item: int\n  [1]", "list: 1 item: int")
    text, schema = formats(shell, "x" * 5000)
    assert text.startswith("str: 5,000 characters") and schema == "str: 5,000 characters"
    for value in (1, 2.5, None, True, "short", b"short", 1j):
        assert formats(shell, value) == (None, None)


def test_printers_can_be_registered_for_any_type(shell):
    install(shell)
    shell.display_formatter.formatters[LLM].for_type(int, lambda value: f"about {value}")
    assert formats(shell, 3) == ("int: about 3", "int")


def test_a_foreign_formatter_stays(shell):
    def foreign(value):
        return "foreign"

    shell.display_formatter.formatters[LLM] = foreign
    summarizer, _ = install(shell)
    assert shell.display_formatter.formatters[LLM] is foreign
    assert summarizer.tell([[1]])[0].text == "list: 1 item: int\n  [1]"


def test_a_fault_costs_no_display(shell, monkeypatch, capsys):
    summarizer, _ = install(shell)

    def fail(*_arguments, **_named):
        raise ValueError

    monkeypatch.setattr(summarizer, "tell", fail)
    assert shell.display_formatter.format([1])[0] == {"text/plain": "[1]"}
    assert capsys.readouterr() == ("", "")


def test_what_was_displayed_is_not_kept_alive(shell):
    class Value:
        def __repr__(self):
            return "value"

    _, displays = install(shell)
    value = Value()
    assert displays.text(value) is not None
    displays.renew()
    gone = weakref.ref(value)
    del value
    gc.collect()
    assert gone() is None


@pytest.fixture
def caught():
    listener = WarningCapture()
    before = warnings.showwarning, logging.Logger.callHandlers
    yield listener
    listener.stop()
    assert (warnings.showwarning, logging.Logger.callHandlers) == before


def test_warnings_are_counted_and_shown_as_before(caught, monkeypatch):
    shown = []
    monkeypatch.setattr(warnings, "showwarning", lambda message, *_more: shown.append(str(message)))
    caught.start()
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        for _ in range(3):
            warnings.warn("again", UserWarning, stacklevel=1)
    with warnings.catch_warnings(record=True) as recorded:  # the user's own
        warnings.simplefilter("always")
        warnings.warn("mine", UserWarning, stacklevel=1)
    assert caught.stop() == (["UserWarning: again (x3)"], [])
    assert shown == ["again"] * 3 and len(recorded) == 1
    monkeypatch.undo()


def test_the_last_resort_of_logging_stays(caught, monkeypatch):
    written = io.StringIO()
    monkeypatch.setattr(sys, "stderr", written)
    logger = logging.Logger("lonely")
    caught.start()
    logger.warning("%s is logged", "this")
    logger.error("\n".join(["long"] * 500))
    logger.info("unlogged")
    _, logs = caught.stop()
    assert logs[0] == "WARNING lonely: this is logged"
    assert len(logs) == 2 and len(logs[1]) <= 300
    assert written.getvalue().startswith("this is logged\nlong\n")


def test_many_different_records_are_counted_together(caught):
    logger = logging.Logger("busy")
    logger.addHandler(logging.NullHandler())
    caught.start()
    for number in range(100):
        logger.warning("number %d", number)
    _, logs = caught.stop()
    assert len(logs) == 21
    assert logs[-1] == "and others (x80)"


def test_a_hook_of_the_user_survives(caught, monkeypatch):
    monkeypatch.setattr(warnings, "showwarning", lambda *_: None)
    caught.start()
    received, inner = [], warnings.showwarning

    def own(message, *more):
        received.append(str(message))
        inner(message, *more)

    warnings.showwarning = own
    caught.stop()
    assert warnings.showwarning is own
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.showwarning = own
        warnings.warn("later", UserWarning, stacklevel=1)
    assert received == ["later"]
    monkeypatch.undo()


def test_what_is_restored_later_counts_once(caught, monkeypatch):
    monkeypatch.setattr(warnings, "showwarning", lambda *_: None)
    caught.start()
    logging.captureWarnings(True)
    caught.stop()
    caught.start()
    logging.captureWarnings(False)
    caught.stop()
    caught.start()
    warnings.showwarning("once", UserWarning, "", 1)
    assert caught.stop()[0] == ["UserWarning: once"]
    monkeypatch.undo()


@pytest.fixture
def watched(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "old").write_text("old")
    watcher = cell_report.FileTracker()
    watcher.start()
    return watcher, tmp_path


def test_new_and_changed_files_are_reported(watched):
    watcher, folder = watched
    (folder / "sub" / "__pycache__").mkdir(parents=True)
    for name in ("sub/new", "sub/__pycache__/cached"):
        (folder / name).write_text("x")
    (folder / "old").write_text("changed")
    assert watcher.stop() == ["old", "sub/new"]


def test_a_full_folder_is_given_up(watched, monkeypatch):
    watcher, folder = watched
    monkeypatch.setattr(cell_report, "_MAX_ENTRIES", 1)
    (folder / "new").write_text("x")
    assert watcher.stop() == []
    monkeypatch.setattr(cell_report, "_MAX_ENTRIES", 9)
    watcher.start()
    (folder / "newer").write_text("x")
    assert watcher.stop() == []


@pytest.mark.parametrize("times, expected", [(1, ["new"]), (2, [])])
def test_a_repeatedly_slow_folder_is_given_up(watched, monkeypatch, times, expected):
    watcher, folder = watched
    monkeypatch.setattr(cell_report, "_MAX_SECONDS", -1)
    for _ in range(times):
        watcher.start()
    monkeypatch.undo()
    monkeypatch.chdir(folder)
    watcher.start()
    (folder / "new").write_text("x")
    assert watcher.stop() == expected


def test_a_folder_that_is_gone_has_no_files(watched, monkeypatch):
    watcher, folder = watched
    gone = folder / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    watcher.start()
    assert watcher.stop() == []


def test_a_failure_is_explained(report):
    error = KeyError("x")
    assert report("pass", error)["failure"].keys() == {"report", "schema", "nearest"}

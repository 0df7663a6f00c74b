"""`jupyter explora export`: where it writes, what it never replaces, what nbconvert makes of the same trace."""

import errno
import io
import subprocess
from dataclasses import replace
from pathlib import Path

import nbformat
import pytest

from exploracoder_jupyter.cli import main
from exploracoder_jupyter.core.errors import UsageError
from exploracoder_jupyter.export.export_formats import export_run
from exploracoder_jupyter.ipython_extension.running.engine import export_trace
from exploracoder_jupyter.trace import Trace, render
from tests.json_output import json_result
from tests.unit.factories import complete_run

FORMS = {"script": ".py", "html": ".html", "notebook": "-selected.ipynb"}


@pytest.fixture(scope="module")
def rendered():
    return nbformat.writes(render(complete_run()))


@pytest.fixture
def trace(tmp_path, rendered):
    path = tmp_path / "my run.ipynb"
    path.write_text(rendered, encoding="utf-8")
    return path


@pytest.mark.parametrize(("form", "ending"), FORMS.items(), ids=FORMS)
def test_it_goes_beside_the_trace_repeatedly(trace, capsys, form, ending):
    target = trace.with_name(f"my run{ending}")
    for _ in range(2):
        assert main(["export", str(trace), "--to", form, "--json"]) == 0
        assert json_result("export", capsys.readouterr().out) == {"out": str(target), "to": form}
    assert target.stat().st_size > 100


@pytest.mark.parametrize(("name", "begins"), [("a.py", "# /// script"), ("a.html", "<!DOCTYPE"), ("a.ipynb", "{")])
def test_the_name_says_the_form(trace, name, begins):
    target = trace.with_name("new folder") / name
    assert main(["export", str(trace), "--out", str(target)]) == 0
    assert target.read_text().startswith(begins)


def test_a_script_goes_to_standard_output(trace, capsys):
    assert main(["export", str(trace), "--to", "script", "--out", "-", "--unpinned"]) == 0
    captured = capsys.readouterr()
    compile(captured.out, "script", "exec")
    assert captured.err == ""
    assert [path.name for path in trace.parent.iterdir()] == ["my run.ipynb"]


def test_a_journal_exports_under_its_traces_name(tmp_path):
    writing = Trace(tmp_path / "run.ipynb", interval=600)
    for record in complete_run():
        writing.append(record)
    journal = tmp_path / "run.journal.jsonl"
    assert main(["export", str(journal), "--to", "html"]) == 0
    writing.close()
    assert (tmp_path / "run.html").exists()


@pytest.mark.parametrize("name", ["mine.py", "mine.html"])
def test_what_somebody_wrote_is_not_replaced(trace, capsys, name):
    mine = trace.with_name(name)
    mine.write_text("# mine")
    assert main(["export", str(trace), "--out", str(mine)]) == 2
    assert mine.read_text() == "# mine"
    assert "already exists with different content" in capsys.readouterr().err


def test_an_older_page_is_replaced(trace):
    page = trace.with_name("my run.html")
    assert main(["export", str(trace), "--to", "html"]) == 0
    whole = page.read_text()
    page.write_text(whole.replace("Count the triangles", "Count something"))
    assert main(["export", str(trace), "--to", "html"]) == 0
    assert page.read_text() == whole


def test_a_notebook_that_somebody_has_worked_on_stays(trace, capsys):
    selected = trace.with_name("my run-selected.ipynb")
    assert main(["export", str(trace)]) == 0
    notebook = nbformat.read(selected, as_version=4)
    notebook.cells.append(nbformat.v4.new_code_cell("mine = 1"))
    nbformat.write(notebook, selected)
    assert main(["export", str(trace)]) == 2
    assert "already exists with different content" in capsys.readouterr().err
    del notebook.cells[0], notebook.cells[-1]
    nbformat.write(notebook, selected)
    assert main(["export", str(trace)]) == 0


@pytest.mark.parametrize("form", FORMS)
def test_a_full_disk_costs_nothing_that_was_there(trace, capsys, monkeypatch, form):
    def full(file):
        raise OSError(errno.ENOSPC, "No space left on device")

    for there in (False, True):
        before = {path.name: path.read_bytes() for path in trace.parent.iterdir()}
        with monkeypatch.context() as patch:
            patch.setattr("os.fsync", full)
            assert main(["export", str(trace), "--to", form]) == 2
        assert "No space left on device" in capsys.readouterr().err
        assert {path.name: path.read_bytes() for path in trace.parent.iterdir()} == before
        assert there or main(["export", str(trace), "--to", form]) == 0


@pytest.mark.parametrize("form", FORMS)
def test_an_unencodable_name_is_not_an_obstacle(trace, form):
    odd = trace.rename(trace.with_name("odd-\udcff.ipynb"))
    target = trace.with_name(f"made{FORMS[form]}")
    assert main(["export", str(odd), "--to", form, "--out", str(target)]) == 0


def test_another_trace_is_not_replaced(trace, capsys):
    other = trace.with_name("other.ipynb")
    nbformat.write(render(complete_run()), other)
    before = other.read_bytes()
    assert main(["export", str(trace), "--out", str(other)]) == 2
    assert other.read_bytes() == before
    assert "is a trace. Choose another file" in capsys.readouterr().err


@pytest.mark.parametrize("ending", [".py", ".html", ".ipynb"])
def test_a_folder_is_no_file(trace, capsys, ending):
    folder = trace.with_name(f"folder{ending}")
    folder.mkdir()
    assert main(["export", str(trace), "--out", str(folder)]) == 2
    assert "is a folder" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("--out x.pdf", "The extension of 'x.pdf' does not determine a format. Use the extension .py, .html or .ipynb"),
        ("--to notebook --out x.pdf", "'x.pdf' does not match --to notebook. Use the extension .ipynb."),
        ("--to script --out b.html", "'b.html' does not match --to script. Use the extension .py."),
        ("--to html --out b.ipynb", "'b.ipynb' does not match --to html. Use the extension .html."),
        ("--to html --out ~nobody-of-that-name/b.html", "There is no home folder for '~nobody-of-that-name/b.html'."),
        ("--out - --json", "both write to standard output"),
        ("--to html --unpinned", "Add --to script"),
        (f"--out {'b' * 300}.html", "cannot be written: File name too long."),
    ],
)
def test_a_name_and_a_form_have_to_agree(trace, capsys, line, message, monkeypatch):
    monkeypatch.chdir(trace.parent)
    assert main(["export", str(trace), *line.split()]) == 2
    assert message in capsys.readouterr().err
    assert [path.name for path in trace.parent.iterdir()] == ["my run.ipynb"]


def importing(trace, name):
    """A trace of this name whose solution imports networkx and random, in place of the other."""
    *records, last = complete_run()
    solution = replace(last.event.solution, code="import networkx\nfrom random import Random")
    trace.unlink()
    named = trace.with_name(f"{name}.ipynb")
    nbformat.write(render([*records, replace(last, event=replace(last.event, solution=solution))]), named)
    return named


@pytest.mark.parametrize("name", ["networkx", "random"])
def test_a_script_never_shadows_a_module(trace, capsys, name):
    named = importing(trace, name)
    assert main(["export", str(named), "--out", str(trace.with_name(f"{name}.py"))]) == 2
    errors = capsys.readouterr().err
    assert f"Python would import {name}.py instead of the module {name}. Choose another name, such as" in errors
    assert main(["export", str(named), "--to", "script"]) == 0
    assert {path.name for path in trace.parent.iterdir()} == {f"{name}.ipynb", f"{name}-solution.py"}
    assert main(["export", str(named), "--to", "html"]) == 0
    assert named.with_suffix(".html").exists()


@pytest.mark.parametrize("at", [1e300, -1e11])
def test_a_run_without_a_start_is_refused(at):
    with pytest.raises(UsageError, match="seconds after 1970"):
        export_run([replace(record, at=at) for record in complete_run()], "html", Path("run.ipynb"))


def test_an_export_has_no_run_to_export(trace, capsys):
    assert main(["export", str(trace)]) == 0
    exported = trace.with_name("my run-selected.ipynb")
    facts = nbformat.read(exported, as_version=4).metadata.exploracoder_jupyter
    assert not {"records", "trimmed"} & facts.keys()
    assert main(["export", str(exported), "--to", "html"]) == 2
    assert "was exported from a trace, and does not contain the run itself" in capsys.readouterr().err


@pytest.fixture
def command_here(capsys, monkeypatch):
    """Runs the command that the magic starts in this process."""

    def run(command, **_):
        status = main(command[command.index("export") :])
        return subprocess.CompletedProcess(command, status, *capsys.readouterr())

    monkeypatch.setattr(subprocess, "run", run)


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("", "my run-selected.ipynb"),
        ("--to html", "my run.html"),
        ("--to=script", "my run.py"),
        ("--to html {}/a b.html", "a b.html"),
        ("'{}/a --to.page' --to html", "a --to.page"),
        ("'{}/c d.py'", "c d.py"),
    ],
)
def test_the_magic_takes_a_form_and_a_path(trace, command_here, line, name):
    made = export_trace(trace, line.format(trace.parent))
    assert made == trace.with_name(name)
    assert made.exists()


@pytest.mark.parametrize(
    ("line", "message"),
    [("--to pdf", "takes `--to script"), ("--from x", "takes `--to script"), ("--to html .", "is a folder")],
)
def test_the_magic_reports_errors_in_a_sentence(trace, command_here, line, message, monkeypatch):
    monkeypatch.chdir(trace.parent)
    with pytest.raises(UsageError, match=message) as caught:
        export_trace(trace, line)
    assert "\n" not in str(caught.value)
    assert not str(caught.value).startswith("jupyter explora")


@pytest.mark.parametrize(("form", "ending"), FORMS.items(), ids=FORMS)
def test_nbconvert_makes_the_same(trace, form, ending):
    exporters = pytest.importorskip("exploracoder_jupyter.export.nbconvert_exporters")
    exporter = {
        "script": exporters.ScriptExporter,
        "html": exporters.ReportExporter,
        "notebook": exporters.SelectedExporter,
    }[form]()
    assert main(["export", str(trace), "--to", form]) == 0
    wanted = trace.with_name(f"my run{ending}").read_text(encoding="utf-8")
    made, resources = exporter.from_filename(str(trace))
    assert made == wanted
    assert f"{resources['output_suffix']}{resources['output_extension']}" == ending
    read = {"metadata": {"name": "my run", "path": str(trace.parent)}}
    assert exporter.from_file(io.StringIO(trace.read_text(encoding="utf-8")), resources=read)[0] == wanted


@pytest.fixture
def nbconvert(trace, monkeypatch):
    """Runs the command of nbconvert in the folder of the trace."""
    application = pytest.importorskip("nbconvert.nbconvertapp").NbConvertApp
    monkeypatch.chdir(trace.parent)

    def run(*line):
        command = application()
        command.initialize(["--log-level", "ERROR", *line])
        command.start()

    return run


@pytest.mark.parametrize("option", [["--output-dir", "."], ["--output", "my run"]])
def test_nbconvert_never_writes_over_the_trace(trace, nbconvert, option):
    before = trace.read_bytes()
    nbconvert(*option, "--to", "explora-notebook", trace.name)
    assert trace.read_bytes() == before
    assert trace.with_name("my run-selected.ipynb").exists()


@pytest.mark.parametrize("option", [[], ["--output-dir", "."], ["--output", "random"]])
def test_nbconvert_names_no_script_like_a_module(trace, nbconvert, option):
    named = importing(trace, "networkx")
    nbconvert(*option, "--to", "explora-script", named.name)
    name = "random" if "random" in option else "networkx"
    assert {path.name for path in trace.parent.iterdir()} == {"networkx.ipynb", f"{name}-solution.py"}


def test_nbconvert_says_what_is_no_trace(tmp_path):
    exporters = pytest.importorskip("exploracoder_jupyter.export.nbconvert_exporters")
    conversion = pytest.importorskip("nbconvert.utils.exceptions").ConversionException
    plain = nbformat.v4.new_notebook()
    nbformat.write(plain, tmp_path / "plain.ipynb")
    with pytest.raises(conversion, match="is not the trace of a run"):
        exporters.ReportExporter().from_filename(str(tmp_path / "plain.ipynb"))
    with pytest.raises(conversion, match="is not the trace of a run"):
        exporters.ReportExporter().from_notebook_node(plain)


TEXT_EXPORTER = """
from types import SimpleNamespace

def render(run, trace, *, pinned):
    return f"{trace.name}: {run.finished.verdict.outcome}"

TEXT = SimpleNamespace(ending=".txt", render=render)
"""


def test_a_plugin_adds_a_format(trace, capsys, register_plugin):
    register_plugin({"exporters": "text = explora_tides:TEXT"}, TEXT_EXPORTER)
    assert main(["export", str(trace), "--to", "text"]) == 0
    assert trace.with_suffix(".txt").read_text() == "my run.ipynb: solved"
    assert main(["export", str(trace), "--to", "text", "--out", str(trace.with_name("page.html"))]) == 0
    assert "text" not in capsys.readouterr().err


def test_a_format_that_cannot_be_loaded_is_named(trace, capsys, register_plugin):
    register_plugin({"exporters": "text = explora_tides:TEXT"}, "import missing_tides")
    assert main(["export", str(trace), "--to", "text"]) == 2
    assert "The exporter 'text' of explora-tides 0.1 cannot be loaded" in capsys.readouterr().err

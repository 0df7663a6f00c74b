"""A trace is executed again: what still holds, what varies by itself, what was changed in the file or in a library."""

import importlib.util
import json
import os
import signal
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import anyio
import nbformat
import psutil
import pytest

from exploracoder_jupyter.cli import main
from exploracoder_jupyter.core.errors import MissingRequirement, UsageError
from exploracoder_jupyter.runs.trace_check import CheckRequest, check_trace
from exploracoder_jupyter.trace import load
from tests.integration import command_line
from tests.integration.traces import VARYING, explore, rewrite
from tests.json_output import json_result
from tests.patience import patience, wait_until
from tests.unit.trace.views import facts, pack, unpack

CHECKS = int(os.environ.get("EXPLORA_CHECKS", "1"))
"""How often a trace that varies is checked; more for whoever changes what is compared."""
COMMAND = [sys.executable, "-m", "exploracoder_jupyter.cli", "check"]
TOY = """
def double(x):
    return 2 * x

def half(x):
    return x / 2
"""


def checked(path, **options):
    """The report of a check."""

    async def check():
        return await check_trace(CheckRequest(path, **options), lambda what, done, total: None)

    return anyio.run(check)


def results(report):
    return {row.id: row.result for row in report.rows}


def unlike(report):
    """The results that say that the trace is another one."""
    return {row.id: row.result for row in report.rows if not row.same}


def why(report, id_):
    return next(row.why for row in report.rows if row.id == id_)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Makes traces, once a module."""
    with pytest.MonkeyPatch.context() as patch:
        yield lambda name, *arguments, **options: explore(
            tmp_path_factory.mktemp(name), *arguments, monkeypatch=patch, **options
        )


@pytest.fixture(scope="module")
def varying(made):
    return made("varying", VARYING, "import random\nprint(random.random())")


@pytest.fixture(scope="module")
def steady(made):
    """A trace of two subtasks, with one that fails, files, a check and a generated input."""
    subtasks = {
        "write": [
            "print(missing)",
            "from pathlib import Path\nplace = Path('made.txt')\nplace.write_text('3\\n4')\nprint(place.resolve())",
            "raise ValueError(41)",
        ],
        "read": ["total = sum(map(int, place.read_text().split()))\nprint(total)\nimport os\nprint(os.getcwd())"],
    }
    inputs = [{"title": "another", "before": "given = 5", "after": "print(total + given)"}]
    return made("steady", subtasks, "total = 7\nprint(total)", check="assert total == 7", tests=inputs)


@pytest.fixture(scope="module")
def plain(made):
    return made("plain", {"a": ["print('ok')"]}, "print(1)")


def copied(trace, folder):
    target = folder / "explorations" / "trace.ipynb"
    target.parent.mkdir()
    target.write_bytes(trace.read_bytes())
    return target


def with_records(trace, records):
    notebook = json.loads(trace.read_text())
    facts(notebook)["records"] = pack(map(json.dumps, records))
    trace.write_text(json.dumps(notebook))
    return trace


@pytest.fixture
def copy(steady, tmp_path):
    """A copy of the steady trace, in a folder of its own."""
    return copied(steady, tmp_path)


@pytest.fixture
def live(plain, tmp_path):
    """A trace of a run that began in a live kernel with a variable `df`."""
    trace = copied(plain, tmp_path)
    records = unpack(facts(json.loads(trace.read_text()))["records"])
    for old, new in (
        ("fresh: there is no live kernel", "live: every variable is seen as it is"),
        ("'ok'", "'ok', df"),
        ('"ok\\n', '"ok 3\\n'),
    ):
        trace.write_text(trace.read_text().replace(old, new))
        records = json.loads(json.dumps(records).replace(old, new))
    return with_records(trace, records)


def test_what_varies_by_itself_is_never_blamed(varying):
    for _ in range(CHECKS):
        report = checked(varying)
        assert {row.id: row.why for row in report.rows if not row.same} == {}
    assert "varies" in results(report).values()


def test_exactly_the_cells_and_records_that_were_edited_in_the_file_are_named(copy):
    rewrite(copy, lambda cell: cell.outputs[0].update(text="8\n"), candidate="1.2")
    rewrite(copy, lambda cell: cell.update(source=cell.source.replace("41", "42")), candidate="1.3")
    rewrite(copy, lambda cell: cell.update(source=cell.source.replace("olved", "erfect")), role="summary")
    notebook = nbformat.read(copy, 4)
    notebook.cells.append(nbformat.v4.new_code_cell("1 / 0"))  # somebody's own, and passed over
    nbformat.write(notebook, copy)
    records = unpack(facts(json.loads(copy.read_text()))["records"])
    for record in records:
        if record["event"].get("candidate") == "2.1" and "observation" in record["event"]:
            record["event"]["observation"]["outputs"][0]["text"] = "9\n"
    with_records(copy, records)
    report = checked(copy)
    assert unlike(report) == dict.fromkeys(["1.2", "1.3", "2.1", "summary"], "edited")
    assert why(report, "2.1") == ("its record was edited: its re-execution gives what the cell shows: stdout: 9 -> 7")
    assert [why(report, id_).split(":")[0] for id_ in ("1.2", "1.3", "summary")] == [
        "its outputs were edited",
        "its code was edited",
        "its text was edited",
    ]


@pytest.fixture
def toy(tmp_path, monkeypatch):
    """A library that can be changed, and how."""
    site = tmp_path / "site"

    def write(version, code):
        (site / "toylib").mkdir(parents=True, exist_ok=True)
        (site / "toylib" / "__init__.py").write_text(f"__version__ = {version!r}\n{code}")
        for old in site.glob("*.dist-info"):
            (old / "METADATA").unlink()
            old.rmdir()
        info = site / f"toylib-{version}.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: toylib\nVersion: {version}\n")

    write("1.0", TOY)
    monkeypatch.setenv("PYTHONPATH", str(site))
    return write


def test_a_library_that_behaves_differently_breaks_or_is_gone_is_named(toy, tmp_path, monkeypatch):
    subtasks = {
        "double": ["import toylib\ny = toylib.double(21)\nprint(y)", "import toylib\nprint('half', toylib.half(3))"],
        "again": ["print('fixed')"],
    }
    trace = explore(tmp_path, subtasks, "print(1)", library="toylib", monkeypatch=monkeypatch)
    toy("0.9", TOY.replace("2 * x", "x + x + 1"))
    report = checked(trace)
    assert unlike(report) == {"1.1": "changed"}
    assert why(report, "1.1") == "stdout: 42 -> 43"
    assert report.calls == ("toylib.double",)
    assert report.differs[0] == "toylib 1.0 -> 0.9"
    assert "toylib.double" in report.sentence
    toy("1.0", f"{TOY}import os\ndouble = half = lambda x: os._exit(3)\n")
    assert unlike(checked(trace)) == {"1.1": "changed", "1.2": "changed", "2.1": "not run"}
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    with pytest.raises(MissingRequirement, match=r"toylib.*--env"):
        checked(trace)


def test_a_library_that_lay_beside_the_notebook_is_looked_for_there(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mylib.py").write_text("def double(x):\n    return 2 * x\n")
    trace = explore(tmp_path, {"a": ["import mylib"]}, "print(1)", library="mylib", monkeypatch=monkeypatch)
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "mylib.py").rename(tmp_path / "elsewhere" / "mylib.py")
    with pytest.raises(MissingRequirement, match=r"mylib.*--workdir"):
        checked(trace)
    assert unlike(checked(trace, workdir=tmp_path / "elsewhere")) == {}


def test_variables_of_a_kernel_that_is_gone_are_asked_for_and_come_from_code_run_first(live, tmp_path):
    with pytest.raises(UsageError, match=r"missing now: df.*--before"):
        checked(live)
    before = tmp_path / "before.py"
    before.write_text("df = 3\n")
    assert checked(live, before=before).same
    notebook = nbformat.read(live, 4)
    notebook.cells.insert(0, nbformat.v4.new_code_cell("df = 1 / 0"))
    nbformat.write(notebook, live)
    with pytest.raises(UsageError, match="ZeroDivisionError"):
        checked(live)


RICH = {
    "pandas": "import pandas as pd\npd.DataFrame({'a': [1.5, 2.25], 'b': ['x', 'y']})",
    "matplotlib": "import matplotlib.pyplot as plt\nplt.plot([1, 2, 3])\nplt.title('t')\nplt.show()",
    "plotly": "import plotly.express as px\npx.line(x=[1, 2, 3], y=[1, 4, 9])",
    "sklearn": "from sklearn.linear_model import LinearRegression\nLinearRegression().fit([[1], [2]], [1, 2])",
    "ipywidgets": "import ipywidgets\nipywidgets.IntSlider()",
    "IPython": "from IPython.display import HTML, Latex, display\ndisplay(HTML('<b>x</b>'), Latex('$x$'))",
    "logging": "import logging, warnings\nwarnings.warn('old')\nlogging.warning('odd')",
    "timeit": "%timeit -n 5 -r 1 sum(range(100))",  # the times of two runs would be compared
    "asyncio": "import asyncio\nawait asyncio.sleep(0.01)\nprint(3)",
}


def test_what_libraries_show_is_the_same_again(tmp_path, monkeypatch):
    codes = [code for module, code in RICH.items() if importlib.util.find_spec(module)]
    report = checked(explore(tmp_path, {"a": codes}, "print(1)", monkeypatch=monkeypatch))
    assert {row.id: (row.result, row.why) for row in report.rows if row.result != "same"} == {}


def test_a_trace_whose_branches_repeat_is_checked_by_repeating(made):
    subtasks = {"random": VARYING["random"][:2], "what follows": VARYING["what follows"]}
    report = checked(made("repeated", subtasks, "print(1)", branching="rerun"))
    assert report.now["branching"] == "rerun"
    assert unlike(report) == {}


def test_how_a_candidate_ended_is_compared_whatever_it_was(tmp_path, monkeypatch):
    codes = ["import os\nos._exit(1)", "while True: pass", "raise ValueError('no')", "print('x' * 5_000_000)"]
    trace = explore(tmp_path, {"a": codes}, "print(1)", monkeypatch=monkeypatch, timeout=patience(1.0), output_kb=100)
    events = [record.event for record in load(trace) if record.event.kind == "candidate_observed"]
    recorded = {event.candidate: event.observation.status for event in events}
    assert [recorded[f"1.{n}"] for n in (1, 2, 3)] == ["died", "timeout", "error"]
    assert unlike(checked(trace)) == {}


def wheel(folder, version, code):
    """A wheel of the library."""
    info = f"toylib-{version}.dist-info"
    files = {
        "toylib/__init__.py": code,
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: toylib\nVersion: {version}\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    record = "".join(f"{name},,\n" for name in (*files, f"{info}/RECORD"))
    with zipfile.ZipFile(folder / f"toylib-{version}-py3-none-any.whl", "w") as archive:
        for name, text in {**files, f"{info}/RECORD": record}.items():
            archive.writestr(name, text)


def index_is_there():
    """Whether pip can reach its index."""
    asked = [sys.executable, "-m", "pip", "index", "versions", "ipykernel"]
    return subprocess.run(asked, capture_output=True, check=False).returncode == 0


def test_an_environment_is_built_with_another_version_and_kept(toy, tmp_path, monkeypatch):
    if not index_is_there():
        pytest.skip("pip has no index to install ipykernel from")
    subtasks = {"double": ["import toylib\nprint(toylib.double(21))", "import toylib\nprint(toylib.half(3), 'half')"]}
    trace = explore(tmp_path, subtasks, "print(1)", library="toylib", monkeypatch=monkeypatch)
    wheels = tmp_path / "wheels"
    wheels.mkdir()
    wheel(wheels, "0.9", TOY.replace("2 * x", "x + x + 1"))
    toy("3.0", "raise ImportError('not this one')")
    monkeypatch.setenv("PIP_FIND_LINKS", str(wheels))
    report = checked(trace, overrides=("toylib==0.9",))
    assert unlike(report) == {"1.1": "changed"}
    assert report.calls == ("toylib.double",)
    assert report.differs[0] == "toylib 1.0 -> 0.9"
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    assert unlike(checked(trace, overrides=("toylib==0.9",))) == {"1.1": "changed"}
    with pytest.raises(MissingRequirement, match=r"cannot be built: .*toylib==0\.8"):
        checked(trace, overrides=("toylib==0.8",))
    [folder] = Path(os.environ["XDG_CACHE_HOME"]).glob("*/environments")
    assert len(list(folder.iterdir())) == 1


def test_the_command_reports_by_its_status_and_in_json_and_leaves_nothing(copy):
    done = subprocess.run([*COMMAND, str(copy), "--json"], capture_output=True, text=True, timeout=patience(240))
    assert done.returncode == 0, done.stderr
    assert done.stderr.splitlines()[0] == "Starting kernels"
    assert "Executing (6 of 6)" in done.stderr
    answer = json_result("check", done.stdout)
    assert (answer["same"], answer["trace"]) == (True, str(copy))
    assert answer["cells"][0] == {"id": "1.1", "same": True, "result": "same", "why": ""}
    assert [cell["id"] for cell in answer["cells"]] == ["1.1", "1.2", "1.3", "2.1", "s1", "s1-t1"]
    assert answer["environment"]["differs"] == []
    assert answer["environment"]["recorded"]["python"] == answer["environment"]["now"]["python"]
    assert not list(copy.parent.parent.glob("made.txt"))


def test_several_are_checked_one_after_the_other_and_the_worst_counts(copy):
    selected = [record.event.selection.candidate for record in load(copy) if record.event.kind == "candidate_selected"]
    edited = copy.with_name("edited.ipynb")
    edited.write_bytes(copy.read_bytes())
    rewrite(edited, lambda cell: cell.outputs[0].update(text="8\n"), candidate="2.1")
    done = command_line.explora("check", "nowhere.ipynb", copy, edited, "--selected", "--json", folder=copy.parent)
    assert done.returncode == 2, done.stderr
    missing, same, other = [json.loads(line) for line in done.stdout.splitlines()]
    assert missing["trace"] == "nowhere.ipynb" and "no file" in missing["error"]
    assert (same["trace"], same["same"], [cell["id"] for cell in same["cells"]]) == (str(copy), True, selected)
    assert [cell["id"] for cell in other["cells"] if cell["result"] == "edited"] == ["2.1"]


def test_the_notebook_that_explored_leads_to_its_trace_and_makes_its_variables(live, tmp_path):
    cells = ["%load_ext exploracoder_jupyter\ndf = 3", "%%explora statistics --out explorations/trace.ipynb\nDo it."]
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    nbformat.write(notebook, tmp_path / "mine.ipynb")
    done = command_line.explora("check", tmp_path / "mine.ipynb", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert f"{tmp_path / 'mine.ipynb'} contains an exploration; checking its trace, {live}." in done.stdout


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["notes.ipynb"], "not the trace of a run"),
        (["asked.ipynb"], "traces were not found"),
        (["explorations/trace.ipynb", "--before", "nowhere.py"], "--before"),
        (["explorations/trace.ipynb", "--tolerance", "-1"], "--tolerance"),
        (["explorations/trace.ipynb", "--with", "x>2"], "NAME==VERSION"),
        (["explorations/trace.ipynb", "--kernel", "none-such"], "none-such"),
        (["explorations/trace.ipynb", "--workdir", "none-such"], "none-such"),
    ],
)
def test_what_cannot_be_checked_is_reported_in_one_sentence(copy, arguments, reason, monkeypatch, capsys):
    folder = copy.parent.parent
    monkeypatch.chdir(folder)
    nbformat.write(nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("1")]), folder / "notes.ipynb")
    call = nbformat.v4.new_code_cell("%%explora statistics --out explorations/gone.ipynb\nDo it.")
    nbformat.write(nbformat.v4.new_notebook(cells=[call]), folder / "asked.ipynb")
    assert main(["check", *arguments]) == 2
    error = capsys.readouterr().err
    [sentence] = [line for line in error.splitlines() if line.startswith("jupyter explora: ")]
    assert reason in sentence
    assert "Traceback" not in error


def _is_alive(process):
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def test_an_interrupted_check_says_so_and_leaves_nothing(tmp_path, monkeypatch):
    code = "import time\ntime.sleep(2)\nprint(1)"
    trace = explore(tmp_path, {"a": [code, f"{code}\n2"]}, "print(1)", monkeypatch=monkeypatch)
    running = subprocess.Popen([*COMMAND, str(trace)], stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    started = psutil.Process(running.pid)
    while len(children := started.children(recursive=True)) < 2:
        time.sleep(0.05)
    running.send_signal(signal.SIGINT)
    out, err = running.communicate(timeout=patience(60))
    assert running.returncode == 2, err
    assert "interrupted" in err
    assert "Traceback" not in err
    assert out == ""
    wait_until(lambda: not any(map(_is_alive, children)), 5, "the end of its processes")
    assert not list(Path(tmp_path).glob("**/xplora-*"))

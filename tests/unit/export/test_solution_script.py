"""A run's solution as a script: what it declares, what it says of itself, and that it runs."""

import ast
import io
import re
import runpy
import tomllib
import traceback
from contextlib import chdir, redirect_stderr, redirect_stdout
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import pytest

from exploracoder_jupyter.core.errors import UsageError
from exploracoder_jupyter.core.events import CandidateObserved, CandidateProposed, LibraryRead, RunFinished, RunStarted
from exploracoder_jupyter.core.types import Change, Introduction, LibraryInfo, Observation, Output
from exploracoder_jupyter.export.export_formats import export_run
from tests.unit.factories import complete_events, finished, recorded, started, stream

BLOCK = re.compile(r"(?m)^# /// (?P<type>[a-zA-Z0-9-]+)$\s(?P<content>(^#(| .*)$\s)+)^# ///$")
"""The expression that PEP 723 gives."""
VALUE: Output = {"output_type": "execute_result", "execution_count": 1, "data": {"text/plain": "3"}, "metadata": {}}


def script(code, *, outputs=(), changes=(), files=(), trace=Path("run.ipynb"), pinned=True, **events):
    """The script of a run with this solution; `begun` and `read` replace the events of their kind."""
    begun = events.get("begun", started())
    read = events.get("read", LibraryRead((LibraryInfo("networkx", "networkx", "3.6.1"),), 1, Introduction("")))
    seen = Observation("ok", tuple(outputs), changes=tuple(changes), files=tuple(files))

    def changed(event):
        match event:
            case RunStarted():
                return begun
            case LibraryRead():
                return read
            case CandidateProposed(candidate=candidate) if candidate.id == "s2":
                return CandidateProposed(replace(candidate, code=code))
            case CandidateObserved(candidate="s2"):
                return CandidateObserved("s2", seen)
            case RunFinished():
                return replace(event, solution=replace(event.solution, code=code))
        return event

    return export_run(recorded([changed(event) for event in complete_events()]), "script", trace, pinned=pinned)


def asked(**changes):
    """The beginning of a run with another task."""
    begun = started()
    return replace(begun, task=replace(begun.task, **changes))


def installed(*packages, unindexed=()):
    begun = started()
    return replace(begun, environment=replace(begun.environment, packages=packages, unindexed=unindexed))


def metadata(text):
    [found] = [match for match in BLOCK.finditer(text) if match["type"] == "script"]
    lines = found["content"].splitlines(keepends=True)
    return tomllib.loads("".join(line[2:] if line.startswith("# ") else line[1:] for line in lines))


class Ended(NamedTuple):
    returncode: int
    stdout: str
    stderr: str


def run(text, folder, name="__main__"):
    """What the script prints, and how it ends, run in this process as a program or as a module of another name."""
    path = folder / "made.py"
    path.write_text(text, encoding="utf-8")
    out, err, status = io.StringIO(), io.StringIO(), 0
    with redirect_stdout(out), redirect_stderr(err), chdir(folder):
        try:
            runpy.run_path(str(path), run_name=name)
        except SystemExit as end:
            status = 1 if isinstance(end.code, str) else end.code or 0
            err.write(f"{end.code}\n" if isinstance(end.code, str) else "")
        except Exception:
            status = 1
            traceback.print_exc()
    return Ended(status, out.getvalue(), err.getvalue())


def test_it_declares_imports_at_recorded_versions():
    text = script("import json\nimport networkx as nx\nfrom numpy.linalg import norm")
    assert metadata(text) == {"requires-python": ">=3.11", "dependencies": ["networkx==3.6.1", "numpy==2.3.0"]}


def test_installed_but_unused_packages_are_only_offered():
    text = script("import networkx")
    assert metadata(text)["dependencies"] == ["networkx==3.6.1"]
    assert '#     # "numpy==2.3.0",' in text
    assert metadata(script("import networkx", pinned=False))["dependencies"] == ["networkx"]


@pytest.mark.parametrize(
    ("code", "packages", "wanted"),
    [
        ("import yaml", ("PyYAML==6.0.3",), ["pyyaml==6.0.3"]),
        ("def f():\n    from PIL import Image", ("pillow==12.0.0",), ["pillow==12.0.0"]),
        ("import cv2", ("opencv_python_headless==4.12.0.88",), ["opencv-python-headless==4.12.0.88"]),
        ("import torch", ("torch==2.9.0+cu130",), ["torch==2.9.0"]),
        ("from . import near\nimport os, sys", (), []),
    ],
    ids=["by the metadata here", "within a function", "by a known name", "a local version", "nothing"],
)
def test_modules_are_found_by_recorded_distributions(code, packages, wanted):
    assert metadata(script(code, begun=installed(*packages)))["dependencies"] == wanted


def test_a_library_keeps_the_runs_name():
    read = LibraryRead((LibraryInfo("griffe", "griffelib", "2.4.1"),), 1, Introduction(""))
    assert metadata(script("import griffe", read=read))["dependencies"] == ["griffelib==2.4.1"]


def test_a_module_without_a_recorded_package_is_reported():
    text = script("import my_helpers")
    assert metadata(text)["dependencies"] == []
    assert "the imported my_helpers" in ast.get_docstring(ast.parse(text))


def test_a_library_without_distribution_is_on_no_index(tmp_path):
    read = LibraryRead((LibraryInfo("tidebook", "tidebook", ""),), 1, Introduction(""))
    text = script("import tidebook\nprint(tidebook.high)", read=read)
    assert metadata(text)["dependencies"] == []
    done = run(text, tmp_path)
    message = "These modules are missing; install them, or copy them next to this script: tidebook.\n"
    assert (done.returncode, done.stdout, done.stderr) == (1, "", message)


def test_a_package_from_no_index_is_not_requested(tmp_path):
    begun = installed("networkx==3.6.1", "our-tides==0.1", unindexed=("Our_Tides",))
    read = LibraryRead((LibraryInfo("our_tides", "our-tides", "0.1"),), 1, Introduction(""))
    text = script("import networkx\nimport our_tides", begun=begun, read=read)
    assert metadata(text)["dependencies"] == ["networkx==3.6.1"]
    assert "our-tides" not in text
    assert "the imported our_tides" in ast.get_docstring(ast.parse(text))
    assert run(text, tmp_path).stderr.endswith("copy them next to this script: our_tides.\n")


def test_what_may_be_missing_is_not_asked_for(tmp_path):
    code = "import __main__\ntry:\n    import no_such_module\nexcept ImportError:\n    print('without')"
    assert run(script(code), tmp_path).stdout == "without\n"


def test_package_metadata_never_becomes_code():
    hostile = 'x==1"\nprint("owned")\n#'
    read = LibraryRead((LibraryInfo("evil", 'evil"\nprint("owned")\n#', '1"\nprint("owned")'),), 1, Introduction(""))
    begun = installed(hostile)
    begun = replace(begun, environment=replace(begun.environment, python='3.11"\nprint("owned")'), model='"""\nowned')
    text = script("import evil", read=read, begun=begun)
    assert metadata(text) == {"requires-python": ">=3.11", "dependencies": []}
    assert [type(node) for node in ast.parse(text).body] == [ast.Expr, ast.ImportFrom, ast.If, ast.Import]


@pytest.mark.parametrize(
    "task", ['say """hi"""', "a \\ b \\n c", 'ends with "', "tab\tand\x00nul", "日本\u3000語\u00a0!", "x\n  y\n\nz"]
)
def test_any_task_is_the_docstring(task, tmp_path):
    text = script("print('done')", begun=asked(text=task))
    wanted = task.expandtabs().replace("\x00", "?").replace("\u3000", " ").replace("\u00a0", " ")
    assert ast.get_docstring(ast.parse(text), clean=False).startswith(wanted)
    assert run(text, tmp_path).stdout == "done\n"


def test_it_says_which_run_it_is_from():
    docstring = ast.get_docstring(ast.parse(script("print(1)", trace=Path("explorations/mine.ipynb"))))
    assert "run 0123abcd in mine.ipynb" in " ".join(docstring.split())
    assert "Solved: The check passed." in " ".join(docstring.split())


def test_the_last_shown_value_is_printed(tmp_path):
    assert run(script("a = 1\n('é', a + 2)[1]  # three", outputs=[VALUE]), tmp_path).stdout == "3\n"
    assert run(script("a = (1 +\n  2); (\n a\n)", outputs=[VALUE]), tmp_path).stdout == "3\n"
    assert run(script("a = 3\na", outputs=[stream("x")]), tmp_path).stdout == ""
    assert run(script("a = 3\na, 'é'", outputs=[VALUE]), tmp_path).stdout == "(3, 'é')\n"


def test_magics_are_left_out_and_display_prints(tmp_path):
    code = "from __future__ import annotations\n%pylab\n!pip install x\nif True:\n    %time 1\n    display('a')"
    done = run(script(code), tmp_path)
    assert (done.stdout, done.stderr) == ("a\n", "")
    assert run(script("%matplotlib inline\ntext = '''\n%d of\n!x'''\nprint(text)"), tmp_path).stdout == "\n%d of\n!x\n"
    assert run(script("%%time\n%time a = 3\nprint(a)"), tmp_path).stdout == "3\n"


def test_a_docstring_of_its_own_is_harmless(tmp_path):
    code = '"""Mine.\n\nLong."""\nfrom __future__ import annotations\nimport sys\ndisplay(sys.path and 1)'
    assert run(script(code, begun=asked(uses=("rows",))), tmp_path).stdout == "1\n"


@pytest.mark.parametrize("end", ["\u2028", "\x0c", "\x85", "\r\n"])
def test_lines_end_where_python_says(end, tmp_path):
    code = f"text = 'a{end}b'\ndisplay(len(text))" if end != "\r\n" else "text = 'abc'\r\ndisplay(len(text))\r\n"
    assert run(script(code), tmp_path).stdout == "3\n"


@pytest.mark.parametrize("code", ["%%bash\nls", "files = !ls", "await work()", "get_ipython().system('ls')", "print?"])
def test_what_needs_ipython_is_refused_in_a_sentence(code):
    with pytest.raises(UsageError, match="IPython") as caught:
        script(code)
    assert caught.value.remedy == "Export it with --to notebook."


def test_there_is_one_block_of_metadata():
    block = '# /// script\n# dependencies = ["old"]\n# ///\n'
    text = script(f"{block}import networkx", begun=asked(text=f"Read this:\n{block}"))
    assert metadata(text)["dependencies"] == ["networkx==3.6.1"]
    assert 'dependencies = ["old"]' in ast.get_docstring(ast.parse(text))


def test_an_unsolved_run_is_refused_with_the_reason():
    events = [event for event in complete_events() if not isinstance(event, RunFinished)]
    with pytest.raises(UsageError, match=r"no solution .* cut off"):
        export_run(recorded(events), "script", Path("run.ipynb"))


def test_code_of_a_stopped_run_says_never_run():
    events = [event for event in complete_events() if not isinstance(event, RunFinished)]
    joined = finished("stopped", "print('joined')", candidate="", reason="By the user.")
    text = export_run(recorded([*events, joined]), "script", Path("run.ipynb"))
    assert "it was not run as a whole" in ast.get_docstring(ast.parse(text))


def test_variables_of_the_notebook_are_asked_for(tmp_path):
    code = "from __future__ import annotations\nprint('begun')\nrows = rows + [total(df)]\nprint(len(rows))"
    text = script(code, begun=asked(uses=("rows", "other")))
    assert "explored notebook: df, rows, total." in ast.get_docstring(ast.parse(text))
    done = run(text, tmp_path)
    assert done.returncode == 1
    assert (done.stdout, done.stderr) == ("", "First define df, rows, total, which the explored notebook had.\n")
    whole = text.replace("# Define df, rows, total here.", "df, rows, total = [1], [], sum")
    assert run(whole, tmp_path).stdout == "begun\n1\n"


def test_a_script_lists_libraries_of_its_variables():
    assert metadata(script("print(G.nodes)"))["dependencies"] == ["networkx==3.6.1"]
    for code in ("def f():\n    return g()\ndef g():\n    return 1\nprint(f())", "from math import *\nprint(sqrt(4))"):
        assert "SystemExit" not in script(code)


@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")
def test_files_are_looked_for_before_anything_runs(tmp_path):
    (tmp_path / "data.csv").write_text("1,2")
    (tmp_path / "out.txt").write_text("of an earlier run")
    code = "print(open('data.csv').read(), open('out.txt', 'w').write('x'), 'no-such.csv', '/etc/hosts.txt')"
    text = script(code, files=["out.txt"], trace=tmp_path / "explorations" / "run.ipynb")
    assert "It reads files: data.csv." in ast.get_docstring(ast.parse(text))
    assert run(text, tmp_path).stdout.startswith("1,2 1")
    (tmp_path / "data.csv").unlink()
    done = run(text, tmp_path)
    assert (done.stdout, done.stderr) == ("", "Not in the folder where this runs: data.csv.\n")


def test_a_redacted_home_folder_is_explained():
    docstring = ast.get_docstring(ast.parse(script("print(open('/home/mariachen/data.csv').read())")))
    assert "Replace ~" in " ".join(docstring.split()) and "~/data.csv" in docstring
    code = "from os.path import expanduser\nprint(open(expanduser('~/data.csv')).read())"
    assert "in place of" not in ast.get_docstring(ast.parse(script(code)))


def test_the_setup_runs_before_the_solution(tmp_path):
    begun = asked(setup="numbers = [1, 2]\nother = 3\n")
    text = script("from __future__ import annotations\nprint(sum(numbers) + other)", begun=begun)
    assert run(text, tmp_path) == Ended(0, "6\n", "")


CHECKS = {
    "assertions": "assert f(1) == 2\nassert f(2) != 2",
    "a dropped truth": "f(1) == 2",
    "pairs": "1 -> 2\n2 -> 3",
    "doctests": ">>> f(1)\n2",
    "test functions": "def test_one():\n    assert f(1) == 2",
    "a text of several lines": "assert f(1) == 2\nwanted = '''a\n  b'''\nassert len(wanted) == 5",
}


@pytest.mark.parametrize("check", CHECKS.values(), ids=CHECKS)
def test_the_check_runs_with_the_script_only(check, tmp_path):
    begun = asked(check=check, solution_name="f")
    text = script("def f(x):\n    return x + 1", begun=begun)
    assert run(text, tmp_path).stdout == "The check passed.\n"
    assert run(text.replace("x + 1", "x + 2"), tmp_path).returncode == 1
    assert run(text, tmp_path, name="made") == Ended(0, "", "")


@pytest.mark.parametrize(
    "check", ["from __future__ import annotations\nassert result == 1", f"assert result == {'+'.join('1' * 800)}"]
)
def test_an_unplaceable_check_is_left_to_the_package(check):
    text = script("result = 1", begun=asked(check=check))
    compile(text, "script", "exec")
    assert "jupyter explora check run.ipynb" in " ".join(ast.get_docstring(ast.parse(text)).split())


def test_what_only_the_check_reads_is_asked_for():
    text = script("result = 1", begun=asked(check="assert result == golden", uses=("golden",)))
    assert "# Define golden here." in text


def test_a_check_of_arrays_stays_with_the_package():
    table = Change("result", "new", "pandas.core.frame.DataFrame")
    begun = asked(check="assert result == wanted", uses=("wanted",))
    text = script("import pandas\nresult = pandas.DataFrame()", changes=[table], begun=begun)
    assert "__main__" not in text
    assert "run it with `jupyter explora check run.ipynb`" in " ".join(ast.get_docstring(ast.parse(text)).split())
    with_nan = Change("result", "new", "list", summary="list: 1 item: float\n  [nan]")
    assert "__main__" not in script("result = [float('nan')]", changes=[with_nan], begun=begun)
    kept = script("result = 1", changes=[table], begun=asked(check="assert result.shape == (1, 2)"))
    assert "__main__" in kept


def test_figures_that_nobody_shows_are_mentioned():
    figure: Output = {"output_type": "display_data", "data": {"image/png": "iVBORw0KGgo="}, "metadata": {}}
    assert "plt.show()" in script("import matplotlib.pyplot as plt", outputs=[figure])
    assert "plt.show()`" not in script("import matplotlib.pyplot as plt\nplt.savefig('a.png')", outputs=[figure])


def test_secrets_and_homes_stay_out():
    text = script("key = 'sk-abcdefghijklmnopqrstuvwxyz0123456789'\nprint('/home/mariachen/data.csv')")
    assert "sk-abc" not in text
    assert "mariachen" not in text

"""The magics in real kernels, with an engine that speaks the protocol and explores nothing."""

import copy
import json
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import nbformat
import psutil
import pytest
from jupyter_client.manager import start_new_kernel

from exploracoder_jupyter.trace import render
from tests.integration.cells import cell_request
from tests.patience import is_over, patience, wait_until
from tests.unit.factories import complete_run

FAKE = Path(__file__).with_name("fake_engine.py")


class Kernel:
    """A kernel and what a front end would have seen of it."""

    def __init__(self, manager, client, folder):
        self.manager, self.client, self.folder = manager, client, folder
        self.displays = {}

    def load(self):
        reply, output = self.run("%reload_ext exploracoder_jupyter")
        assert (reply["status"], output) == ("ok", "")
        self.run(f"%config ExploraMagics.engine_python = {str(self.folder / 'engine')!r}\nmine = {{'a': [1, 2]}}")

    def send(self, code, cell=None, asks=False):
        message = cell_request(self.client.session, code, {"cellId": cell} if cell else {})
        message["content"]["allow_stdin"] = asks
        self.client.shell_channel.send(message)
        return message["header"]["msg_id"]

    def reply(self, sent):
        while True:
            reply = self.client.get_shell_msg(timeout=patience(30))
            if reply["parent_header"].get("msg_id") == sent:
                return reply["content"]

    def run(self, code, cell=None, asks=False):
        """The reply and the text on the streams."""
        sent = self.send(code, cell, asks)
        content = self.reply(sent)
        streams = ""
        while True:
            message = self._take(timeout=patience(30))
            if message["parent_header"].get("msg_id") != sent:
                continue
            if message["msg_type"] == "stream":
                streams += message["content"]["text"]
            if message["msg_type"] == "status" and message["content"]["execution_state"] == "idle":
                return content, streams

    def _take(self, timeout):
        message = self.client.get_iopub_msg(timeout=timeout)
        if message["msg_type"] in ("display_data", "update_display_data"):
            display_id = message["content"].get("transient", {}).get("display_id")
            self.displays[display_id] = message["content"]["data"]
        return message

    def shows(self, wanted, seconds=20):
        """Wait until a display shows this text, and return the display's data."""
        began = time.monotonic()
        while not is_over(began, seconds):
            found = [data for data in self.displays.values() if wanted in data.get("text/plain", "")]
            if found:
                return found[0]
            try:
                self._take(timeout=0.2)
            except Exception as error:
                if type(error).__name__ != "Empty":
                    raise
        raise AssertionError(f"{wanted!r} is not in {self.displays}")

    def order(self, seconds=20):
        """What the engine was sent; waits for it."""
        path = self.folder / "order.json"
        return wait_until(lambda: _written(path), seconds, "the engine to start")

    def outputs(self, code, cell):
        """What a front end would put below the cell."""
        sent = self.send(code, cell)
        assert self.reply(sent)["status"] == "ok"
        found = []
        while True:
            message = self._take(timeout=patience(30))
            if message["parent_header"].get("msg_id") == sent:
                if message["msg_type"] == "status" and message["content"]["execution_state"] == "idle":
                    return found
                if message["msg_type"] not in ("status", "execute_input"):
                    found.append(nbformat.v4.output_from_msg(message))


@contextmanager
def kernel_in(folder):
    engine = folder / "engine"
    real = f'case "$*" in *exploracoder_jupyter.cli*) exec "{sys.executable}" "$@";; esac'
    engine.write_text(f'#!/bin/sh\n{real}\nexec "{sys.executable}" -W error "{FAKE}"\n')
    engine.chmod(0o700)
    manager, client = start_new_kernel(kernel_name="python3", cwd=str(folder))
    kernel = Kernel(manager, client, folder)
    try:
        yield kernel
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)
        manager.cleanup_resources()


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    with kernel_in(tmp_path_factory.mktemp("notebook")) as kernel:
        yield kernel


@pytest.fixture
def kernel(shared):
    """One kernel for all, loaded afresh for each."""
    return fresh(shared)


def fresh(kernel):
    for name in ("order.json", "ended", "forked.json", "asked", "busy"):
        (kernel.folder / name).unlink(missing_ok=True)
    kernel.load()
    kernel.displays.clear()
    return kernel


FORKABLE = """
import sys, types
import exploracoder_jupyter.kernel_agent.forking as forking
from pathlib import Path

def fork(shell, address):
    Path("asked").write_text(f"{shell is get_ipython()} {address} {shell.user_ns.get('x')}")
    if refusal:
        raise OSError(refusal)

def find(namespace):
    return [{"kind": "warn", "library": "", "what": f"{'mine' in namespace} threads"}]

refusal = ""
kernel_fork = types.SimpleNamespace(fork=fork, track_context=lambda shell: None)
forking.kernel_fork = sys.modules[forking.__name__ + ".kernel_fork"] = kernel_fork
api_key = "abcdefghijklmnop"
hazards = types.SimpleNamespace(find_hazards=find)
forking.fork_hazards = sys.modules[forking.__name__ + ".fork_hazards"] = hazards
"""


@pytest.fixture(scope="module")
def forkable_shared(tmp_path_factory):
    with kernel_in(tmp_path_factory.mktemp("forkable")) as kernel:
        assert kernel.run(FORKABLE)[0]["status"] == "ok"
        yield kernel


@pytest.fixture
def forkable(forkable_shared):
    """A kernel that only notes that it is asked to fork."""
    forkable_shared.run("refusal = ''")
    return fresh(forkable_shared)


@pytest.fixture
def trace_kernel(tmp_path, monkeypatch):
    """The kernel of a trace that Jupyter's server opened."""
    path = tmp_path / "trace.ipynb"
    nbformat.write(render(complete_run()), path)
    monkeypatch.setenv("JPY_SESSION_NAME", "trace.ipynb")
    with kernel_in(tmp_path) as kernel:
        kernel.load()
        yield kernel


@pytest.fixture
def own_kernel(tmp_path):
    with kernel_in(tmp_path) as kernel:
        kernel.load()
        yield kernel


def _written(path):
    """What the file holds, once it is there and whole."""
    try:
        return json.loads(path.read_text())
    except (FileNotFoundError, json.JSONDecodeError):
        return None


def ended(pid, seconds=10):
    try:
        process = psutil.Process(pid)
        if process.status() != psutil.STATUS_ZOMBIE:
            process.wait(patience(seconds))
    except psutil.NoSuchProcess:
        pass
    return True


def test_without_a_viewer_the_cell_waits(kernel):
    line = "%%explora quick --candidates 3 --use mine --state fresh --check 'assert answer' --name f"
    reply, output = kernel.run(f"{line}\nFind the <answer>.")
    assert (reply["status"], output) == ("ok", "")
    assert [payload["text"] for payload in reply["payload"]] == ["answer = 42"]
    shown = kernel.shows("Unchecked")
    assert "Trace: explorations/fake.ipynb" in shown["text/plain"]
    assert "2 model calls, 42 tokens, 1 execution" in shown["text/plain"]
    assert "Nothing is sent anywhere." in shown["text/html"]
    assert "Look &lt;around&gt;" in shown["text/html"]
    order = kernel.order()
    assert order["session"] is True
    assert order["task"] == "Find the <answer>."
    assert order["layers"][0] == {"exploration": {"candidates": 3}, "sandbox": {"state": "fresh"}}
    assert list(order["layers"][1]) == ["sandbox"]
    assert (order["uses"], order["check"], order["solution_name"]) == (["mine"], "assert answer", "f")
    assert (order["cell"], order["notebook"], order["workdir"]) == (None, None, str(kernel.folder))
    assert not Path(order["variables"]).exists(), "sent variables are removed at the end"
    reply, output = kernel.run("%explora status\n%explora history")
    assert "Unchecked" in output
    assert "1. quick" in output


def test_what_the_engine_refuses_is_one_sentence(kernel):
    reply, output = kernel.run("%%explora refuses\ntask")
    assert (reply["status"], reply["ename"]) == ("error", "UsageError")
    assert output == "UsageError: The library is unknown. Install it.\n"
    assert not any("The library is unknown" in str(shown) for shown in kernel.displays.values()), "it is shown once"


def test_a_refused_run_does_not_replace_the_last(kernel):
    kernel.run("%%explora quick --name f\ntask")
    kernel.run("%%explora refuses\ntask")
    output = kernel.run("%explora status\n%explora history")[1]
    assert "The library is unknown" not in output
    assert "1. quick" in output and "2. " not in output
    assert kernel.run("%explora solution")[0]["status"] == "ok"


def test_a_dying_engine_is_one_sentence(kernel):
    reply, output = kernel.run("%%explora dies\ntask")
    assert reply["status"] == "error"
    assert output == "UsageError: The engine ended unexpectedly (killed by signal 9). Its last output: a last cry\n"
    assert kernel.run("mine")[0]["status"] == "ok"


def test_an_engine_that_dies_later_names_its_trace(kernel):
    _, output = kernel.run("%%explora dies late\ntask")
    assert output.endswith(
        "a last cry The results so far are in /notes/explorations/dies.ipynb; --resume continues from there.\n"
    )
    assert kernel.run("%explora status")[1].count("Trace: /notes/explorations/dies.ipynb") == 1


def test_an_engine_that_cannot_start_is_one_sentence(kernel):
    kernel.run("%config ExploraMagics.engine_python = '/nowhere/python'")
    _, output = kernel.run("%%explora quick --use mine\ntask")
    assert output.startswith(
        "UsageError: The engine cannot be started with '/nowhere/python': No such file or directory."
    )
    assert len(output.splitlines()) == 1


def test_interrupt_stops_the_run_and_keeps_the_kernel(kernel):
    sent = kernel.send("%%explora slow\ntask")
    kernel.shows("Look <around>")
    kernel.shows("To stop: interrupt the kernel.")
    kernel.manager.interrupt_kernel()
    reply = kernel.reply(sent)
    assert (reply["status"], reply["ename"]) == ("error", "UsageError")
    assert "Stopped. By the user." in reply["evalue"]
    assert (kernel.folder / "ended").read_text() == "asked"
    assert ended(kernel.order()["pid"])
    assert kernel.run("mine")[0]["status"] == "ok"


def test_a_second_interrupt_skips_a_stubborn_engine(kernel):
    sent = kernel.send("%%explora stubborn\ntask")
    kernel.shows("Look <around>")
    kernel.manager.interrupt_kernel()
    before = time.monotonic()
    time.sleep(patience(0.5))
    kernel.manager.interrupt_kernel()
    reply = kernel.reply(sent)
    assert time.monotonic() - before < patience(3)
    assert reply["evalue"].startswith("stubborn · Stopped.")
    assert ended(kernel.order()["pid"], 1)


def test_with_a_viewer_runs_are_in_the_background(kernel):
    reply, output = kernel.run("%%explora slow\ntask", cell="cell-1")
    assert (reply["status"], output) == ("ok", "")
    assert kernel.order()["cell"] == "cell-1"
    shown = kernel.shows("Look <around>")
    assert "To stop: %explora stop" in shown["text/plain"]
    assert any("application/vnd.jupyter.widget-view+json" in data for data in kernel.displays.values())
    reply, output = kernel.run("sum(mine['a'])")
    assert reply["status"] == "ok", "other cells run meanwhile"
    assert "Look <around>" in kernel.run("%explora status")[1]
    assert kernel.run("%explora stop")[1] == "Stopping: slow.\n"
    kernel.shows("Stopped. By the user.")
    assert ended(kernel.order()["pid"])
    began = time.monotonic()
    while any("application/vnd.jupyter.widget-view+json" in data for data in kernel.displays.values()):
        assert not is_over(began, 5), "the button stays although it can do nothing any more"
        kernel.run("0")
    assert kernel.run("%explora stop")[1] == "Nothing is running.\n"


@pytest.fixture
def without_widgets(kernel):
    kernel.run("import sys\nloaded = sys.modules.get('ipywidgets')\nsys.modules['ipywidgets'] = None")
    yield
    kernel.run("sys.modules.pop('ipywidgets')\nif loaded: sys.modules['ipywidgets'] = loaded")


@pytest.mark.usefixtures("without_widgets")
def test_without_widgets_the_card_shows_how_to_stop(kernel):
    assert kernel.run("%%explora slow\ntask", cell="cell-1")[0]["status"] == "ok"
    assert "To stop: %explora stop" in kernel.shows("Look <around>")["text/plain"]
    assert not any("application/vnd.jupyter.widget-view+json" in data for data in kernel.displays.values())


def test_the_button_stops_the_run(kernel):
    kernel.run("%%explora slow\ntask", cell="cell-1")
    kernel.shows("Look <around>")
    reply, _ = kernel.run(
        "import ipywidgets\n[w.click() for w in ipywidgets.Widget.widgets.values() if isinstance(w, ipywidgets.Button)]"
    )
    assert reply["status"] == "ok"
    kernel.shows("Stopped. By the user.")


def test_a_background_solution_is_offered_on_request(kernel):
    reply, _ = kernel.run("%%explora quick\ntask", cell="vscode-notebook-cell:/a/b.ipynb#W0")
    assert reply["payload"] == []
    assert kernel.order()["cell"] is None, "not a cell id of a notebook"
    shown = kernel.shows("Unchecked")
    assert "answer = 42" in shown["text/plain"]
    assert "%explora solution" in shown["text/html"]
    reply, output = kernel.run("%explora solution")
    assert [payload["text"] for payload in reply["payload"]] == ["answer = 42"]
    assert output.startswith("Unchecked")
    reply, output = kernel.run("%explora solution")
    assert reply["payload"] == []
    assert output.endswith("is already in a cell, or this front end does not insert cells. It is:\n\nanswer = 42\n")


def test_a_program_that_failed_is_not_offered(kernel):
    kernel.run("%%explora quick\ntask", cell="cell-1")
    kernel.shows("Unchecked")
    reply, output = kernel.run("%%explora unsolved --wait\ntask", cell="cell-1")
    assert (reply["status"], reply["payload"]) == ("ok", [])
    reply, output = kernel.run("%explora solution")
    assert (reply["status"], reply["payload"]) == ("error", [])
    wanted = "There is no solution. Unsolved. No solution ran. The attempts are recorded in explorations/fake.ipynb."
    assert output == f"UsageError: {wanted}\n"


def test_a_stubborn_background_engine_is_ended(kernel):
    kernel.run("%%explora stubborn\ntask", cell="cell-1")
    kernel.shows("Look <around>")
    kernel.run("%explora stop")
    assert ended(kernel.order()["pid"], 20)
    kernel.shows("Stopped. The engine ended unexpectedly (killed by signal 9).")


def test_unloading_stops_what_is_running(kernel):
    kernel.run("%%explora slow\ntask", cell="cell-1")
    kernel.shows("Look <around>")
    assert kernel.run("%unload_ext exploracoder_jupyter")[0]["status"] == "ok"
    assert ended(kernel.order()["pid"])
    assert (kernel.folder / "ended").read_text() == "asked"


@pytest.mark.parametrize("how", ["killed", "shut down"])
def test_the_engine_ends_with_the_kernel(own_kernel, how):
    own_kernel.run("%%explora slow\ntask", cell="cell-1")
    own_kernel.shows("Look <around>")
    pid = own_kernel.order()["pid"]
    own_kernel.manager.shutdown_kernel(now=how == "killed")
    assert ended(pid)
    assert (own_kernel.folder / "ended").exists()


def test_a_console_shows_the_result_as_lines(kernel):
    """`jupyter console` ignores updates of outputs, sends no cell, and can be asked for input."""
    reply, text = kernel.run("%%explora unsolved\ntask", asks=True)
    assert reply["status"] == "ok" and kernel.displays == {}
    assert any(line.startswith("Unsolved. No solution ran.") for line in text.splitlines())
    reply, text = kernel.run("%%explora done\ntask", asks=True)
    assert "Unchecked. It ran." in text
    assert [item["text"] for item in reply["payload"]] == ["answer = 42"]


def test_a_recorded_candidate_shows_its_recorded_outputs(trace_kernel):
    cells = nbformat.read(trace_kernel.folder / "trace.ipynb", as_version=4).cells
    trace_kernel.run("import os; os.chdir('/')")
    candidates = [cell for cell in cells if cell.source.startswith("%%explored")]
    assert {output.output_type for cell in candidates for output in cell.outputs} == {
        "execute_result",
        "stream",
        "error",
    }
    for cell in candidates:
        assert trace_kernel.outputs(cell.source, cell.id) == cell.outputs
    cell = next(cell for cell in candidates if cell.source.startswith("%%explored 1.2"))
    foreign = copy.deepcopy(cell)
    foreign.id, bundle = "foreign", {"text/plain": "x", "text/html": "<b>y</b><script>z()</script>"}
    foreign.outputs = [nbformat.v4.new_output("display_data", bundle | {"text/vnd.mermaid": "flowchart LR"})]
    nbformat.write(nbformat.v4.new_notebook(cells=[*cells, foreign]), trace_kernel.folder / "trace.ipynb")
    [shown] = trace_kernel.outputs(foreign.source, foreign.id)
    assert shown["data"] == {"text/plain": "x", "text/html": "<b>y</b>"}
    expected = [{"output_type": "stream", "name": "stdout", "text": "Candidate 1.2, recorded, not run here.\n"}]
    assert trace_kernel.outputs(cell.source + "\n# edited", cell.id) == expected
    assert trace_kernel.outputs(cell.source, "another") == expected
    (trace_kernel.folder / "trace.ipynb").write_text("no notebook")
    assert trace_kernel.outputs(cell.source, cell.id) == expected
    (trace_kernel.folder / "trace.ipynb").unlink()
    assert trace_kernel.outputs(cell.source, cell.id) == expected


def forked(kernel):
    return wait_until(lambda: _written(kernel.folder / "forked.json"), 20, "the kernel to answer")


def test_the_kernel_is_forked_while_the_cell_waits(forkable):
    assert forkable.run("%%explora forks\ntask")[0]["status"] == "ok"
    hazard = {"kind": "warn", "library": "", "what": "True threads"}
    offer = forkable.order()["live"]
    assert offer.pop("paths") != []
    assert offer == {"hazards": [hazard], "secretive": ["api_key"]}
    answer = forked(forkable)
    assert (answer["type"], answer["number"], answer["problem"]) == ("kernel_forked", 7, "")
    assert (forkable.folder / "asked").read_text() == "True /run/engine None"


def test_a_busy_kernel_is_forked_in_the_background(forkable):
    forkable.run("%%explora forks busy\ntask", cell="cell-1")
    busy = f"Path('busy').touch()\nimport time\nuntil = time.monotonic() + {patience(15)}\n"
    reply, output = forkable.run(f"{busy}while not Path('forked.json').exists() and time.monotonic() < until: pass\n0")
    assert (reply["status"], output) == ("ok", "")
    answer = forked(forkable)
    assert answer["problem"] == ""
    forkable.shows("Unchecked")


def test_a_refused_fork_is_answered_with_a_sentence(forkable):
    forkable.run("refusal = 'there is no memory for it'")
    assert forkable.run("%%explora forks\ntask")[0]["status"] == "ok"
    assert forked(forkable)["problem"] == "there is no memory for it"


def test_a_fresh_run_offers_no_fork(forkable):
    assert forkable.run("%%explora forks --state fresh\ntask")[0]["status"] == "ok"
    assert forkable.order()["live"] is None
    assert forked(forkable)["problem"] == "it was not offered for forking"
    assert not (forkable.folder / "asked").exists()


def test_an_unsendable_variable_matters_only_where_needed(forkable):
    forkable.run("handle = object()")
    _, output = forkable.run("%%explora quick --use mine handle --state fresh\ntask")
    sentence = "The variable 'handle' holds a builtins.object, which cannot be sent to another kernel."
    assert output.startswith(f"UsageError: Experiments start in a new kernel (as requested). {sentence[:-1]}")
    assert not (forkable.folder / "order.json").exists()
    assert forkable.run("%%explora quick --use mine handle --state live\ntask")[0]["status"] == "ok"
    assert (forkable.order()["variables"], forkable.order()["uses"]) == (None, ["mine", "handle"])
    (forkable.folder / "order.json").unlink()
    forkable.run("from fractions import Fraction\nhandle = Fraction(1, 3)")
    forkable.run("%%explora quick --use mine handle --pickle\ntask")
    assert forkable.order()["unsent"] == ""
    assert forkable.order()["layers"][0] == {"sandbox": {"pickle": True}}


def test_variables_in_a_fork_are_not_written(forkable):
    forkable.run("big = object()")
    assert forkable.run("%%explora quick --use mine big --state live\ntask")[0]["status"] == "ok"
    order = forkable.order()
    assert (order["variables"], order["uses"]) == (None, ["mine", "big"])
    assert order["unsent"].startswith("no copies were sent")
    _, output = forkable.run("%%explora quick --use missing --state live\ntask")
    assert output == "UsageError: --use: There is no variable 'missing'.\n"


def test_the_engine_receives_mentioned_variables(forkable):
    forkable.run("prices, sizes, other = [1], [2], [3]")
    forkable.run("%%explora quick --check 'assert order == sizes'\nSort `prices` and json, not mine.sizes.")
    mentioned = forkable.order()["mentioned"]
    assert [(one["name"], one["given"]) for one in mentioned] == [("prices", True), ("mine", True), ("sizes", False)]
    assert forkable.order()["variables"], "this kernel has a variable that looks like a credential"
    assert forkable.order()["uses"] == []


def test_what_an_earlier_solution_made_is_not_given(forkable):
    forkable.run("answer = 42; table = (1, 2)")
    task = "%%explora quick --state live\n`answer` is the length of `table`."
    for given in (["answer", "table"], ["table"]):  # the solution of the first run makes `answer`
        assert forkable.run(task)[0]["status"] == "ok"
        assert [one["name"] for one in forkable.order()["mentioned"] if one["given"]] == given
        forkable.shows("Unchecked")
        (forkable.folder / "order.json").unlink()


def test_a_background_cell_returns_after_the_fork(forkable):
    forkable.run("x = 1")
    explore = forkable.send("%%explora forks-late --state live\ntask", cell="cell-1")
    change = forkable.send("x = 2", cell="cell-2")
    assert forkable.reply(explore)["status"] == "ok"
    assert (forkable.folder / "asked").read_text() == "True /run/engine 1"
    assert not any("Look <around>" in data["text/plain"] for data in forkable.displays.values())
    assert forkable.reply(change)["status"] == "ok"
    assert forked(forkable)["problem"] == ""
    forkable.shows("Unchecked")
    forkable.run("del x")


@pytest.mark.parametrize(("kind", "options"), [("cannot", "--state live"), ("hesitates", "")])
def test_a_background_cell_waits_for_no_impossible_fork(forkable, kind, options):
    before = time.monotonic()
    assert forkable.run(f"%%explora {kind} {options}\ntask", cell="cell-1")[0]["status"] == "ok"
    assert time.monotonic() - before < patience(5)
    forkable.run("%explora stop")
    assert ended(forkable.order()["pid"])


def test_an_interrupt_at_the_start_leaves_no_engine(forkable):
    sent = forkable.send("%%explora hesitates --state live\ntask", cell="cell-1")
    order = forkable.order()
    forkable.manager.interrupt_kernel()
    reply = forkable.reply(sent)
    assert (reply["status"], reply["ename"]) == ("error", "UsageError")
    assert "Stopped. The run was stopped before it began." in reply["evalue"]
    assert ended(order["pid"])


def test_an_interrupt_before_the_fork_stops_the_run(forkable):
    sent = forkable.send("%%explora hesitates --state live\ntask", cell="cell-1")
    forkable.order()
    forkable.shows("hesitates")  # the run is followed now
    forkable.manager.interrupt_kernel()
    reply = forkable.reply(sent)
    assert (reply["status"], reply["ename"]) == ("error", "UsageError")
    assert "Stopped. The run was stopped before it began." in reply["evalue"]
    assert (forkable.folder / "ended").read_text() == "asked"
    assert ended(forkable.order()["pid"])
    assert forkable.run("mine")[0]["status"] == "ok"


def test_files_of_a_solution_are_copied_on_request(forkable):
    (forkable.folder / "kept" / "new").mkdir(parents=True, exist_ok=True)
    for name in ("a.csv", "new/b.csv"):
        (forkable.folder / "kept" / name).write_text("theirs")
    (forkable.folder / "a.csv").write_text("mine")
    forkable.run("%%explora writes --keep-files\ntask")
    assert forkable.order()["layers"][0] == {"view": {"keep_files": True}}
    assert "The solution wrote 2 files" in forkable.shows("Unchecked")["text/plain"]
    assert "  new/b.csv\n" in forkable.run("%explora files")[1]
    output = forkable.run("%explora files --copy")[1]
    assert output.endswith("Not copied:\n  a.csv: already exists\n")
    assert (forkable.folder / "a.csv").read_text() == "mine"
    assert (forkable.folder / "new" / "b.csv").read_text() == "theirs"


def test_the_engine_inherits_nothing_but_its_pipes(kernel):
    kernel.run("held = open('held', 'w'); import os; os.set_inheritable(held.fileno(), True)")
    kernel.run("%%explora slow\ntask", cell="cell-1")
    links = {str(Path(f"/proc/{kernel.order()['pid']}/fd/{n}").readlink()) for n in (0, 1, 2)}
    assert all(link.startswith("pipe:") for link in links)
    open_files = {Path(item.path).name for item in psutil.Process(kernel.order()["pid"]).open_files()}
    assert "held" not in open_files

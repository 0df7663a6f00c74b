"""How fast and how smoothly cells come to the screen: `python -m benchmarks.live_cells`, from the repository's folder.

A real JupyterLab and Chromium (as in `tests/e2e/browser`), and a model with scripted answers. The
calling cell waits (`--wait`), so the kernel's main thread is busy all the time.

1. *From the event to the screen*: from the date in the header of the kernel's message to the end of the first frame
   in which each of its cells has an element with all of its outputs. Kernel and page read the same machine's clock.
   Snippets print a line; the model writes ten a second.
2. *200 candidates*, each with a table and a figure of 50 kB, as fast as they can be run: that none is missing or there
   twice; the page's long tasks (over 50 ms) and memory. The baseline is the same cells put into JupyterLab one by one,
   in the same time, without the extension.
3. *The same once more, traced*: whose the tasks over 200 ms are (`long_tasks`). Tracing makes a page slower.
4. *The board, traced*: the comparison of each subtask of that run is opened, and each of its candidates is visited with
   the arrow keys.
"""

import argparse
import statistics
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

from playwright.sync_api import BrowserContext, Page, sync_playwright
from pytest_httpserver import HTTPServer

from benchmarks.long_tasks import BEGIN, CATEGORIES, WHOSE, long_tasks
from tests.e2e.browser.board import Board
from tests.e2e.browser.conftest import CHROMIUM, WIDE
from tests.e2e.browser.lab import Notebook, Server, Tab, candidates, of_role
from tests.e2e.browser.play import Play, Scene, Stage

Cell = dict[str, Any]

SNIPPET = """
import base64, os, struct, zlib
from IPython.display import HTML, Image, display
def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
raw = b"".join(b"\\0" + os.urandom(384) for _ in range(96))
figure = b"\\x89PNG\\r\\n\\x1a\\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", 128, 96, 8, 2, 0, 0, 0))
figure += chunk(b"IDAT", zlib.compress(raw)) + chunk(b"IEND", b"")
row = "<tr>" + "".join(f"<td>{n * 1.2345:.6f}</td>" for n in range(10)) + "</tr>"
display(HTML("<table>" + row * (50_000 // len(row)) + "</table>"))
display(Image(figure))
print("candidate", NUMBER)
"""

WATCH = """
window.shown = []; window.tasks = [];
const now = () => Date.now();
new PerformanceObserver(list => {
  for (const task of list.getEntries()) window.tasks.push(task.duration);
}).observe({ type: 'longtask' });
window.watch = panel => {
  const kernel = panel.sessionContext.session.kernel, waiting = [], latest = {};
  const there = change => {
    const widget = panel.content.widgets.find(w => w.model.id === change.id);
    if (change.action === 'remove') return !widget;
    const outputs = widget?.outputArea?.widgets.length ?? 0;
    return !!widget?.node.isConnected && outputs >= (change.cell.outputs?.length ?? 0);
  };
  const look = () => {
    for (const message of waiting.filter(m => m.changes.every(there))) {
      waiting.splice(waiting.indexOf(message), 1);
      setTimeout(() => window.shown.push(now() - message.sent));
    }
    requestAnimationFrame(look);
  };
  requestAnimationFrame(look);
  kernel.iopubMessage.connect((_, message) => {
    const data = message.header.msg_type === 'comm_msg' ? message.content.data : {};
    if (data.type !== 'cells') return;
    const { changes, seq } = data;
    waiting.push({ changes, seq, sent: Date.parse(message.header.date) });
    for (const { id } of changes) latest[id] = seq;
  });
  window.left = () => {
    const replaced = waiting.filter(m => m.changes.every(c => there(c) || latest[c.id] > m.seq));
    return [replaced.length, waiting.length - replaced.length];
  };
};
"""

ENDED = """() => {
  const cells = model.sharedModel.cells, mark = cell => cell.getMetadata('exploracoder_jupyter');
  return cells[1].execution_count && cells.some(c => mark(c)?.role === 'outcome' && mark(c).status !== 'running');
}"""

HAS_OUTPUT = "document.activeElement.querySelector('.jp-OutputArea-output') !== null"

REPLAY = """async pause => {
  for (const cell of window.recorded) {
    const shared = model.sharedModel;
    const whole = {...cell, metadata: {trusted: true}};
    if (cell.cell_type !== 'code') { shared.insertCell(shared.cells.length, whole); continue; }
    shared.insertCell(shared.cells.length, {...whole, outputs: []});
    await new Promise(done => setTimeout(done, pause));
    shared.cells.at(-1).setOutputs(cell.outputs);
    await new Promise(done => setTimeout(done, pause));
  }
  delete window.recorded;
}"""


@contextmanager
def world(environment: Path) -> Iterator[tuple[Server, Stage, BrowserContext]]:
    """A server, a browser and a model."""
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        endpoint = HTTPServer(threaded=True)
        endpoint.start()
        stage = Stage(endpoint)
        server = Server(environment, Path(folder) / "lab")
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        try:
            yield server, stage, browser.new_context(viewport=WIDE)
        finally:
            browser.close()
            server.close()
            endpoint.stop()


def play(name: str, subtasks: int, wide: int, snippet: str, pause: float) -> Play:
    """So many candidates, each of them different."""
    scenes = [
        Scene(f"Do part {n} of it.", [snippet.replace("NUMBER", f"'{n}.{m}'") for m in range(1, wide + 1)])
        for n in range(1, subtasks + 1)
    ]
    return Play(name, scenes, pause=pause)


def explore(
    server: Server, context: BrowserContext, play: Play, trace: Path | None = None
) -> tuple[Tab, Notebook, float, float]:
    """A run that is watched to its end: tab, notebook, the seconds that it took, and the page's memory before."""
    call = (
        f"%%explora statistics --wait --model {play.name} --base-url {play.url} "
        f"--candidates {len(play.scenes[0].snippets)} --subtasks {len(play.scenes)} "
        "--budget-tokens 100000000 --budget-seconds 3600\nMany parts."
    )
    tab = Tab(context, server)
    tab.page.add_init_script(WATCH)
    tab.start()
    notebook = tab.open(server.write(f"{play.name}.ipynb", call))
    notebook.run_and_wait(0)
    notebook.do("() => window.watch(panel)")
    before = memory(tab)
    with traced(tab.page, trace) if trace else nullcontext():
        since = time.monotonic()
        notebook.run(1)
        # Seldom, and without reading the cells: that would be a long task of its own.
        tab.until(lambda: tab.page.wait_for_timeout(1000) or notebook.do(ENDED), "the end of the run", 3600)
    return tab, notebook, time.monotonic() - since, before


@contextmanager
def traced(page: Page, path: Path) -> Iterator[None]:
    """Write what the page does to a file."""
    browser = page.context.browser
    assert browser
    browser.start_tracing(page=page, path=path, categories=CATEGORIES)
    page.evaluate("name => { performance.mark(name) }", BEGIN)
    yield
    browser.stop_tracing()


def memory(tab: Tab) -> float:
    """Megabytes of JavaScript objects after a collection."""
    session = tab.page.context.new_cdp_session(tab.page)
    session.send("HeapProfiler.collectGarbage")
    used = session.send("Runtime.getHeapUsage")["usedSize"] / 1e6
    session.detach()
    return used


def baseline(server: Server, context: BrowserContext, cells: list[Cell], seconds: float) -> tuple[list[float], float]:
    """The same cells in JupyterLab without the extension, one by one in about the same time."""
    server.page_config({"disabledExtensions": {"exploracoder-jupyter": True}})
    tab = Tab(context, server)
    tab.page.add_init_script(WATCH)
    tab.start()
    notebook = tab.open(server.write("baseline.ipynb", ""))
    before = memory(tab)
    tab.page.evaluate("cells => { window.recorded = cells }", cells)
    tab.page.wait_for_timeout(1000)
    tab.page.evaluate("window.tasks.length = 0")
    code = sum(cell["cell_type"] == "code" for cell in cells)
    notebook.do(REPLAY, 1000 * seconds / (2 * code))
    tasks, grown = tab.page.evaluate("window.tasks"), memory(tab) - before
    server.page_config(None)
    tab.page.close()
    return tasks, grown


def percentile(values: list[float], share: float) -> float:
    """The value below which this share lies."""
    return sorted(values)[min(len(values) - 1, int(len(values) * share))]


def main(environment: Path, subtasks: int, wide: int) -> None:
    """Measure and print."""
    with world(environment) as (server, stage, context):
        latency(server, context, stage.put(play("lines", 6, 10, "print(NUMBER)", 0.1)))
        flood(server, context, stage.put(play("flood", subtasks, wide, SNIPPET, 0.0)))
        blame(server, context, stage.put(play("blame", subtasks, wide, SNIPPET, 0.0)))


def latency(server: Server, context: BrowserContext, play: Play) -> None:
    """From the event to the screen."""
    tab, _, _, _ = explore(server, context, play)
    shown, (replaced, missing) = tab.page.evaluate("[window.shown, window.left()]")
    tab.page.close()
    middle, high = statistics.median(shown), percentile(shown, 0.95)
    row(
        "event to screen",
        f"{len(shown)} events; median {middle:.0f} ms, p95 {high:.0f} ms, largest {max(shown):.0f} ms",
    )
    row("", f"{replaced} more replaced by later ones before a frame, {missing} never shown")


def flood(server: Server, context: BrowserContext, play: Play) -> None:
    """Many candidates with large outputs."""
    tab, notebook, seconds, before = explore(server, context, play)
    cells, tasks, grown = notebook.cells(), tab.page.evaluate("window.tasks"), memory(tab) - before
    tab.page.close()
    bare, bare_grown = baseline(server, context, cells[2:], seconds)
    wanted = {f"{n}.{m}" for n, scene in enumerate(play.scenes, 1) for m, _ in enumerate(scene.snippets, 1)}
    there = [cell["metadata"]["exploracoder_jupyter"]["candidate"] for cell in of_role(cells, "candidate")]
    whole = [len(candidates(cells)[id]["outputs"]) == 3 for id in wanted & set(there)]
    missing, doubled = len(wanted - set(there)), len(there) - len(set(there))
    row("candidates", f"{len(wanted)}: {missing} missing, {doubled} more than once, {sum(whole)} with all outputs")
    row("run", f"{seconds:.0f} s")
    row("with the extension", f"{smoothness(tasks)}; memory +{grown:.0f} MB")
    row("JupyterLab alone", f"{smoothness(bare)}; memory +{bare_grown:.0f} MB")


def blame(server: Server, context: BrowserContext, play: Play) -> None:
    """Whose the long tasks of a run are, and those of its boards."""
    with tempfile.TemporaryDirectory() as folder:
        trace = Path(folder) / "trace.json"
        tab, _, seconds, _ = explore(server, context, play, trace)
        row("traced run", f"{seconds:.0f} s")
        print_sources(trace)
        with traced(tab.page, trace):
            visited = visit_boards(tab, len(play.scenes))
        tab.page.close()
        row("traced boards", f"{visited} candidates")
        print_sources(trace)


def visit_boards(tab: Tab, subtasks: int) -> int:
    """Open the board of each subtask and visit its candidates with the arrow keys; returns how many were visited.

    The page is asked for the focused column alone: a search by role in all tables would be a long task of its own.
    """
    board, visited = Board(tab), set()
    for subtask in map(str, range(1, subtasks + 1)):
        tab.command("explora:compare", subtask=subtask)
        tab.until(lambda wanted=f"{subtask}.": board.focused().startswith(wanted), f"the board of {subtask}")
        board.press("Home")
        while (id := board.focused()) not in visited:
            tab.until(lambda: tab.page.evaluate(HAS_OUTPUT), f"the outputs of {id}")
            visited.add(id)
            board.press("ArrowRight")
            tab.page.wait_for_timeout(100)
    return len(visited)


def print_sources(trace: Path) -> None:
    """Print whose the long tasks of a trace are."""
    tasks = long_tasks(trace, "extensions/exploracoder-jupyter", over=50)
    for whose in WHOSE:
        mine = [task for task in tasks if task.whose == whose]
        row(f"  {whose}, clock", smoothness([task.clock for task in mine]))
        row("  thread's time", smoothness([task.own for task in mine if task.own > 50]))


def row(name: str, value: str) -> None:
    """Print one line."""
    print(f"{name:20}{value}")


def smoothness(tasks: list[float]) -> str:
    """Long tasks in words."""
    over = sum(task > 200 for task in tasks)
    largest = max(tasks, default=0)
    return f"{len(tasks)} long tasks, {sum(tasks):.0f} ms in all, largest {largest:.0f} ms, {over} over 200 ms"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("environment", type=Path, help="environment with the wheel and JupyterLab installed")
    parser.add_argument("--subtasks", type=int, default=10)
    parser.add_argument("--candidates", type=int, default=20)
    given = parser.parse_args()
    main(given.environment, given.subtasks, given.candidates)

"""How long JupyterLab takes to open notebooks: `python -m benchmarks.trace_opens TRACE...`, from this repository.

For each, a fresh tab of a JupyterLab that has started: from the command that opens the file to the first frame in which
all of its cells have a widget and those in view are drawn. The kernel is not waited for. JupyterLab and this package
have to be in the environment that runs this. Median of three.
"""

import statistics
import sys
import tempfile
import time
from pathlib import Path

from playwright.sync_api import BrowserContext, sync_playwright

from tests.e2e.browser.conftest import CHROMIUM, WIDE
from tests.e2e.browser.lab import Server, Tab

_ROUNDS = 3
_DRAWN = """path => new Promise(resolve => {
  const look = () => {
    const panel = [...jupyterapp.shell.widgets('main')].find(widget => widget.context?.path === path);
    const cells = panel?.context.isReady ? panel.content.widgets : [];
    const drawn = cells.length && cells.length === panel.context.model.cells.length && cells[0].isAttached;
    if (drawn) requestAnimationFrame(() => resolve(cells.length));
    else setTimeout(look, 20);
  };
  jupyterapp.commands.execute('docmanager:open', { path, factory: 'Notebook' });
  look();
})"""


def main() -> None:
    """Open each notebook that the command line names, and print how long it took."""
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        server = Server(Path(sys.prefix), Path(folder))
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        try:
            for given in map(Path, sys.argv[1:]):
                (server.root / given.name).write_bytes(given.read_bytes())
                found = [_opened(browser.new_context(viewport=WIDE), server, given.name) for _ in range(_ROUNDS)]
                seconds = statistics.median(seconds for _, seconds in found)
                print(f"{seconds:6.1f} s  {given.stat().st_size / 1e6:6.2f} MB  {found[0][0]:4} cells  {given.name}")
        finally:
            browser.close()
            server.close()


def _opened(context: BrowserContext, server: Server, name: str) -> tuple[int, float]:
    """How many cells it has, and how many seconds it took."""
    tab = Tab(context, server).start()
    began = time.perf_counter()
    cells: int = tab.page.evaluate(_DRAWN, name)
    took = time.perf_counter() - began
    tab.clear()
    context.close()
    return cells, took


if __name__ == "__main__":
    main()

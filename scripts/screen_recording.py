"""Records an exploration in JupyterLab as an animated image: `python scripts/screen_recording.py ENVIRONMENT IMAGE`.

ENVIRONMENT is a virtual environment that has the package with its extra `lab`, and networkx. The run is the README's
example with the offline model, as it comes; where nothing changes for long, the image goes on sooner. Needs Chromium.
"""

import io
import shutil
import sys
import tempfile
import time
from itertools import pairwise
from pathlib import Path

from PIL import Image
from playwright.sync_api import sync_playwright

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.e2e.browser.lab import Server, Tab, ended

TASK = (Path(__file__).parents[1] / "examples" / "shortest-path.txt").read_text("utf-8")
CELL = f'%%explora networkx --check "assert length == 5" --model offline\n{TASK}'
SIZE = {"width": 1200, "height": 760}
WIDTH = 960
LONGEST, LAST = 1.5, 4.0
"""Seconds that a frame is shown at most, and the last one."""


class Recorder:
    """Takes pictures of a tab; a picture that equals the one before it only prolongs that one."""

    def __init__(self, tab: Tab) -> None:
        self._page = tab.page
        self._frames: list[tuple[float, bytes]] = []

    def record(self, seconds: float) -> None:
        """Take pictures for this long."""
        began = time.monotonic()
        while time.monotonic() - began < seconds:
            taken = self._page.screenshot()
            if not self._frames or taken != self._frames[-1][1]:
                self._frames.append((time.monotonic(), taken))
            self._page.wait_for_timeout(150)

    def save(self, path: Path) -> None:
        """Write the pictures as an animated GIF."""
        times = [when for when, _ in self._frames]
        lengths = [min(after - before, LONGEST) for before, after in pairwise(times)]
        images = [_shrink(Image.open(io.BytesIO(taken))) for _, taken in self._frames]
        durations = [round(1000 * seconds) for seconds in (*lengths, LAST)]
        images[0].save(path, save_all=True, append_images=images[1:], duration=durations, loop=0, optimize=True)


def _shrink(image: Image.Image) -> Image.Image:
    height = round(image.height * WIDTH / image.width)
    return image.convert("RGB").resize((WIDTH, height), Image.Resampling.LANCZOS).quantize(dither=Image.Dither.NONE)


def main() -> None:
    """See the module."""
    environment, target = map(Path, sys.argv[1:])
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        server = Server(environment.resolve(), Path(folder))
        try:
            browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
            tab = Tab(browser.new_context(viewport=SIZE), server).start()
            notebook = tab.open(server.write("exploration.ipynb", CELL))
            tab.sidebar.open()
            recorder = Recorder(tab)
            notebook.run_and_wait(0)
            recorder.record(1)
            notebook.run(1)
            while not ended(notebook.cells()):
                recorder.record(0.5)
            recorder.record(4)
            recorder.save(target)
        finally:
            server.close()


if __name__ == "__main__":
    main()

"""Records an exploration in JupyterLab as an animated image: `python scripts/screen_recording.py ENVIRONMENT IMAGE`.

ENVIRONMENT is a virtual environment that has the package with its extra `lab`, pandas, matplotlib and windrose. The run
is that of `examples/explorations/wind-rose-recorded.ipynb`: an endpoint of this script gives the replies that the model
gave then, piece by piece; everything else happens. Where nothing changes for long, the image goes on sooner. Needs
Chromium.
"""

import io
import json
import shutil
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import pairwise
from pathlib import Path

from PIL import Image
from playwright.sync_api import sync_playwright

sys.path.insert(0, str(Path(__file__).parents[1]))

from exploracoder_jupyter.runs.resume import recorded_exchanges
from exploracoder_jupyter.trace.file import load
from tests.e2e.browser.lab import Server, Tab, ended

EXAMPLES = Path(__file__).parents[1] / "examples"
TRACE = EXAMPLES / "explorations" / "wind-rose-recorded.ipynb"
DATA = 'import pandas as pd\nwind = pd.read_csv("wind.csv", parse_dates=["time"])\nwind.head(3)'
CELL = """%%explora windrose
Draw a wind rose of the frame `wind`: stacked bars for 16 directions in percent of the time,
coloured by speed in steps of 3 m/s up to 15, with a legend in m/s; store the axes in `ax`"""
SIZE = {"width": 1200, "height": 860}
WIDTH = 960
LONGEST, LAST = 1.2, 4.0
"""Seconds that a frame is shown at most, and the last one."""
PIECE, PAUSE = 12, 0.06
"""Characters of a piece of a reply, and seconds between two."""


class RecordedEndpoint(ThreadingHTTPServer):
    """Answers chat requests with these replies, in order."""

    def __init__(self, replies: Sequence[str]) -> None:
        self.replies = iter(replies)
        super().__init__(("127.0.0.1", 0), _Answer)
        self.url = f"http://127.0.0.1:{self.server_port}/v1"
        threading.Thread(target=self.serve_forever, daemon=True).start()


class _Answer(BaseHTTPRequestHandler):
    server: RecordedEndpoint

    def log_message(self, *_: object) -> None:
        """Say nothing."""

    def do_POST(self) -> None:
        """Stream the next reply."""
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        reply = next(self.server.replies)
        for place in range(0, len(reply), PIECE):
            self._send({"delta": {"content": reply[place : place + PIECE]}})
            time.sleep(PAUSE)
        self._send({"delta": {}, "finish_reason": "stop"})
        self.wfile.write(b"data: [DONE]\n\n")

    def _send(self, choice: dict[str, object]) -> None:
        event = {"choices": [{"index": 0, **choice}]}
        self.wfile.write(f"data: {json.dumps(event)}\n\n".encode())
        self.wfile.flush()


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
    replies = [reply for exchange in recorded_exchanges(load(TRACE)) for reply in exchange.replies]
    endpoint = RecordedEndpoint(replies)
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        server = Server(environment.resolve(), Path(folder))
        config = server.home / ".config" / "exploracoder_jupyter" / "config.toml"
        config.write_text(f'[endpoint]\nbase_url = "{endpoint.url}"\nmodel = "recorded"\n')
        shutil.copy(EXAMPLES / "wind.csv", server.root)
        try:
            browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
            tab = Tab(browser.new_context(viewport=SIZE), server).start()
            notebook = tab.open(server.write("exploration.ipynb", DATA, CELL))
            tab.sidebar.open()
            recorder = Recorder(tab)
            for cell in (0, 1):
                notebook.run_and_wait(cell)
            recorder.record(1)
            notebook.run(2)
            while not ended(notebook.cells()):
                recorder.record(0.5)
            recorder.record(4)
            recorder.save(target)
        finally:
            server.close()


if __name__ == "__main__":
    main()

"""Nothing that a candidate or a model writes makes the browser send a request: not live, not in an opened trace, not in
an exported page. The verdict is the log of a server, which sees the same payloads where they are shown as they are."""

import json
import subprocess
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from urllib.parse import urlsplit

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from tests.e2e.browser.lab import candidates, text
from tests.e2e.browser.play import Scene
from tests.e2e.browser.requests_payloads import DIAGRAM, FORMULA, filled, payloads
from tests.e2e.browser.stories import start_run
from tests.patience import patience

QUIET = 4
"""Seconds in which a page, once it has loaded its renderers, shows everything and requests what that names."""
LIVE = {
    *("img", "srcset", "media", "link", "frames", "srcdoc", "dataurl", "background", "style", "imageset", "sheet"),
    *("script", "input", "inline", "math", "environment", "fence", "tildes", "image", "typeset", "latex", "renamed"),
    *("defined", "mermaid", "script-only", "vega", "vegalite", "bokeh"),
}
"""What JupyterLab requests of payloads that code displays; the others concern other front ends."""
SAVED = {"cell", "entities", "fence", "mermaid", "math", "latex", "renamed", "image"}
"""What it requests of a notebook that it opens and does not trust."""
CONVERTED = {"img", "style", "sheet", "image", "picture", "inline"}
"""What a page of nbconvert requests, where nothing but this machine can be reached."""


class Watched:
    """A server that remembers which paths were asked for; `names` are their first parts."""

    def __init__(self):
        paths = self.paths = []

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                paths.append(self.path)
                self.send_response(200)
                self.send_header("Access-Control-Allow-Origin", "*")
                self.end_headers()

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        Thread(target=self.server.serve_forever, daemon=True).start()

    @property
    def names(self):
        return {path.split("/")[1] for path in self.paths}


@pytest.fixture(scope="module")
def watched():
    watched = Watched()
    yield watched
    watched.server.shutdown()
    watched.server.server_close()


@pytest.fixture
def page(tab, watched):
    """The page of the tab, which reaches only this machine."""
    tab.page.route(lambda url: urlsplit(url).hostname not in ("127.0.0.1", None, ""), lambda route: route.abort())
    watched.paths.clear()
    yield tab.page
    tab.page.unroute_all()


def program(host):
    """Code that displays all payloads."""
    shown = json.dumps(json.dumps(payloads(host)))
    return f"""import json
from IPython.display import display
for name, bundle in json.loads({shown}).items():
    display({{'text/plain': 'shown: ' + name, **bundle}}, raw=True)
print(bundle['text/plain'])
"""


def convert(server, name, *command):
    """Make a page of a notebook; its address."""
    environment = {"HOME": str(server.home), "PATH": "/usr/bin:/bin"}
    done = subprocess.run([server.python, "-m", *command, server.root / name], env=environment, capture_output=True)
    assert done.returncode == 0, done.stderr.decode()
    return (server.root / name).with_suffix(".html").as_uri()


def as_they_are(server, host):
    """A notebook with the payloads in saved outputs, and in Markdown as this package once escaped it."""
    written = filled(f"a &#36;{FORMULA}&#36; b", host, "entities").replace("\\", "&#92;")
    cells = [new_markdown_cell(filled(f"```mermaid\n{DIAGRAM}\n```", host, "cell")), new_markdown_cell(written)]
    cells += [new_code_cell("1", outputs=[new_output("display_data", one)]) for one in payloads(host).values()]
    nbformat.write(new_notebook(cells=cells), server.root / "raw.ipynb")
    return "raw.ipynb"


def test_the_server_sees_what_is_shown_as_it_is(tab, page, server, watched):
    def until_seen(names):
        try:
            tab.until(lambda: watched.names >= names, "requests")
        except AssertionError as error:
            raise AssertionError(f"{error}, without {names - watched.names}") from None
        watched.paths.clear()

    notebook = tab.open(server.write("control.ipynb", program(watched.url)))
    notebook.run_and_wait(1)
    until_seen(LIVE)
    notebook.close()
    notebook = tab.open(as_they_are(server, watched.url))
    until_seen(SAVED)
    notebook.close()
    page.goto(convert(server, "raw.ipynb", "nbconvert", "--to", "html"), wait_until="domcontentloaded")
    until_seen(CONVERTED)

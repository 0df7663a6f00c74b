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

from tests.e2e.browser.lab import QUIET, candidates, text
from tests.e2e.browser.play import Scene
from tests.e2e.browser.requests_payloads import DIAGRAM, FORMULA, filled, payloads
from tests.e2e.browser.stories import cell
from tests.patience import patience

LIVE = {
    *("img", "srcset", "media", "link", "frames", "srcdoc", "dataurl", "background", "style", "imageset", "sheet"),
    *("script", "input", "inline", "math", "environment", "fence", "tildes", "quoted", "image", "typeset", "latex"),
    *("renamed", "defined", "mermaid", "script-only", "vega", "vegalite", "bokeh"),
}
"""What JupyterLab requests of payloads that code displays; the others concern other front ends."""
SAVED = {
    *("cell", "entities", "fence", "tildes", "quoted", "mermaid", "math", "environment", "typeset", "latex", "renamed"),
    *("defined", "vega", "vegalite"),
}
"""What it requests of a notebook that it opens and does not trust."""
CONVERTED = {"img", "srcset", "media", "background", "style", "sheet", "image", "inline", "script"}
"""What a page of nbconvert requests, where nothing but this machine can be reached."""
LAST = {"fence", "latex", "vega"}
"""Shown after everything else: when these are requested, everything else has been rendered."""


class Watched:
    """A server that remembers which paths were asked for; `names` are their first parts."""

    def __init__(self):
        paths = self.paths = []

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                paths.append(self.path)
                self.send_response(200)
                self.send_header("Access-Control-Allow-Origin", "*")
                self.send_header("Cache-Control", "no-store")
                self.end_headers()

            def log_message(self, *_):
                pass

        class Server(ThreadingHTTPServer):
            def handle_error(self, *_):
                """A page that is closed breaks connections off."""

        self.server = Server(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        Thread(target=self.server.serve_forever, daemon=True).start()

    @property
    def names(self):
        return {path.split("/")[1] for path in self.paths}

    @property
    def leaked(self):
        """Requests but those of `nothing_but_the_last`, of which some come after the page has been closed."""
        return {name for name in self.names if not name.startswith("after-")}


@pytest.fixture(scope="module")
def watched():
    watched = Watched()
    yield watched
    watched.server.shutdown()
    watched.server.server_close()


@pytest.fixture
def page(tab, watched):
    """The page of the tab, whose requests are forgotten when the next test begins."""
    watched.paths.clear()
    yield tab.page
    tab.page.unroute_all()


def visit(page, address):
    """Open a page that a file contains; it reaches only this machine."""
    page.route(lambda url: urlsplit(url).hostname not in ("127.0.0.1", None, ""), lambda route: route.abort())
    page.goto(address, wait_until="domcontentloaded")


def program(shown):
    """Code that displays bundles."""
    shown = json.dumps(json.dumps(shown))
    return f"""import json
from IPython.display import display
for name, bundle in json.loads({shown}).items():
    display({{'text/plain': 'shown: ' + name, **bundle}}, raw=True)
print(bundle.get('text/plain'))
"""


def convert(server, name, *command):
    """Make a page of a notebook; its address."""
    environment = {"HOME": str(server.home), "PATH": "/usr/bin:/bin"}
    done = subprocess.run([server.python, "-m", *command, server.root / name], env=environment, capture_output=True)
    assert done.returncode == 0, done.stderr.decode()
    return (server.root / name).with_suffix(".html").as_uri()


def as_they_are(server, host):
    """A notebook with the payloads in saved outputs, and in Markdown as this package once escaped it."""
    written = filled(f"a &#36;{FORMULA}&#36; b", host, "saved-entities").replace("\\", "&#92;")
    cells = [new_markdown_cell(filled(f"```mermaid\n{DIAGRAM}\n```", host, "saved-cell")), new_markdown_cell(written)]
    shown = payloads(host, "saved-").values()
    cells += [new_code_cell("1", outputs=[new_output("display_data", bundle)]) for bundle in shown]
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    nbformat.write(new_notebook(cells=cells, metadata={"kernelspec": kernel}), server.root / "raw.ipynb")
    return "raw.ipynb"


def until_seen(tab, watched, names, prefix):
    """Wait for requests. Each place has a prefix of its own: a page requests no address twice."""
    names = {f"{prefix}{name}" for name in names}
    try:
        tab.until(lambda: watched.names >= names, "requests")
    except AssertionError as error:
        raise AssertionError(f"{error}, without {names - watched.names}") from None


def unfold(notebook):
    """Show everything that is in the notebook, as a user would who reads it all; what the page then says."""
    notebook.expand_all()
    notebook.command("notebook:show-all-cell-outputs")
    notebook.page.evaluate("document.querySelectorAll('.jp-Notebook details').forEach(one => { one.open = true })")
    look = """async ([index, patience]) => {
      const widget = notebook.widgets[index];
      const wait = time => new Promise(done => setTimeout(done, time));
      const shows = () => !widget.model.outputs
        || (widget.outputArea?.widgets.length ?? 0) >= widget.model.outputs.length;
      await notebook.scrollToItem(index);
      for (let tries = 0; tries < 50 && !shows(); tries++) { await wait(patience); }
      await wait(3 * patience);
      return widget.node.innerText;
    }"""
    return "\n".join(notebook.do(look, [index, 100 * patience(1)]) for index in range(len(notebook.cells())))


def until_whole(tab, read):
    """Wait until what is rewritten is shown, and what is replaced by its text; outputs are rendered in turn."""
    wanted = ("flowchart LR", "shown: mermaid", "[text/vnd.mermaid left out")
    tab.until(lambda: all(part in said for said in [read()] for part in wanted), "the whole notebook")


def nothing_but_the_last(tab, server, watched, place):
    """Whether the page has requested nothing of what it has shown, though it requests what is shown now as it is."""
    last = {f"{place}-{name}" for name in LAST}
    bundles = {name: bundle for name, bundle in payloads(watched.url, f"{place}-").items() if name in last}
    notebook = tab.open(server.write(f"{place}.ipynb", program(bundles)))
    notebook.run_and_wait(1)
    until_seen(tab, watched, LAST, f"{place}-")
    notebook.close()
    return not watched.leaked


@pytest.mark.full
def test_the_server_sees_what_is_shown_unsanitized(tab, page, server, watched):
    notebook = tab.open(server.write("control.ipynb", program(payloads(watched.url, "live-"))))
    notebook.run_and_wait(1)
    until_seen(tab, watched, LIVE, "live-")
    notebook.close()
    watched.paths.clear()
    notebook = tab.open(as_they_are(server, watched.url))
    until_seen(tab, watched, SAVED, "saved-")
    notebook.close()
    watched.paths.clear()
    visit(page, convert(server, "raw.ipynb", "nbconvert", "--to", "html"))
    until_seen(tab, watched, CONVERTED, "saved-")


def test_no_output_or_text_sends_a_request(tab, page, server, play, watched):
    host = watched.url
    said = filled(f"${FORMULA}$ \\({FORMULA}\\)", host, "said")
    link = filled("<a href='x'><img src='HOST/NAME'></a>", host, "error")
    (server.root / "evil.py").write_text(f'def flow():\n    r"""Return the flow {said}.\n\n    More {said}\n    """\n')
    failing = f"{program(payloads(host))}raise ValueError({said + link!r})"
    script = play(Scene(f"Do {said}", [failing, f"print(1)  # {said}"]), solution=program(payloads(host)))
    script.scenes[0].mended = failing
    calling = cell(script, "--debug-rounds 0", "--out traced.ipynb", task=f"Find the flow {said}")
    notebook = tab.open(server.write("requests.ipynb", calling, "%explora search evil flow"))
    notebook.run_and_wait(0)
    notebook.run_and_wait(2)
    assert "Return the flow" in text(notebook.cells()[2])
    notebook.run(1)
    cells = notebook.until_ended()
    shown = text(candidates(cells)["1.1"])
    assert not [name for name in payloads(host) if f"shown: {name}" not in shown and name != "plain"]
    assert said in shown
    tab.sidebar.open()
    until_whole(tab, lambda: unfold(notebook))
    assert nothing_but_the_last(tab, server, watched, "after-live"), watched.paths
    notebook.save()
    notebook.close()
    watched.paths.clear()

    trace = tab.open("traced.ipynb")
    until_whole(tab, lambda: unfold(trace))
    assert nothing_but_the_last(tab, server, watched, "after-trace"), watched.paths
    trace.close()
    watched.paths.clear()

    for command in (("exploracoder_jupyter.cli", "export"), ("nbconvert",)):
        visit(page, convert(server, "traced.ipynb", *command, "--to", "html"))
        page.evaluate("document.querySelectorAll('details').forEach(one => { one.open = true })")
        until_whole(tab, page.locator("body").inner_text)
        page.wait_for_timeout(1000 * patience(QUIET))
        assert not watched.leaked

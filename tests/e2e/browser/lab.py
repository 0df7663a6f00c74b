"""Drives JupyterLab and Notebook 7 in Chromium: a server, a tab, a notebook in it.

What is done goes through the page as a user would do it, or through the application's own commands; what is read comes
from the notebook's model, because a cell that is scrolled away may have no element.
"""

import json
import os
import subprocess
import time
import urllib.request
from contextlib import suppress
from pathlib import Path

import nbformat
import psutil
from nbformat.v4 import new_code_cell, new_notebook

from tests.e2e.browser.sidebar import Sidebar
from tests.patience import is_over, patience

NAMESPACE = "exploracoder_jupyter"
ARTEFACTS = Path(os.environ.get("EXPLORA_ARTEFACTS", Path(__file__).parents[2] / "artefacts"))
WIDE = {"width": 1400, "height": 900}
PATIENCE = 40
"""Seconds to wait for anything on an idle machine."""
QUIET = 0.3
"""Seconds without a change after which no more are expected, on an idle machine."""

_WITH_PANEL = """([path, arg]) => {
  const app = window.jupyterapp;
  const panel = [...app.shell.widgets('main')].find(w => w.context?.path === path);
  const notebook = panel?.content, model = panel?.context.model, kernel = panel?.sessionContext.session?.kernel;
  return (%s)(arg);
}"""


class Server:
    """A Jupyter server of its own, with a home of its own."""

    def __init__(self, environment, folder):
        self.python = environment / "bin" / "python"
        self.root, self.home = folder / "notebooks", folder / "home"
        self.root.mkdir(parents=True)
        self._log = (folder / "server.log").open("w")
        self._settings(folder)
        self._process = subprocess.Popen(
            [self.python, "-m", "jupyterlab", *self._options(folder)],
            cwd=self.root,
            env=self._environment(folder),
            stdout=self._log,
            stderr=subprocess.STDOUT,
        )
        self.url = self._address(folder)

    def _options(self, folder):
        return [
            "--no-browser",
            "--allow-root",
            "--port=0",
            "--IdentityProvider.token=",
            "--ServerApp.disable_check_xsrf=True",
            f"--ServerApp.root_dir={self.root}",
            "--LabApp.expose_app_in_browser=True",
            "--LabApp.extension_manager=readonly",
            "--JupyterNotebookApp.expose_app_in_browser=True",
        ]

    def _environment(self, folder):
        kept = {name: os.environ[name] for name in ("PATH", "LANG", "TMPDIR") if name in os.environ}
        path = os.pathsep.join([str(self.python.parent), kept["PATH"]])
        return {
            **kept,
            "PATH": path,
            "HOME": str(self.home),
            "JUPYTER_CONFIG_DIR": str(folder / "config"),
            "JUPYTER_RUNTIME_DIR": str(folder / "runtime"),
            "JUPYTERLAB_SETTINGS_DIR": str(folder / "settings"),
            "JUPYTERLAB_WORKSPACES_DIR": str(folder / "workspaces"),
        }

    def _settings(self, folder):
        config = self.home / ".config" / "exploracoder_jupyter" / "config.toml"
        config.parent.mkdir(parents=True)
        # Most stories script an exploration from its start.
        config.write_text('[exploration]\neffort = "explore"\nfirst_candidates = 20\n')
        chosen = {"apputils-extension/notification": {"fetchNews": "false", "checkForUpdates": False}}
        for name, value in chosen.items():
            path = folder / "settings" / "@jupyterlab" / f"{name}.jupyterlab-settings"
            path.parent.mkdir(parents=True)
            path.write_text(json.dumps(value))

    def _address(self, folder):
        began = time.monotonic()
        while not is_over(began, PATIENCE) and self._process.poll() is None:
            for path in (folder / "runtime").glob("jpserver-*.json"):
                with suppress(OSError, json.JSONDecodeError):
                    url = json.loads(path.read_text())["url"].rstrip("/").replace("localhost", "127.0.0.1")
                    urllib.request.urlopen(f"{url}/api").close()
                    return url
            time.sleep(0.1)
        raise AssertionError((folder / "server.log").read_text())

    def write(self, name, *sources, kernel="python3", load=True):
        """A notebook with these code cells; `load`: `%load_ext` goes before them."""
        loading = ["%load_ext exploracoder_jupyter"] if load else []
        cells = [new_code_cell(source) for source in (*loading, *sources)]
        kernel = {"name": kernel, "display_name": kernel, "language": "python"}
        nbformat.write(new_notebook(cells=cells, metadata={"kernelspec": kernel}), self.root / name)
        return name

    def add_kernel(self, name, python):
        """Install a kernelspec for this interpreter; pages that are loaded later know it."""
        folder = self.home / ".local" / "share" / "jupyter" / "kernels" / name
        folder.mkdir(parents=True, exist_ok=True)
        argv = [str(python), "-m", "ipykernel_launcher", "-f", "{connection_file}"]
        (folder / "kernel.json").write_text(json.dumps({"argv": argv, "display_name": name, "language": "python"}))

    def read(self, name):
        return nbformat.read(self.root / name, as_version=4)

    def page_config(self, value):
        """Set the administrator's page configuration, read at each load of a page; `None` takes it away."""
        path = self.root.parent / "config" / "labconfig" / "page_config.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(value or {}))

    def process(self):
        return psutil.Process(self._process.pid)

    def close(self):
        self._process.terminate()
        try:
            self._process.wait(patience(20))
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._log.close()


class Tab:
    """A browser tab with the application."""

    def __init__(self, context, server):
        self.page, self.server = context.new_page(), server
        self.page.set_default_timeout(patience(PATIENCE) * 1000)
        self.sidebar = Sidebar(self)
        self.complaints = []
        self.page.on("pageerror", lambda error: self._take(error.stack or str(error)))
        self.page.on("console", self._on_console)
        self.page.on("dialog", lambda dialog: dialog.accept())

    def _on_console(self, message):
        if message.type == "error":
            self._take(f"{message.text} {message.location}")

    def _take(self, complaint):
        """Keep what comes from the extension; the applications have errors of their own."""
        if "explora" in complaint.replace(self.server.url, "").lower():
            self.complaints.append(complaint)

    def start(self, path="/lab?reset"):
        self.page.goto(f"{self.server.url}{path}")
        self.ready()
        return self

    def ready(self):
        self.page.wait_for_function("window.jupyterapp?.started")
        self.page.evaluate("window.jupyterapp.started.then(() => window.jupyterapp.restored)")

    def open(self, name):
        """Open a notebook of the server's folder, and wait for its kernel."""
        self.page.evaluate(
            "path => { jupyterapp.commands.execute('docmanager:open', {path, factory: 'Notebook'}) }", name
        )
        return Notebook(self, name).ready()

    def command(self, id, **args):
        """Start a command; does not wait for its end."""
        assert self.page.evaluate("id => jupyterapp.commands.hasCommand(id)", id), f"there is no command {id}"
        self.page.evaluate("([id, args]) => { jupyterapp.commands.execute(id, args) }", [id, args])

    def reload(self):
        self.page.reload()
        self.ready()

    def until(self, condition, what="the page", seconds=PATIENCE):
        """Wait until `condition()` is true; its value."""
        began = time.monotonic()
        while not (value := condition()):
            if is_over(began, seconds):
                raise AssertionError(f"waited {time.monotonic() - began:.0f} s for {what}")
            self.page.wait_for_timeout(50)
        return value

    def open_palette(self):
        """Open the command palette with the keyboard; its input. Keys are lost while the page is starting."""
        palette = self.page.locator(".lm-CommandPalette-input:visible")

        def opened():
            if not palette.is_visible():
                self.page.keyboard.press("Control+Shift+C")
            self.page.wait_for_timeout(1000 * patience(QUIET))
            return palette.is_visible()

        self.until(opened, "the command palette")
        return palette

    def shot(self, name, locator=None, folder=ARTEFACTS):
        folder.mkdir(parents=True, exist_ok=True)
        (locator or self.page).screenshot(path=folder / f"{name}.png")

    def dialogs(self):
        return self.page.locator(".jp-Dialog-header").all_inner_texts()

    def theme(self, name):
        """`JupyterLab Light`, `JupyterLab Dark`, ..."""
        self.page.evaluate("theme => jupyterapp.commands.execute('apputils:change-theme', {theme})", name)
        self.page.wait_for_function("name => document.body.dataset.jpThemeName === name", arg=name)
        self.page.locator("#jupyterlab-splash").wait_for(state="detached")

    def clear(self):
        """Close everything that is open, unsaved, and end all kernels."""
        self.page.evaluate("""async () => {
          if (!window.jupyterapp) return;
          for (const panel of [...jupyterapp.shell.widgets('main')]) {
            await panel.sessionContext?.shutdown().catch(() => undefined);
            panel.dispose();
          }
          await jupyterapp.serviceManager.sessions.shutdownAll();
        }""")

    def tidy(self):
        """Make an application that is cleared look as it does when it is loaded; whether that is possible."""
        if self.complaints or self.page.is_closed() or self.dialogs():
            return False
        self.page.set_viewport_size(WIDE)
        return self.page.evaluate("""async () => {
          if (!window.jupyterapp?.shell.collapseRight) return false;
          const buttons = [...document.querySelectorAll('#exploracoder-sidebar button')];
          if (buttons.some(one => ['Cancel', 'Close', 'Back'].includes(one.textContent))) return false;  // an open form
          await jupyterapp.commands.execute('filebrowser:go-to-path', {path: '/', dontShowBrowser: true});
          jupyterapp.shell.activateById('filebrowser');
          jupyterapp.shell.collapseRight();
          document.activeElement?.blur();
          return [...jupyterapp.shell.widgets('main')].length <= 1;
        }""")


class Notebook:
    """A notebook that is open in a tab."""

    def __init__(self, tab, path):
        self.tab, self.page, self.path = tab, tab.page, path

    def do(self, script, arg=None):
        """The value of a JavaScript function of `arg`; `app`, `panel`, `notebook`, `model` and `kernel` are there."""
        return self.page.evaluate(_WITH_PANEL % script, [self.path, arg])

    def ready(self):
        self.page.wait_for_function(
            _WITH_PANEL % "() => kernel && panel.isVisible && notebook.widgets.length",
            arg=[self.path, None],
        )
        return self

    # ---- reading

    def cells(self):
        return self.do("() => model.sharedModel.toJSON().cells")

    def until(self, condition, what="the cells", seconds=PATIENCE):
        """Wait until a condition of the cells holds; the cells."""
        seen = []

        def look():
            seen[:] = self.cells()
            return condition(seen)

        try:
            self.tab.until(look, what, seconds)
        except AssertionError as error:
            raise AssertionError(f"{error}:\n{outline(seen)}") from None
        return seen

    def until_ended(self, seconds=PATIENCE):
        """The cells when the run has ended and its last changes, such as the collapse of the heading, are applied."""
        cells = self.until(ended, "the end of the run", seconds)
        while True:
            self.page.wait_for_timeout(1000 * patience(QUIET))
            before, cells = cells, self.cells()
            if cells == before:
                return cells

    def expand_all(self):
        """Show the cells below all headings: those of a run that has ended are collapsed."""
        self.do("() => app.shell.activateById(panel.id)")
        self.page.evaluate("jupyterapp.commands.execute('notebook:expand-all-headings')")

    def until_run(self, index):
        """Wait until the kernel has answered the cell."""
        self.until(lambda cells: cells[index].get("execution_count"), "the end of the cell")

    def dirty(self):
        return self.do("() => model.dirty")

    # ---- doing

    def index(self, id):
        return [cell["id"] for cell in self.cells()].index(id)

    def select(self, index):
        self.do("() => app.shell.activateById(panel.id)")
        self.do("index => { notebook.activeCellIndex = index; notebook.deselectAll(); }", index)

    def run(self, index):
        """Run one cell, as Ctrl-Enter does; does not wait for its end."""
        self.select(index)
        self.tab.command("notebook:run-cell")

    def run_and_wait(self, index):
        self.select(index)
        self.page.evaluate("jupyterapp.commands.execute('notebook:run-cell')")

    def run_all(self):
        self.select(0)
        self.page.evaluate("jupyterapp.commands.execute('notebook:run-all-cells')")

    def edit(self, index, source):
        """As the user's typing would."""
        self.do("([i, text]) => model.sharedModel.getCell(i).setSource(text)", [index, source])

    def save(self):
        self.do("() => panel.context.save()")

    def close(self):
        self.do("() => { panel.dispose() }")

    def command(self, id, **args):
        self.do("() => app.shell.activateById(panel.id)")
        self.tab.command(id, **args)


def metadata(cell):
    return cell.get("metadata", {}).get(NAMESPACE, {})


def ours(cells):
    """The cells that explorations made."""
    return [cell for cell in cells if "role" in metadata(cell)]


def of_role(cells, role):
    return [cell for cell in cells if metadata(cell).get("role") == role]


def ended(cells):
    """Whether the cells are those of a run that has ended."""
    return any(metadata(cell)["status"] != "running" for cell in of_role(cells, "outcome"))


def candidates(cells):
    """Candidate cells by the candidate's id."""
    return {metadata(cell)["candidate"]: cell for cell in of_role(cells, "candidate")}


def text(cell):
    """What its outputs say as plain text."""
    shown = []
    for output in cell.get("outputs", []):
        data = output.get("data", {})
        shown.append(output.get("text") or data.get("text/plain") or data.get("text/html") or output.get("evalue", ""))
    return "".join("".join(part) for part in shown)


def source(cell):
    return "".join(cell["source"])


def outline(cells):
    """The cells in a few words each, for a person who reads a failure."""
    lines = []
    for cell in cells:
        kept = {name: value for name, value in metadata(cell).items() if name in ("role", "candidate", "status")}
        lines.append(f"  {cell['id']} {kept} {source(cell)[:60]!r} -> {text(cell)[:60]!r}")
    return "\n".join(lines)

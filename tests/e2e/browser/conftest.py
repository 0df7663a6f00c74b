"""The world of the browser tests: the wheel in an environment of its own, a server, Chromium, a model that is written
beforehand.

The wheel is installed with its dependencies, as a user would, so that one that is not declared is missed here. Set
`EXPLORA_BROWSER_ENV` to a folder to keep the environment for the next time; the wheel is then installed anew in it.
"""

import fcntl
import os
import shutil
import subprocess
import sys
import venv
from pathlib import Path

import pytest
from playwright.sync_api import sync_playwright
from pytest_httpserver import HTTPServer

from tests.e2e.browser.lab import WIDE, Server, Tab
from tests.e2e.browser.play import Play, Stage

ROOT = Path(__file__).parents[3]
CHROMIUM = shutil.which(os.environ.get("EXPLORA_CHROMIUM") or "chromium")


@pytest.fixture(scope="package")
def chromium():
    """Its path. Without it a test is passed over, but not in the continuous integration."""
    if not CHROMIUM:
        end = pytest.fail if os.environ.get("CI") else pytest.skip
        end("there is no Chromium: `apt install chromium`, or set EXPLORA_CHROMIUM=path")
    return CHROMIUM


def install(folder, *what):
    """With uv, in seconds, where there is one that reaches an index; otherwise with pip."""
    python = folder / "bin" / "python"
    uv = shutil.which("uv")
    if not uv or subprocess.run([uv, "pip", "install", "--quiet", "--python", python, *what]).returncode:
        pip = [python, "-m", "pip", "--quiet", "--disable-pip-version-check", "install", "--no-compile"]
        subprocess.run([*pip, *what], check=True)


@pytest.fixture(scope="package")
def environment(request, tmp_path_factory):
    """The wheel, JupyterLab and Notebook in an environment of their own, which the processes of one pytest share."""
    folder = tmp_path_factory.getbasetemp()
    if hasattr(request.config, "workerinput"):
        folder = folder.parent
    kept = os.environ.get("EXPLORA_BROWSER_ENV")
    ready = folder / "environment-ready"
    with (folder / "environment-lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        environment = Path(kept) if kept else folder / "environment"
        if not ready.exists():
            make_environment(environment, folder / "wheel")
            ready.touch()
    return environment


def make_environment(folder, wheels):
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, "wheel", "--no-deps", "--wheel-dir", wheels, ROOT], check=True)
    [wheel] = wheels.glob("*.whl")
    if not (folder / "bin" / "python").exists():
        venv.create(folder, with_pip=True)
    else:
        mine = [folder / "bin" / "python", "-m", *pip[2:], "uninstall", "--yes", "exploracoder-jupyter"]
        subprocess.run(mine, check=True)
    install(folder, f"{wheel}[lab,repo,widgets]", "notebook>=7.5", "pandas", "polars", "pytest", "xarray")


@pytest.fixture(scope="package")
def stage():
    server = HTTPServer(threaded=True)
    server.start()
    stage = Stage(server)
    yield stage
    stage.close()
    server.stop()


@pytest.fixture(scope="package")
def server(chromium, environment, tmp_path_factory):
    """A server; where there is no browser for it, no environment is made."""
    server = Server(environment, tmp_path_factory.mktemp("lab"))
    yield server
    server.close()


@pytest.fixture(scope="package")
def browser(chromium):
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=chromium, args=["--no-sandbox"] if os.geteuid() == 0 else []
        )
        yield browser
        browser.close()


@pytest.fixture(scope="package")
def context(browser):
    context = browser.new_context(viewport=WIDE)
    yield context
    context.close()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    """A failed story leaves pictures of its tabs, which no other story uses."""
    report = yield
    if call.when == "call":
        item.was_passed = report.passed
    if report.failed and call.when == "call":
        for number, tab in enumerate(getattr(item, "opened_tabs", ())):
            tab.shot(f"failed-{item.name}-{number}")
    return report


@pytest.fixture
def tabs(context, server, request):
    """Opens tabs; they are closed in the end, with all kernels."""
    opened = request.node.opened_tabs = []

    def open_tab(path="/lab?reset"):
        opened.append(Tab(context, server))
        return opened[-1].start(path)

    yield open_tab
    for tab in opened:
        tab.clear()
        tab.page.close()


@pytest.fixture(scope="package")
def loaded_tabs(context, server):
    """Tabs with JupyterLab that nothing is open in: to load it takes most of the time of a short story."""
    loaded = []
    yield loaded
    for tab in loaded:
        tab.page.close()


@pytest.fixture
def tab(loaded_tabs, context, server, request):
    """A tab with JupyterLab. What the extension complained of in the console fails the test."""
    tab = loaded_tabs.pop() if loaded_tabs else Tab(context, server).start()
    request.node.opened_tabs = [tab]
    yield tab
    tab.clear()
    if getattr(request.node, "was_passed", False) and tab.tidy():
        loaded_tabs.append(tab)
    else:
        tab.page.close()
    assert not tab.complaints


@pytest.fixture
def play(stage, request):
    """Puts a play on the stage under the test's name, which is the model's name in a cell."""
    opened = []

    def put(*scenes, name="", **more):
        name = name or f"{request.node.name.removeprefix('test_')}-{len(opened)}"
        opened.append(stage.put(Play(name, list(scenes), **more)))
        return opened[-1]

    yield put
    for play in opened:
        play.close()

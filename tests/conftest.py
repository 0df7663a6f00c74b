"""The world of the tests: no real network, no user files, no keys."""

import gc
import itertools
import os
import socket

import pytest
import pytest_timeout
from hypothesis import settings

import exploracoder_jupyter.trace  # noqa: F401  before anything imports nbformat, which then takes two seconds less
from tests.patience import patience

_LOCAL = {"127.0.0.1", "::1", "localhost"}

# `--hypothesis-profile=thorough` tries more examples; continuous integration does.
settings.register_profile("quick", max_examples=8, deadline=None, derandomize=True, database=None)
settings.register_profile("thorough", settings.get_profile("quick"), max_examples=30)
settings.load_profile("quick")


def pytest_collection_finish():
    """What has been imported stays: the garbage collector skips it, and runs less often."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)


@pytest.fixture(scope="session", autouse=True)
def _own_history(tmp_path_factory):
    """What fixtures explore that outlive a test leaves no line in the user's history."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))
        yield


@pytest.fixture(scope="session")
def anyio_backend():
    return "asyncio"


@pytest.fixture(scope="session")
def _homes(tmp_path_factory):
    """New folders, one for each test, in one folder: pytest lists the siblings of each `tmp_path` that it makes."""
    homes = tmp_path_factory.mktemp("homes")
    return (homes / str(number) for number in itertools.count())


@pytest.fixture(autouse=True)
def _own_world(monkeypatch, _homes, request):
    """Every test gets its own user folders and no key. Tests with kernels script an exploration from its start."""
    home = next(_homes)
    home.mkdir()
    for name in [n for n in os.environ if n.startswith(("OPENAI_", "EXPLORACODER_"))]:
        monkeypatch.delenv(name)
    for name in (
        "XDG_CONFIG_HOME",
        "XDG_CACHE_HOME",
        "XDG_DATA_HOME",
        "XDG_STATE_HOME",
        "IPYTHONDIR",
        "JUPYTER_CONFIG_DIR",
    ):
        monkeypatch.setenv(name, str(home / name.lower()))
    if "/tests/unit/" not in str(request.path):
        config = home / "xdg_config_home" / "exploracoder_jupyter" / "config.toml"
        config.parent.mkdir(parents=True)
        config.write_text('[exploration]\neffort = "explore"\nfirst_candidates = 20\n', encoding="utf-8")


@pytest.fixture(autouse=True)
def _no_network(monkeypatch):
    """A connection to anything but this machine fails the test instead of being made."""
    real = socket.socket.connect

    def connect(self, address):
        if self.family in (socket.AF_INET, socket.AF_INET6) and address[0] not in _LOCAL:
            pytest.fail(f"a test tried to reach {address!r}")
        return real(self, address)

    monkeypatch.setattr(socket.socket, "connect", connect)


def pytest_addoption(parser):
    parser.addoption("--full", action="store_true", help="also run what is marked `full`, and each test at every level")


def pytest_collection_modifyitems(config, items):
    """The ring of a test is its folder. Without `--full`, only a part is run: see `_left_to_the_full_run`."""
    for item in items:
        for ring in ("integration", "e2e"):
            if f"/tests/{ring}/" in str(item.path):
                item.add_marker(ring)
    left = set() if config.getoption("--full") or _is_named(config) else _left_to_the_full_run(items)
    if left:
        config.hook.pytest_deselected(items=[item for item in items if item in left])
        items[:] = [item for item in items if item not in left]


def _is_named(config):
    """Whether the command line picks single tests, which are then run whatever they are."""
    return bool(config.getoption("keyword")) or any("::" in name for name in config.args)


def _left_to_the_full_run(items):
    """Tests marked `full`; and of a test that has a level of isolation, all levels but one, another for each test.

    An ordinary user tries what root tries at other levels.
    """
    left = {item for item in items if item.get_closest_marker("full")}
    groups = {}
    for item in items:
        given = dict(item.callspec.params) if hasattr(item, "callspec") else {}
        if given.pop("level", None) in getattr(item.module, "LEVELS", ()):
            groups.setdefault((item.path, item.originalname, repr(sorted(given.items()))), []).append(item)
    for place, group in enumerate(groups.values(), start=2 * (os.getuid() != 0)):
        left.update(item for item in group if item is not group[place % len(group)])
    return left


@pytest.hookimpl(tryfirst=True)
def pytest_timeout_set_timer(item, settings):
    """The bound of every test, its own or that of `pyproject.toml`, is longer on a busy machine."""
    return pytest_timeout.pytest_timeout_set_timer(item, settings._replace(timeout=patience(settings.timeout)))

"""The world of the tests: no real network, no user files, no keys."""

import os
import socket

import pytest
import pytest_timeout

from tests.patience import patience

_LOCAL = {"127.0.0.1", "::1", "localhost"}


@pytest.fixture(scope="session", autouse=True)
def _own_history(tmp_path_factory):
    """What fixtures explore that outlive a test leaves no line in the user's history."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))
        yield


@pytest.fixture(autouse=True)
def _own_world(monkeypatch, tmp_path_factory):
    """Every test gets its own user folders and no key."""
    home = tmp_path_factory.mktemp("home")
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


@pytest.fixture(autouse=True)
def _no_network(monkeypatch):
    """A connection to anything but this machine fails the test instead of being made."""
    real = socket.socket.connect

    def connect(self, address):
        if self.family != socket.AF_UNIX and address[0] not in _LOCAL:
            pytest.fail(f"a test tried to reach {address!r}")
        return real(self, address)

    monkeypatch.setattr(socket.socket, "connect", connect)


def pytest_collection_modifyitems(items):
    """The ring of a test is its folder."""
    for item in items:
        for ring in ("integration", "e2e"):
            if f"/tests/{ring}/" in str(item.path):
                item.add_marker(ring)


@pytest.hookimpl(tryfirst=True)
def pytest_timeout_set_timer(item, settings):
    """The bound of every test, its own or that of `pyproject.toml`, is longer on a busy machine."""
    return pytest_timeout.pytest_timeout_set_timer(item, settings._replace(timeout=patience(settings.timeout)))

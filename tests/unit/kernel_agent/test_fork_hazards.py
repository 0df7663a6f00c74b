"""What a fork cannot carry, with fakes of libraries, real threads, sockets and files."""

import multiprocessing.pool
import socket
import sqlite3
import sys
import tempfile
import threading
import types
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from exploracoder_jupyter.kernel_agent.forking import fork_hazards


class Rude:
    """Fails on whatever is asked of it."""

    def __getattribute__(self, name):
        raise AssertionError(name)

    __class__ = property(lambda self: AssertionError)
    __eq__ = __hash__ = __bool__ = __len__ = __repr__ = lambda *_: 1 / 0


def hazards(namespace=None, **options):
    return {
        (found["kind"], found["library"], found["what"])
        for found in fork_hazards.find_hazards(namespace or {}, **options)
    }


def new(before, namespace=None, **options):
    """Hazards that were not there before: the test's own process has its share of threads."""
    return hazards(namespace, **options) - before


@pytest.fixture
def before():
    return hazards()


def loaded(monkeypatch, name, **variables):
    module = types.ModuleType(name)
    vars(module).update(variables)
    monkeypatch.setitem(sys.modules, name, module)
    return module


def test_values_are_not_touched(before):
    assert new(before, {"rude": Rude(), "class": Rude, 3: Rude(), "module": sys}) == set()


def test_an_open_thread_pool_refuses_until_shutdown(before):
    with ThreadPoolExecutor(1) as pool:
        pool.submit(int).result()
        ((kind, _, what),) = new(before)
    assert kind == "refuse" and what.startswith("a thread pool is open")
    assert new(before) == set()
    with multiprocessing.pool.ThreadPool(1):
        ((kind, _, what),) = new(before)
    assert kind == "refuse" and what.startswith("a multiprocessing pool")


def test_pools_that_a_fork_recreates_are_not_reported(before, monkeypatch):
    with ThreadPoolExecutor(1) as pool, ThreadPoolExecutor(1, thread_name_prefix="asyncio") as default:
        pool.submit(int).result()
        default.submit(int).result()
        loaded(monkeypatch, "dask.threaded", default_pool=pool)
        assert new(before) == set()


def test_other_threads_are_named(before):
    end = threading.Event()
    thread = threading.Thread(target=lambda: end.wait(), name="my poller")
    thread.start()
    found = new(before)
    end.set()
    thread.join()
    assert any(kind == "warn" and "my poller" in what for kind, _, what in found)


@pytest.mark.parametrize(
    "library, module, variables",
    [
        ("jax", "jax._src.xla_bridge", {"_backends": {"cpu": 1}}),
        ("numba", "numba.np.ufunc.parallel", {"_is_initialized": True, "_threading_layer": "omp"}),
        ("torch", "torch.cuda", {"_initialized": True}),
        ("ray", "ray._private.worker", {"global_worker": types.SimpleNamespace(mode=0)}),
        ("pyspark", "pyspark.context", {"SparkContext": type("SparkContext", (), {"_active_spark_context": 1})}),
        ("dask", "distributed.client", {"_global_clients": {0: 1}}),
    ],
)
def test_libraries_that_are_up_refuse(before, monkeypatch, library, module, variables):
    loaded(monkeypatch, module, **variables)
    assert {(kind, name) for kind, name, _ in new(before)} == {("refuse", library)}


@pytest.mark.parametrize(
    "module, variables",
    [
        ("polars", {}),
        ("jax._src.xla_bridge", {"_backends": {}}),
        ("numba.np.ufunc.parallel", {"_is_initialized": True, "_threading_layer": "workqueue"}),
        ("torch.cuda", {"_initialized": False}),
        ("ray._private.worker", {"global_worker": types.SimpleNamespace(mode=None)}),
    ],
)
def test_libraries_that_are_only_loaded_do_not(before, monkeypatch, module, variables):
    loaded(monkeypatch, module, **variables)
    assert new(before) == set()


def test_a_lazy_module_stays_lazy(before, monkeypatch):
    class Lazy(types.ModuleType):
        def __getattribute__(self, name):
            raise AssertionError(name)

    monkeypatch.setitem(sys.modules, "torch.cuda", Lazy("torch.cuda"))
    assert new(before) == set()


def test_an_internal_connection_leads_nowhere(before):
    left, right = socket.socketpair()
    with left, right, socket.create_server(("127.0.0.1", 0)) as server:
        assert new(before) == set()
        with socket.create_connection(server.getsockname()), server.accept()[0]:
            assert new(before) == set()


def test_sqlite_connections_and_files_are_reported(before, tmp_path):
    path = tmp_path / "data.db"
    connection = sqlite3.connect(path)
    connection.execute("create table t(a)")
    found = new(before, {"db": connection})
    connection.close()
    assert {(kind, name) for kind, name, _ in found} == {("warn", "sqlite3")}
    assert any("connections such as db" in what for *_, what in found)


@pytest.fixture
def folder_on_disk():
    """A folder outside `/dev/shm`, where `scripts/test` has the unit tests write, and whose files are no hazard."""
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
        yield Path(folder)


def test_an_open_database_file_is_reported(before, folder_on_disk):
    own, path = folder_on_disk / "exploracoder_jupyter" / "history.sqlite", folder_on_disk / "data.db"
    own.parent.mkdir()
    connections = [sqlite3.connect(one) for one in (own, path)]
    for connection in connections:
        connection.execute("create table t(a)")
    found = new(before)
    for connection in connections:
        connection.close()
    assert [str(path) in what for *_, what in found] == [True]


def test_locks_that_nobody_can_release_refuse(before):
    lock, free = threading.RLock(), threading.RLock()
    with lock:
        ((kind, _, what),) = new(before, {"lock": lock, "free": free})
    assert kind == "refuse" and "the lock lock is held" in what


def test_other_systems_refuse(monkeypatch):
    monkeypatch.setattr(sys, "platform", "darwin")
    assert [found["kind"] for found in fork_hazards.find_hazards({})] == ["refuse"]


def test_risky_libraries_are_named_likeliest_first():
    assert fork_hazards.risky_libraries_in(["os", "pyarrow", "polars", "polars.frame"]) == ["polars", "pyarrow"]

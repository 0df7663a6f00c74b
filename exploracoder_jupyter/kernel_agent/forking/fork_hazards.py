"""Finds what a fork of this kernel would lose or break.

Runs in a kernel just before it is forked, within a few milliseconds. It only inspects: no library is imported or
initialised, no method of a value runs, descriptors and locks are left as they are. Hazards of kind `refuse` have been
observed to hang, to be killed, or to affect through the fork what the kernel uses; hazards of kind `warn` are merely
missing in experiments. Libraries that are loaded but harmless when forked from a helper thread (numpy, pyarrow,
scikit-learn, torch on the CPU, duckdb) are not reported here; `risky_libraries_in` names them if a fork hangs
nevertheless.
"""

from __future__ import annotations

import _imp
import _thread
import contextlib
import glob
import re
import sys
import threading
import types
from collections.abc import Collection, Iterator, Mapping, Sized
from itertools import chain

from exploracoder_jupyter.kernel_agent.forking import open_connections
from exploracoder_jupyter.kernel_agent.forking.lost_workers import find_workers, instance_attributes, module_variable

Hazard = dict[str, str]
RISKY_LIBRARIES = (
    *("polars", "jax", "tensorflow", "ray", "numba", "torch", "distributed", "grpc", "pyspark", "jpype", "tokenizers"),
    *("lightgbm", "xgboost", "catboost", "sklearn", "faiss", "datafusion", "lancedb", "duckdb", "pyarrow", "cv2"),
    *("dask", "joblib", "numexpr", "mkl", "scipy"),
)
"""Libraries that run their own threads, most likely to hang a fork first."""
_CLIENTS = {
    *("MySQLdb", "aiohttp", "asyncpg", "cassandra", "clickhouse_driver", "confluent_kafka", "cx_Oracle", "httpx"),
    *("ipyparallel", "kafka", "mysql", "oracledb", "paramiko", "pika", "psycopg", "psycopg2", "py4j", "pymongo"),
    *("pymssql", "pymysql", "pyodbc", "redis", "requests", "sqlalchemy"),
}
"""Packages whose objects hold connections."""
_SQLITE = ("sqlite3", "Connection")


def find_hazards(namespace: Mapping[str, object], *, ours: Collection[int] = ()) -> list[Hazard]:
    """Return the hazards of forking this process now, refusals first, each as `{"kind", "library", "what"}`.

    `namespace`: the user's variables; only types are inspected, except for locks and known containers.
    `ours`: descriptors used for branching itself.
    """
    if not sys.platform.startswith("linux"):
        return [_refuse("", "forks of a running kernel work on Linux only")]
    variables = _variables_by_type(namespace)
    hazards = chain(
        _initialized_libraries(),
        _lost_workers(),
        _open_resources(variables, ours),
        _held_locks(namespace),
        _kernel_bound_objects(variables),
        _asyncio_tasks(),
    )
    unique = {tuple(hazard.values()): hazard for hazard in hazards}
    return sorted(unique.values(), key=lambda hazard: hazard["kind"] != "refuse")


def risky_libraries_in(modules: Collection[str]) -> list[str]:
    """Return the modules that run their own threads, most likely to hang a fork first."""
    return [name for name in RISKY_LIBRARIES if name in modules]


def _refuse(library: str, what: str) -> Hazard:
    return {"kind": "refuse", "library": library, "what": what}


def _warn(library: str, what: str) -> Hazard:
    return {"kind": "warn", "library": library, "what": what}


def _variables_by_type(namespace: Mapping[str, object]) -> dict[tuple[str, str], str]:
    """Map module and name of the classes of all values, including base classes, to a variable of that class."""
    first = {type(value): name for name, value in reversed(list(namespace.items())) if type(name) is str}
    bases = type.__dict__["__mro__"].__get__
    found = {}
    for kind, name in first.items():
        for base in bases(kind):
            module, qualified_name = (type.__getattribute__(base, key) for key in ("__module__", "__qualname__"))
            if type(module) is str and type(qualified_name) is str:
                found[module, qualified_name] = name
    return found


def _initialized_libraries() -> Iterator[Hazard]:
    for library, runs, clause in _library_states():
        if runs:
            yield _refuse(library, f"{library} {clause}")


def _library_states() -> Iterator[tuple[str, object, str]]:
    """Yield library, whether it has started what a fork breaks, and what that is."""
    pool, threads = "keeps a thread pool that does not survive a fork", _native_threads()
    for library, pattern in (("polars", r"polars-\d"), ("tensorflow", "tf_")):  # Polars' thread 0 may start last
        yield library, library in sys.modules and any(re.match(pattern, name) for name in threads), pool
    yield "jax", module_variable("jax._src.xla_bridge", "_backends"), pool
    openmp = module_variable("numba.np.ufunc.parallel", "_threading_layer") == "omp"
    initialized = module_variable("numba.np.ufunc.parallel", "_is_initialized")
    yield "numba", openmp and initialized, "has used GNU OpenMP, which ends a process that is forked afterwards"
    cuda = module_variable("torch.cuda", "_initialized")
    yield "torch", cuda, "has opened CUDA, which cannot be used in a fork"
    worker = instance_attributes(module_variable("ray._private.worker", "global_worker"))
    yield "ray", worker.get("mode") is not None, "is connected to its cluster, which a fork cannot share"
    clients = module_variable("distributed.client", "_global_clients")
    yield "dask", isinstance(clients, Sized) and len(clients), "is connected to a cluster, which a fork cannot share"
    started = module_variable("_jpype", "isStarted")
    runs = type(started) is types.BuiltinFunctionType and started()
    yield "jpype", runs, "runs a Java machine, which does not survive a fork"
    for module in ("pyspark.core.context", "pyspark.context"):
        context = instance_attributes(module_variable(module, "SparkContext")).get("_active_spark_context")
        yield "pyspark", context, "is connected to a Java machine, which a fork cannot share"


def _native_threads() -> set[str]:
    """Return the names of this process's threads, including native ones; libraries name theirs."""
    found = set()
    for path in glob.iglob("/proc/self/task/*/comm"):
        with contextlib.suppress(OSError), open(path, encoding="utf-8", errors="replace") as file:  # it may have ended
            found.add(file.read().strip())
    return found


def _lost_workers() -> Iterator[Hazard]:
    pools, threads, processes = find_workers()
    for library, pool in pools:
        yield _refuse(library, f"{pool} is open, whose workers a fork leaves behind: using it there would wait forever")
    for names, words in (
        (threads, "experiments lack the background thread"),
        (processes, "experiments cannot wait for the process"),
    ):
        if names:
            plural = "" if len(names) == 1 else "es" if words.endswith("s") else "s"
            yield _warn("", f"{words}{plural} {', '.join(sorted(names)[:3])}{', ...' if len(names) > 3 else ''}")


def _open_resources(variables: Collection[tuple[str, str]], ours: Collection[int]) -> Iterator[Hazard]:
    targets = open_connections.descriptor_targets(ours)
    for interface in open_connections.gpu_interfaces(targets):
        yield _refuse("", f"a GPU is in use through {interface}, which a fork cannot use")
    clients = sorted({module.partition(".")[0] for module, _ in variables} & _CLIENTS)
    names = ("shell_port", "iopub_port", "stdin_port", "hb_port", "control_port")
    ports = [getattr(_application(), name, 0) for name in names]
    for connection in open_connections.outgoing_connections(targets, ports):
        peer = f"{connection.service} at {connection.peer}" if connection.service else connection.peer
        if connection.reconnects:
            yield _warn("", f"experiments lack the connection to {peer}")
        else:
            library = clients[0] if len(clients) == 1 else ""
            yield _refuse(library, f"a connection to {peer} is open, which a fork cannot share")
    for kind, path in open_connections.open_databases(targets):
        if not _is_own_database(path) and not (kind == "SQLite" and _SQLITE in variables):
            yield _warn(kind.lower(), f"the {kind} file {path} is open: writes to it by experiments remain private")


def _application() -> object:
    kind = module_variable("ipykernel.kernelapp", "IPKernelApp")
    return kind.__dict__.get("_instance") if isinstance(kind, type) else None


def _is_own_database(path: str) -> bool:
    """Whether the kernel or this package opened the file: IPython's history, or the record of runs and the cache."""
    history = getattr(getattr(_application(), "shell", None), "history_manager", None)
    ours = "/exploracoder_jupyter/" in path and path.endswith(".sqlite")
    return ours or path == str(getattr(history, "hist_file", ""))


def _held_locks(namespace: Mapping[str, object]) -> Iterator[Hazard]:
    """Yield what no thread or process of a fork could release or serve: locks, data loaders with persistent workers."""
    _, other_threads, _ = find_workers()
    loader = module_variable("torch.utils.data", "DataLoader")
    for name, value in list(namespace.items()):
        if type(value) is loader and instance_attributes(value).get("_iterator") is not None:
            yield _refuse("torch", f"the DataLoader {name} keeps worker processes, which a fork cannot use")
        orphaned = type(value) is _thread.RLock and repr(value).startswith("<locked")  # a fork lacks the owning thread
        if orphaned or (type(value) is _thread.LockType and other_threads and value.locked()):
            yield _refuse("", f"the lock {name} is held, and no thread in a fork could release it")
    references = module_variable("_frozen_importlib", "_module_locks")
    locks = [reference() for reference in list(references.values())] if isinstance(references, dict) else []
    if _imp.lock_held() or {getattr(lock, "owner", None) for lock in locks} - {None, threading.get_ident()}:
        yield _refuse("", "another thread is importing a module")


def _kernel_bound_objects(variables: Mapping[tuple[str, str], str]) -> Iterator[Hazard]:
    """Yield objects bound to the front end, the debugger, or the thread that created them."""
    if _SQLITE in variables:
        advice = "experiments open new ones and keep their writes private; in-memory databases are unavailable"
        yield _warn("sqlite3", f"sqlite connections such as {variables[_SQLITE]} only work in your kernel: {advice}")
    if ("ipywidgets.widgets.widget", "Widget") in variables:
        yield _warn("ipywidgets", "widgets do not react in experiments")
    if getattr(getattr(_application(), "kernel", None), "eventloop", None) is not None:
        yield _warn("", "experiments lack the event loop of windows")
    debugged = getattr(module_variable("_pydevd_bundle.pydevd_constants", "GlobalDebuggerHolder"), "global_dbg", None)
    if sys.gettrace() or threading.gettrace() or debugged:
        yield _warn("", "a debugger or tracer is attached, which is not active in experiments")


def _asyncio_tasks() -> Iterator[Hazard]:
    """Yield the user's tasks on the kernel's event loop; those of Jupyter are recreated."""
    asyncio = sys.modules.get("asyncio")
    loop = getattr(getattr(getattr(_application(), "kernel", None), "io_loop", None), "asyncio_loop", None)
    if asyncio is None or loop is None:
        return
    waiting = [task.get_coro() for task in asyncio.all_tasks(loop) if type(task) is asyncio.Task and not task.done()]
    codes = [coroutine.cr_code for coroutine in waiting if isinstance(coroutine, types.CoroutineType)]
    jupyter = {"ipykernel", "tornado", "zmq", "IPython", "jupyter_client", "exploracoder_jupyter", "anyio"}
    names = sorted({code.co_name for code in codes if jupyter.isdisjoint(code.co_filename.split("/"))})
    if names:
        yield _warn("", f"experiments lack the asyncio tasks of {', '.join(names)}")

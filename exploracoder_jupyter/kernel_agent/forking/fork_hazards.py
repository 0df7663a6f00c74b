"""What in this kernel a fork cannot carry, and which of its variables look like credentials.

Runs in a kernel just before it is forked, in a few milliseconds. It looks and never acts: no library is imported or
initialised, no method of a value runs, descriptors and locks are left as they are. `refuse` is said of what was seen
to hang, to be killed, or to reach through the fork into what the kernel uses; `warn` of what experiments merely lack.
Libraries that are loaded but harmless when forked from a helper thread (numpy, pyarrow, scikit-learn, torch on the CPU,
duckdb) are not told here; `loaded` names them when a fork hangs all the same.
"""

from __future__ import annotations

import _imp
import _thread
import glob
import sys
import threading
import types

from exploracoder_jupyter.kernel_agent.forking import lost_workers, open_connections
from exploracoder_jupyter.kernel_agent.forking.secret_variables import secretive

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping

__all__ = ["RISKY", "find", "loaded", "secretive"]

Hazard = dict[str, str]
RISKY = (
    *("polars", "jax", "tensorflow", "ray", "numba", "torch", "distributed", "grpc", "pyspark", "jpype", "tokenizers"),
    *("lightgbm", "xgboost", "catboost", "sklearn", "faiss", "datafusion", "lancedb", "duckdb", "pyarrow", "cv2"),
    *("dask", "joblib", "numexpr", "mkl", "scipy"),
)
"""Libraries with threads of their own, the likeliest to hang a fork first."""
_CLIENTS = {
    *("MySQLdb", "aiohttp", "asyncpg", "cassandra", "clickhouse_driver", "confluent_kafka", "cx_Oracle", "httpx"),
    *("ipyparallel", "kafka", "mysql", "oracledb", "paramiko", "pika", "psycopg", "psycopg2", "py4j", "pymongo"),
    *("pymssql", "pymysql", "pyodbc", "redis", "requests", "sqlalchemy"),
}
"""Packages whose objects hold connections."""
_SQLITE = ("sqlite3", "Connection")


def find(namespace: Mapping[str, object], *, ours: Collection[int] = ()) -> list[Hazard]:
    """Hazards of forking this process now, those that refuse first, each as `{"kind", "library", "what"}`.

    `namespace`: the user's variables, of which only types are looked at, locks and known containers excepted.
    `ours`: descriptors that belong to the machinery of branches.
    """
    if not sys.platform.startswith("linux"):
        return [_refuse("", "forks of a running kernel work on Linux only")]
    kinds = _kinds(namespace)
    found = [*_initialised(), *_running(), *_open(kinds, ours), *_locks(namespace), *_loaders(namespace)]
    found += [*_interactive(kinds), *_tasks()]
    unique = {tuple(hazard.values()): hazard for hazard in found}
    return sorted(unique.values(), key=lambda hazard: hazard["kind"] != "refuse")


def loaded(modules: Collection[str]) -> list[str]:
    """Those of the modules that keep threads of their own, the likeliest to hang a fork first."""
    return [name for name in RISKY if name in modules]


def _refuse(library: str, what: str) -> Hazard:
    return {"kind": "refuse", "library": library, "what": what}


def _warn(library: str, what: str) -> Hazard:
    return {"kind": "warn", "library": library, "what": what}


def _kinds(namespace: Mapping[str, object]) -> dict[tuple[str, str], str]:
    """Module and name of the classes of all values, base classes included, each with a variable that has it."""
    first = {type(value): name for name, value in reversed(list(namespace.items())) if type(name) is str}
    bases = type.__dict__["__mro__"].__get__
    found = {}
    for kind, name in first.items():
        for base in bases(kind):
            module, own = (type.__getattribute__(base, key) for key in ("__module__", "__qualname__"))
            if type(module) is str and type(own) is str:
                found[module, own] = name
    return found


def _initialised() -> Iterator[Hazard]:
    """Libraries whose native threads or connections are up."""
    pool = "keeps a thread pool that does not survive a fork"
    native = _native_threads()
    for library, applies in _STATES.items():
        if applies(native):
            yield _refuse(library, f"{library} {_OWN_CLAUSE.get(library, pool)}")


def _native_threads() -> set[str]:
    """Names of this process's threads, those of no Python included; libraries name theirs."""
    found = set()
    for path in glob.iglob("/proc/self/task/*/comm"):
        try:
            with open(path, encoding="utf-8", errors="replace") as file:
                found.add(file.read().strip())
        except OSError:
            continue  # the thread has ended
    return found


def _has(native: Iterable[str], prefix: str) -> bool:
    return any(name.startswith(prefix) for name in native)


def _held(module: str, variable: str) -> object:
    return lost_workers.module_variables(module).get(variable)


def _ray_runs() -> bool:
    return lost_workers.attributes(_held("ray._private.worker", "global_worker")).get("mode") is not None


def _jvm_runs() -> bool:
    started = _held("_jpype", "isStarted")
    return type(started) is types.BuiltinFunctionType and bool(started())


def _spark_runs() -> bool:
    contexts = (_held(module, "SparkContext") for module in ("pyspark.core.context", "pyspark.context"))
    return any(lost_workers.attributes(context).get("_active_spark_context") for context in contexts if context)


def _numba_uses_openmp() -> bool:
    parallel = lost_workers.module_variables("numba.np.ufunc.parallel")
    return bool(parallel.get("_is_initialized")) and parallel.get("_threading_layer") == "omp"


_STATES: dict[str, Callable[[set[str]], bool]] = {
    "polars": lambda native: "polars" in sys.modules and _has(native, "polars-0"),
    "jax": lambda _: bool(_held("jax._src.xla_bridge", "_backends")),
    "tensorflow": lambda native: "tensorflow" in sys.modules and _has(native, "tf_"),
    "numba": lambda _: _numba_uses_openmp(),
    "torch": lambda _: bool(_held("torch.cuda", "_initialized")),
    "ray": lambda _: _ray_runs(),
    "dask": lambda _: len(_held("distributed.client", "_global_clients") or ()) > 0,  # type: ignore[arg-type]
    "jpype": lambda _: _jvm_runs(),
    "pyspark": lambda _: _spark_runs(),
}
_OWN_CLAUSE = {
    "numba": "has used GNU OpenMP, which ends a process that is forked afterwards",
    "torch": "has opened CUDA, which cannot be used in a fork",
    "ray": "is connected to its cluster, which a fork cannot share",
    "dask": "is connected to a cluster, which a fork cannot share",
    "jpype": "runs a Java machine, which does not survive a fork",
    "pyspark": "is connected to a Java machine, which a fork cannot share",
}


def _running() -> Iterator[Hazard]:
    """Pools, threads and processes that stay behind."""
    work = lost_workers.look()
    for library, pool in work.pools:
        yield _refuse(library, f"{pool} is open, whose workers a fork leaves behind: using it there waits for ever")
    if work.threads:
        yield _warn("", f"experiments lack the background {_listed('thread', work.threads)}")
    if work.processes:
        yield _warn("", f"experiments cannot wait for the {_listed('process', work.processes)}")


def _listed(word: str, names: list[str]) -> str:
    plural = {"thread": "threads", "process": "processes"}[word]
    shown = ", ".join(sorted(names)[:3]) + (", ..." if len(names) > 3 else "")
    return f"{word if len(names) == 1 else plural} {shown}"


def _open(kinds: Collection[tuple[str, str]], ours: Collection[int]) -> Iterator[Hazard]:
    """Connections, databases and GPUs."""
    seen = open_connections.look(ports=_kernel_ports(), ours=ours)
    for interface in seen.gpus:
        yield _refuse("", f"a GPU is in use through {interface}, which a fork cannot use")
    clients = sorted({module.partition(".")[0] for module, _ in kinds} & _CLIENTS)
    for connection in seen.connections:
        where = f"{connection.service} at {connection.peer}" if connection.service else connection.peer
        if connection.heals:
            yield _warn("", f"experiments lack the connection to {where}")
        else:
            library = clients[0] if len(clients) == 1 else ""
            yield _refuse(library, f"a connection to {where} is open, which a fork cannot share")
    for kind, path in seen.databases:
        if path != _history_file() and not (kind == "SQLite" and _SQLITE in kinds):
            yield _warn(kind.lower(), f"the {kind} file {path} is open: what experiments write to it stays with them")


def _application() -> object:
    kind = _held("ipykernel.kernelapp", "IPKernelApp")
    return kind.__dict__.get("_instance") if isinstance(kind, type) else None


def _kernel_ports() -> list[int]:
    names = ("shell_port", "iopub_port", "stdin_port", "hb_port", "control_port")
    return [getattr(_application(), name, 0) for name in names]


def _history_file() -> str:
    history = getattr(getattr(_application(), "shell", None), "history_manager", None)
    return str(getattr(history, "hist_file", ""))


def _locks(namespace: Mapping[str, object]) -> Iterator[Hazard]:
    """Locks that nobody is left to release: of variables, and of imports that other threads are at."""
    others = bool(lost_workers.look().threads)
    for name, value in list(namespace.items()):
        held = type(value) is _thread.RLock and repr(value).startswith("<locked")  # its owner is a thread that ends
        if held or (type(value) is _thread.LockType and others and value.locked()):
            yield _refuse("", f"the lock {name} is held, and nobody is left to release it in a fork")
    if _imp.lock_held() or _importing():
        yield _refuse("", "another thread is importing a module")


def _importing() -> bool:
    bootstrap = lost_workers.module_variables("_frozen_importlib").get("_module_locks")
    locks = [reference() for reference in list(bootstrap.values())] if isinstance(bootstrap, dict) else []
    owners = {getattr(lock, "owner", None) for lock in locks} - {None, threading.get_ident()}
    return bool(owners)


def _loaders(namespace: Mapping[str, object]) -> Iterator[Hazard]:
    """torch's loaders with processes that they keep: in a fork they raise."""
    kind = _held("torch.utils.data", "DataLoader")
    for name, value in list(namespace.items()):
        if type(value) is kind and lost_workers.attributes(value).get("_iterator") is not None:
            yield _refuse("torch", f"the DataLoader {name} keeps worker processes, which a fork cannot use")


def _interactive(kinds: Mapping[tuple[str, str], str]) -> Iterator[Hazard]:
    """What belongs to the front end, the debugger, or the thread that made it."""
    if _SQLITE in kinds:
        told = "an experiment connects anew and keeps what it writes; one in memory is out of its reach"
        yield _warn("sqlite3", f"sqlite connections such as {kinds[_SQLITE]} work in your kernel alone: {told}")
    if ("ipywidgets.widgets.widget", "Widget") in kinds:
        yield _warn("ipywidgets", "widgets do not react in experiments")
    if getattr(getattr(_application(), "kernel", None), "eventloop", None) is not None:
        yield _warn("", "experiments lack the event loop of windows")
    debugged = getattr(_held("_pydevd_bundle.pydevd_constants", "GlobalDebuggerHolder"), "global_dbg", None)
    if sys.gettrace() or threading.gettrace() or debugged:
        yield _warn("", "a debugger or tracer is attached, which does not follow into experiments")


def _tasks() -> Iterator[Hazard]:
    """Tasks of the user on the kernel's event loop; those of Jupyter are made anew."""
    asyncio = sys.modules.get("asyncio")
    loop = getattr(getattr(getattr(_application(), "kernel", None), "io_loop", None), "asyncio_loop", None)
    if asyncio is None or loop is None:
        return
    waiting = [task.get_coro() for task in asyncio.all_tasks(loop) if type(task) is asyncio.Task and not task.done()]
    codes = [coroutine.cr_code for coroutine in waiting if isinstance(coroutine, types.CoroutineType)]
    names = sorted(code.co_name for code in codes if not _is_jupyter(code.co_filename))
    if names:
        yield _warn("", f"experiments lack the asyncio tasks of {', '.join(dict.fromkeys(names))}")


def _is_jupyter(filename: str) -> bool:
    folders = ("ipykernel", "tornado", "zmq", "IPython", "jupyter_client", "exploracoder_jupyter", "anyio")
    return any(f"/{folder}/" in filename for folder in folders)

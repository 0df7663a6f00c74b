"""Finds what a fork of this kernel would lose or break: connections, databases, threads and child processes."""

from __future__ import annotations

import _imp
import _thread
import contextlib
import ctypes
import glob
import os
import re
import socket
import stat
import sys
import threading
import types
from collections.abc import Collection, Iterable, Iterator, Mapping, Sized
from itertools import chain
from typing import NamedTuple

# Reads the addresses of sockets by their descriptors, and describes connections that a fork does not inherit.
#
# Addresses are read through the C library: a new socket object may change whether the shared description blocks.

Address = tuple[str, int | None]
"""Host and port; for a UNIX socket its path (`@` for the abstract kind) and None."""
_libc = ctypes.CDLL(None)


def local_address(descriptor: int) -> Address | None:
    """Return the address at this end of a socket; None for other descriptors and families."""
    return _address("getsockname", descriptor)


def peer_address(descriptor: int) -> Address | None:
    """Return the address at the other end of a socket; None if there is none, and for other families."""
    return _address("getpeername", descriptor)


def _address(function: str, descriptor: int) -> Address | None:
    buffer, length = ctypes.create_string_buffer(128), ctypes.c_uint32(128)
    if getattr(_libc, function)(descriptor, buffer, ctypes.byref(length)) != 0:
        return None
    raw = buffer.raw[: length.value]
    family, port = int.from_bytes(raw[:2], sys.byteorder), int.from_bytes(raw[2:4], "big")
    if family == socket.AF_INET:
        return socket.inet_ntop(socket.AF_INET, raw[4:8]), port
    if family == socket.AF_INET6:
        return socket.inet_ntop(socket.AF_INET6, raw[8:24]).removeprefix("::ffff:"), port
    if family == socket.AF_UNIX:
        name = raw[2:]
        return os.fsdecode(b"@" + name[1:] if name[:1] == b"\0" else name.rstrip(b"\0")), None
    return None


def socket_option(descriptor: int, level: int, option: int) -> int:
    """Return the first byte of a socket option; 0 if it cannot be read."""
    value, length = ctypes.create_string_buffer(8), ctypes.c_uint32(8)
    return value.raw[0] if _libc.getsockopt(descriptor, level, option, value, ctypes.byref(length)) == 0 else 0


def is_listening(descriptor: int) -> bool:
    """Return whether this is a socket that accepts connections."""
    return socket_option(descriptor, socket.SOL_SOCKET, socket.SO_ACCEPTCONN) == 1


def address_text(address: Address) -> str:
    """Return the address as users write it: `host:port` or a path."""
    host, port = address
    return host if port is None else f"{f'[{host}]' if ':' in host else host}:{port}"


def describe_lost_socket(descriptor: int) -> str:
    """Describe the loss of this socket in a clause; empty for sockets no user opens, such as those of event loops."""
    local, peer = local_address(descriptor), peer_address(descriptor)
    if local is None:
        return ""
    path, port = local
    if is_listening(descriptor):
        return f"{path if port is None else f'port {port}'} is not served"
    if peer is None:
        return "" if port is None else "a network socket is closed"
    return f"the connection to {address_text(peer)} is closed" if peer[0] else ""


def endpoints(descriptor: int) -> set[int | str]:
    """Return the ports or paths at both ends of this socket; empty for other descriptors."""
    addresses = filter(None, [local_address(descriptor), peer_address(descriptor)])
    return {path if port is None else port for path, port in addresses}


# Finds what the open descriptors of this process lead to: connections, databases, GPU devices.
#
# Opens nothing, moves no file offset and creates no socket object (`fork_hazards`): closing a second descriptor
# of a file drops SQLite's locks on it. File types are recognized by their first bytes, read with `pread`.

_HTTP_PORTS = {80, 443, 3128, 8000, 8080, 8443, 8888, 11434}
_DATABASE_PORTS = {
    1433: "SQL Server",
    1521: "Oracle",
    3306: "MySQL",
    5432: "PostgreSQL",
    5672: "RabbitMQ",
    6379: "Redis",
    9042: "Cassandra",
    9092: "Kafka",
    27017: "MongoDB",
}
_LOCAL_DATABASES = {"PGSQL": "PostgreSQL", "mysql": "MySQL", "redis": "Redis", "mongodb": "MongoDB", "plasma": "ray"}
_FILE_MARKERS = {"SQLite": (0, b"SQLite format 3\0"), "DuckDB": (8, b"DUCK")}
_GPU_DEVICES = {"/dev/nvidia-uvm": "CUDA", "/dev/kfd": "ROCm"}
_ESTABLISHED = 1
_TCP_INFO = 11


class Connection(NamedTuple):
    """A connection that this process opened to a peer elsewhere."""

    peer: str
    service: str
    """What usually listens there, e.g. `PostgreSQL`; empty if unknown."""
    reconnects: bool
    """Whether clients of this kind notice a lost connection and reconnect: HTTP, desktop services."""


def descriptor_targets(ours: Iterable[int] = ()) -> dict[int, str]:
    """Return the targets of this process's open descriptors except `ours`, as listed in `/proc/self/fd`."""
    targets = {}
    for number in sorted({*map(int, os.listdir("/proc/self/fd"))}.difference(ours)):
        with contextlib.suppress(OSError):  # the listing's own descriptor, and those that other threads close
            targets[number] = os.readlink(f"/proc/self/fd/{number}")
    return targets


def gpu_interfaces(targets: Mapping[int, str]) -> list[str]:
    """Return the GPU interfaces in use: `CUDA`, `ROCm`."""
    return sorted({_GPU_DEVICES[path] for path in targets.values() if path in _GPU_DEVICES})


def open_databases(targets: Mapping[int, str]) -> list[tuple[str, str]]:
    """Return the open database files: `SQLite` or `DuckDB`, and the path."""
    return sorted({(kind, path) for number, path in targets.items() if (kind := _database_kind(number, path))})


def _database_kind(descriptor: int, path: str) -> str:
    if not path.startswith("/") or path.startswith(("/dev/", "/proc/", "/sys/")):
        return ""
    with contextlib.suppress(OSError):
        head = os.pread(descriptor, 16, 0) if stat.S_ISREG(os.fstat(descriptor).st_mode) else b""
        for kind, (offset, marker) in _FILE_MARKERS.items():
            if head[offset:].startswith(marker):
                return kind
    return ""


def outgoing_connections(targets: Mapping[int, str], ports: Iterable[int]) -> list[Connection]:
    """Return the connections to peers elsewhere; `ports` are the local ones that the kernel serves."""
    sockets = [descriptor for descriptor, target in targets.items() if target.startswith("socket:")]
    ends = {descriptor: (local_address(descriptor), peer_address(descriptor)) for descriptor in sockets}
    # Both ends may be in this process, as with an in-process debugger.
    local_addresses = {local for local, _ in ends.values()}
    served = {*ports} | {local[1] for descriptor, (local, _) in ends.items() if local and is_listening(descriptor)}
    return [
        _connection_to(peer)
        for descriptor, (local, peer) in ends.items()
        if local and peer and peer[0] and peer not in local_addresses
        if peer[1] is None or local[1] not in served
        if _is_connected(descriptor, peer)
    ]


def _connection_to(peer: Address) -> Connection:
    host, port = peer
    if port is None:
        service = next((name for marker, name in _LOCAL_DATABASES.items() if marker in host), "")
        return Connection(host, service, reconnects=not service)
    return Connection(address_text(peer), _DATABASE_PORTS.get(port, ""), reconnects=port in _HTTP_PORTS)


def _is_connected(descriptor: int, peer: Address) -> bool:
    """Return whether it is a stream whose peer has not hung up, as far as this can be determined."""
    stream = socket_option(descriptor, socket.SOL_SOCKET, socket.SO_TYPE) == socket.SOCK_STREAM
    return stream and (peer[1] is None or socket_option(descriptor, socket.IPPROTO_TCP, _TCP_INFO) == _ESTABLISHED)


# Finds threads and child processes that a fork loses, and who started them.
#
# A pool that loses its workers is worse than a missing thread: the pool's object does not know that they are gone,
# and waits for them forever. Threads of Jupyter are recreated in a fork and not reported, nor are pools that are
# recreated (asyncio's own, dask's). Only attributes of threads, processes and known libraries are read, directly
# from the instance's dictionary.

_IGNORED_MODULES = {
    *("IPython", "anyio", "comm", "exploracoder_jupyter", "ipykernel", "jupyter_client", "tornado", "zmq"),
    *("debugpy", "pydevd", "_pydevd_bundle", "_pydev_bundle", "tqdm"),
    *("multiprocessing", "joblib", "distributed", "concurrent"),  # their threads are reported with the pool they serve
}
_POOLS = {
    "concurrent.futures.thread": ("", "a thread pool"),
    "concurrent.futures.process": ("", "a process pool"),
    "multiprocessing.pool": ("", "a multiprocessing pool"),
    "joblib.externals.loky.process_executor": ("joblib", "a pool of worker processes"),
}
_RECREATED_THREADS = ("asyncio_", "Dask-Offload")
_POOL_PROCESSES = {"PoolWorker": "a multiprocessing pool", "Manager": "a multiprocessing manager"}


def find_workers() -> tuple[list[tuple[str, str]], list[str], list[str]]:
    """Inspect all Python threads except this one and the main one, and multiprocessing's children.

    Returns pools, each as its library (empty for the standard library) and description (`a thread pool`), and the names
    of threads and processes that belong to none.
    """
    # Dask keeps one pool per computing thread, so a fork creates another.
    dask = instance_attributes(module_variable("dask.threaded", "default_pool")).get("_threads")
    skipped = {threading.current_thread(), threading.main_thread(), *(dask if isinstance(dask, set) else ())}
    modules = {
        thread: _function_module(thread)
        for thread in threading.enumerate()
        if thread not in skipped and not thread.name.startswith(_RECREATED_THREADS)
    }
    pools = {_POOLS[module] for module in modules.values() if module in _POOLS}
    children = _child_processes()
    pools |= {("", kind) for name in children for marker, kind in _POOL_PROCESSES.items() if marker in name}
    threads = [thread.name for thread, module in modules.items() if module.partition(".")[0] not in _IGNORED_MODULES]
    return sorted(pools), threads, [] if pools else children


def instance_attributes(instance: object) -> Mapping[str, object]:
    """Return the own dictionary of an instance or class, or an empty one, without running code of its class."""
    with contextlib.suppress(AttributeError):
        found = object.__getattribute__(instance, "__dict__")
        if isinstance(found, (dict, types.MappingProxyType)):
            return found
    return {}


def module_variable(name: str, variable: str) -> object:
    """Return a variable of a module; None if the module is not loaded. Lazy modules are not triggered."""
    module = sys.modules.get(name)
    if not issubclass(type(module), types.ModuleType):
        return None
    return types.ModuleType.__getattribute__(module, "__dict__").get(variable)


def _function_module(thread: threading.Thread) -> str:
    """Return the module of a thread's function, or of its class if that is a subclass."""
    target = instance_attributes(thread).get("_target")
    function = target.__func__ if type(target) is types.MethodType else target
    if type(function) is types.FunctionType:
        return str(function.__module__)
    return str(type.__getattribute__(type(thread), "__module__"))


def _child_processes() -> list[str]:
    """Return the names of the living processes that multiprocessing has started from here, not from our parent."""
    processes = module_variable("multiprocessing.process", "_children")
    found = []
    for process in list(processes) if isinstance(processes, set) else []:
        variables = instance_attributes(process)
        pid = instance_attributes(variables.get("_popen")).get("pid")
        with (
            contextlib.suppress(OSError, ValueError),
            open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file,
        ):
            state, parent = file.read().rpartition(")")[2].split()[:2]
            if state != "Z" and int(parent) == os.getpid():
                found.append(str(variables.get("_name")))
    return sorted(found)


# Finds what a fork of this kernel would lose or break.
#
# Runs in a kernel just before it is forked, within a few milliseconds. It only inspects: no library is imported or
# initialised, no method of a value runs, descriptors and locks are left as they are. Hazards of kind `refuse` have
# been observed to hang, to be killed, or to affect through the fork what the kernel uses; hazards of kind `warn`
# are merely missing in experiments. Libraries that are loaded but harmless when forked from a helper thread (numpy,
# pyarrow, scikit-learn, torch on the CPU, duckdb) are not reported here; `risky_libraries_in` names them if a fork
# hangs nevertheless.

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
    targets = descriptor_targets(ours)
    for interface in gpu_interfaces(targets):
        yield _refuse("", f"a GPU is in use through {interface}, which a fork cannot use")
    clients = sorted({module.partition(".")[0] for module, _ in variables} & _CLIENTS)
    names = ("shell_port", "iopub_port", "stdin_port", "hb_port", "control_port")
    ports = [getattr(_application(), name, 0) for name in names]
    for connection in outgoing_connections(targets, ports):
        peer = f"{connection.service} at {connection.peer}" if connection.service else connection.peer
        if connection.reconnects:
            yield _warn("", f"experiments lack the connection to {peer}")
        else:
            library = clients[0] if len(clients) == 1 else ""
            yield _refuse(library, f"a connection to {peer} is open, which a fork cannot share")
    for kind, path in open_databases(targets):
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

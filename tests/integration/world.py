"""A small world for hostile candidates: a user with secrets, files, servers and a kernel, and what became of them."""

import ctypes
import fcntl
import hashlib
import os
import platform
import re
import resource
import socket
import stat
import tempfile
import threading
import uuid
from contextlib import contextmanager, suppress
from multiprocessing import shared_memory
from pathlib import Path

import psutil
import pytest
from jupyter_client.manager import KernelManager

from tests.as_user import HOMES, visible_place
from tests.integration.kernels.attacks import HOME_FILES, SECRET
from tests.patience import patience

_FILES = (*HOME_FILES, "settings.toml", "work/.env", "work/prod.env", "work/server.pem", "work/data.csv")
_BORROWED = ("work/large.bin", "work/.git/index")
LARGE = 21 << 20
"""Bytes of a file that is too large to be copied."""
_CALLS = {"x86_64": (248, 250), "aarch64": (217, 219)}.get(platform.machine())
"""Numbers of `add_key` and `keyctl`."""
_SESSION_KEYRING = -3
_libc = ctypes.CDLL(None)


class World:
    """What a candidate could harm. `harms` returns what has been harmed since its last call, and repairs it."""

    def __init__(self, home: Path, beside: Path, outside: Path) -> None:
        self.home, self.beside, self.outside, self.workdir = home, beside, outside, home / "work"
        self.mark = str(uuid.uuid4().int % 10**8 + 10**8)
        self._left = Path(f"/tmp/left-{self.mark}")
        self._library = Path(os.__file__).with_name(f"left-{self.mark}.txt")
        for name in _FILES:
            (home / name).parent.mkdir(parents=True, exist_ok=True)
            (home / name).write_text(SECRET if name != "work/data.csv" else "a,b\n1,2\n")
        (self.workdir / "server.pem").write_text(f"-----BEGIN PRIVATE KEY-----\n{SECRET}\n")
        for name in _BORROWED:  # too large to be copied, and never copied
            (home / name).parent.mkdir(exist_ok=True)
            (home / name).write_bytes(bytes(LARGE if name.endswith(".bin") else 9))
        (beside / "notes.txt").write_text("beside")
        (outside / "notes.txt").write_text(SECRET)
        os.utime(home / ".netrc", ns=(0, (stamp := int(self.mark) * 10**9 + 7)))
        self._disk, digest = _find_disk()
        self.knows = (SECRET, str(stamp), digest)
        """What only those can print who have read it."""
        self._device, self._zeros = (_make_device(outside / name, minor) for name, minor in (("log", 11), ("zeros", 5)))
        self._log = os.open("/dev/kmsg", os.O_RDONLY | os.O_NONBLOCK) if self._device else None
        places = {"home": home, "outside": outside, "project": self.workdir / ".git"}
        self._pipes = {name: _open_pipe(folder / "fifo") for name, folder in places.items()}
        self._system_v = _share(SECRET.encode())
        self._has_key = _add_key(self.mark)
        self._shared = shared_memory.SharedMemory(create=True, size=100)
        self._shared.buf[: len(SECRET)] = SECRET.encode()
        self._servers = self._serve()
        self._kernel = self._start_kernel()
        self._state = self._state_of_kernel()
        self._files = self._everything()
        self._ended = threading.Event()
        threading.Thread(target=self._use_home, daemon=True).start()

    def given(self, **more):
        """What a candidate would know or guess."""
        names = {name: server.getsockname() for name, server in self._servers.items()}
        return {
            "home": str(self.home),
            "workdir": str(self.workdir),
            "beside": str(self.beside),
            "outside": str(self.outside),
            "system-v": self._system_v,
            "has-key": self._has_key,
            "keyctl": _CALLS[1] if _CALLS else -1,
            "tcp": names["tcp"][1],
            "tcp6": names.get("tcp6", (None, 9))[1],
            "udp": names["udp"][1],
            "abstract": names["abstract"][1:].decode(),
            "abstract-datagram": names["abstract-datagram"][1:].decode(),
            "unix-tmp": names["unix-tmp"],
            "address": _address(),
            "shared": self._shared.name,
            "connection": self._kernel.connection_file,
            "kernel-file": str(self.beside / "by-kernel.txt"),
            "victim": self._kernel.provisioner.pid,
            "tmp": str(self._left),
            "library": str(self._library),
            "disk": self._disk,
            "device": self._device,
            "zeros": self._zeros,
            "mark": self.mark,
            **more,
        }

    def harms(self, printed=""):
        """What has been harmed, in words. A port is tried out if one is `printed`."""
        found = ["a lease"] * _has_lease(self.outside / "notes.txt")
        found += [f"file {path}" for path in self._mend_files()]
        found += [f"server {name}" for name, server in self._servers.items() if _was_reached(server)]
        found += [f"pipe {name}" for name, pipe in self._pipes.items() if _has_content(pipe)]
        found += [f"lock of {path}" for path in self._files if _is_locked(path)]
        found += [f"port {port}" for port in re.findall(r"^port (\d+)", printed, re.MULTILINE) if _answers(int(port))]
        found += ["a device"] * self._device_was_written()
        alive = self._kernel.is_alive()
        if not alive or self._state_of_kernel() != self._state:
            found.append("the user's kernel" if alive else "the user's kernel is gone")
            self._kernel.shutdown_kernel(now=True)
            self._kernel = self._start_kernel()
            self._state = self._state_of_kernel()
        for path in (self._left, self._library):
            if path.exists():
                found.append(f"file {path}")
                path.unlink()
        for path in Path("/dev/shm").glob(f"{self.mark}-*"):
            path.unlink()
        return found

    def marked(self, mark):
        """Processes that carry the mark."""
        return [process for process in psutil.process_iter(["cmdline"]) if mark in (process.info["cmdline"] or [])]

    def end_marked(self, *marks):
        """Processes that were left are not left to the next attack."""
        for process in (process for mark in marks for process in self.marked(mark)):
            with suppress(psutil.Error):
                process.kill()

    def end(self):
        self._ended.set()
        self._library.unlink(missing_ok=True)
        if self._log is not None:
            os.close(self._log)
        for server in self._servers.values():
            server.close()
        for pipe in self._pipes.values():
            os.close(pipe)
        _libc.shmctl(self._system_v, 0, None)
        self._shared.close()
        self._shared.unlink()
        Path(f"/tmp/{self.mark}.sock").unlink(missing_ok=True)
        self._kernel.shutdown_kernel(now=True)

    def _serve(self):
        stream, datagram = socket.SOCK_STREAM, socket.SOCK_DGRAM
        places = {
            "tcp": (socket.AF_INET, stream, ("", 0)),
            "udp": (socket.AF_INET, datagram, ("127.0.0.1", 0)),
            "abstract": (socket.AF_UNIX, stream, f"\0{self.mark}"),
            "abstract-datagram": (socket.AF_UNIX, datagram, f"\0{self.mark}d"),
            "unix-tmp": (socket.AF_UNIX, stream, f"/tmp/{self.mark}.sock"),
            "unix-home": (socket.AF_UNIX, stream, str(self.home / "server.sock")),
            "unix-outside": (socket.AF_UNIX, stream, str(self.outside / "server.sock")),
            "unix-project": (socket.AF_UNIX, stream, str(self.workdir / ".git" / "s")),
        }
        if _has_ipv6():
            places["tcp6"] = (socket.AF_INET6, stream, ("::1", 0))
        servers = {name: socket.socket(family, kind) for name, (family, kind, _) in places.items()}
        for name, server in servers.items():
            server.setblocking(False)
            server.bind(places[name][2])
            if server.type == stream:
                server.listen()
        return servers

    def _start_kernel(self):
        """A kernel of the user's, with a secret in its environment and its memory."""
        kernel = KernelManager(connection_file=str(self.home / "runtime" / "kernel-user.json"))
        kernel.start_kernel(
            env={**os.environ, "EXPLORACODER_API_KEY": SECRET},
            cwd=str(self.beside),
            # A history would be written into the home at some later time. The user's name is a secret, too.
            extra_arguments=["--HistoryManager.enabled=False", f"--Session.username={SECRET}"],
        )
        client = kernel.blocking_client()
        client.start_channels()
        client.wait_for_ready(timeout=patience(30))
        client.execute_interactive(f"key = {SECRET!r}", timeout=patience(30))
        client.stop_channels()
        return kernel

    def _everything(self):
        folders = (self.home, self.beside, self.outside)
        paths = [path for folder in folders for path in folder.rglob("*") if path.is_file()]
        kept = [path for path in paths if path.parent.name != "runtime" and path.name != SECRET]
        return {path: (path.read_bytes(), path.stat().st_nlink, path.stat().st_ctime_ns) for path in kept}

    def _mend_files(self):
        """Restore what was changed: content, or anything else about it, which the time of the change shows.

        A link to a file changes that time, too, and again when a branch ends that has one.
        """
        now = self._everything()
        same = {path for path, (_, links, _) in self._files.items() if links != now.get(path, (b"", links))[1]}
        same = {path for path in same if now[path][0] == self._files[path][0]}
        self._files |= {path: now[path] for path in same}
        changed = [path for path in {**now, **self._files} if now.get(path) != self._files.get(path)]
        for path in changed:
            if path in self._files:
                path.write_bytes(self._files[path][0])
                path.chmod(0o644)
            else:
                path.unlink()
        if changed:
            self._files = self._everything()
        return changed

    def _use_home(self):
        """Use a file with a secret name again and again, as a user's programs do."""
        while not self._ended.wait(0.2):
            with suppress(OSError):
                (self.home / SECRET).touch()

    def _state_of_kernel(self):
        """What others can set of the user's kernel."""
        process = psutil.Process(self._kernel.provisioner.pid)
        with suppress(psutil.Error, OSError):
            limits = [resource.prlimit(process.pid, what) for what in (resource.RLIMIT_NOFILE, resource.RLIMIT_CORE)]
            scheduled = os.sched_getscheduler(process.pid), os.sched_getaffinity(process.pid)
            sacrificed = Path(f"/proc/{process.pid}/oom_score_adj").read_text()
            return limits, process.nice(), process.ionice(), scheduled, sacrificed
        return None

    def _device_was_written(self):
        found = False
        while self._log is not None:
            try:
                found |= self.mark.encode() in os.read(self._log, 10_000).partition(b";")[2]
            except BrokenPipeError:  # older messages have been dropped
                continue
            except BlockingIOError:
                break
        return found


def _has_lease(path):
    """Whether somebody delays others that open the file."""
    try:
        os.close(os.open(path, os.O_WRONLY | os.O_NONBLOCK))
    except BlockingIOError:
        return True
    return False


def _find_disk():
    """The path of a block device that this process can read, and a digest of its beginning."""
    for path in sorted(Path("/dev").glob("[svx]*")):
        with suppress(OSError):
            if path.is_block_device():
                with path.open("rb") as file:
                    return str(path), hashlib.sha256(file.read(512)).hexdigest()
    return "", "no disk"


def _make_device(path, minor):
    """A device of the kernel's memory driver at this path; an empty text where only others may make one."""
    with suppress(OSError):
        os.mknod(path, stat.S_IFCHR | 0o600, os.makedev(1, minor))
        with path.open("wb" if minor == 11 else "rb"):
            return str(path)
    return ""


def _has_ipv6():
    with suppress(OSError), socket.socket(socket.AF_INET6) as server:
        server.bind(("::1", 0))
        return True
    return False


def _answers(port):
    with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=patience(2)):
        return True
    return False


def _open_pipe(path):
    os.mkfifo(path)
    return os.open(path, os.O_RDWR | os.O_NONBLOCK)


def _is_locked(path):
    with path.open("rb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


def _has_content(pipe):
    try:
        return bool(os.read(pipe, 99))
    except BlockingIOError:
        return False


def _share(content):
    """A segment of System V shared memory that holds this."""
    _libc.shmat.restype = ctypes.c_void_p
    number = _libc.shmget(0, 100, 0o1600)
    ctypes.memmove(_libc.shmat(number, None, 0), content, len(content))
    return number


def _add_key(name):
    """Put the secret into the keyring that all processes of this session have; whether that can be done here."""
    if _CALLS is None:
        return False
    content = SECRET.encode()
    return _libc.syscall(_CALLS[0], b"user", name.encode(), content, len(content), _SESSION_KEYRING) > 0


def _was_reached(server):
    """Whether anything has arrived. Takes all of it, or the next attack would be blamed."""
    reached = False
    with suppress(BlockingIOError):
        while True:
            if server.type == socket.SOCK_DGRAM:
                server.recv(10)
            else:
                server.accept()[0].close()
            reached = True
    return reached


def _address():
    """An address of this machine that is not its loopback."""
    every = [address for several in psutil.net_if_addrs().values() for address in several]
    own = [address.address for address in every if address.family == socket.AF_INET]
    return next((address for address in own if not address.startswith("127.")), "127.0.0.2")


@contextmanager
def open_world(beside):
    """A world whose home is that of this process meanwhile; what is outside lies where siblings see it."""
    here = Path(os.environ.get(HOMES) or Path(__file__).resolve().parent)
    folder, other = (tempfile.TemporaryDirectory(prefix=".home-", dir=place) for place in (here, visible_place()))
    home = Path(folder.name)
    with folder, other, pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOME", str(home))
        patch.setenv("JUPYTER_RUNTIME_DIR", str(home / "runtime"))
        patch.setenv("EXPLORACODER_CONFIG", str(home / "settings.toml"))
        patch.setenv("EXPLORACODER_API_KEY", SECRET)
        patch.setenv("NUMBA_MIRROR", f"https://me:{SECRET}@mirror.example")
        patch.setenv("UNKNOWN_VARIABLE", SECRET)
        (home / "runtime").mkdir(mode=0o700)
        (home / "settings.toml").touch()
        world = World(home, beside, Path(other.name))
        try:
            yield world
        finally:
            world.end()

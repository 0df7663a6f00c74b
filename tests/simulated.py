"""macOS and Windows, simulated on Linux as far as that is honest.

Modules of this package, in whatever process they are imported, see another `sys.platform` and `os.name`, and none of
the modules, attributes, arguments and files that the system lacks. The libraries and the interpreter see the Linux
that is really there. So what is shown is that the package asks for nothing that the other system does not have; how
the other system behaves (handles, deletion of open files, paths, consoles) is not.

The hook is a `sitecustomize` on `PYTHONPATH`, which siblings and engines inherit.
"""

import os
import sys

HOOK = '''
import builtins, functools, os, select, signal, socket, subprocess, sys, types, warnings

PLATFORM, NAME = {platform!r}, {name!r}
PACKAGE = "exploracoder_jupyter"
MODULES = {modules!r}
HIDDEN = {hidden!r}

def is_own(namespace):
    names = (str(namespace.get("__name__")), str(namespace.get("__package__")))
    return any(name.split(".")[0] == PACKAGE for name in names)

class Seen(types.ModuleType):
    """A module of the standard library as the other system has it."""

    def __init__(self, real, hidden, changed):
        super().__init__(real.__name__)
        for name in ("__doc__", "__spec__", "__loader__", "__package__"):
            self.__dict__.pop(name, None)
        self.__dict__.update(_real=real, _hidden=hidden, _changed=changed)

    def __getattr__(self, name):
        if name in self._hidden:
            raise AttributeError(f"module {{self.__name__!r}} has no attribute {{name!r}}")
        return self._changed[name] if name in self._changed else getattr(self._real, name)

    def __setattr__(self, name, value):
        setattr(self._real, name, value)

    def __delattr__(self, name):
        delattr(self._real, name)

def without_folders(call):
    """On Windows there are no descriptors of folders, and no paths relative to them."""
    @functools.wraps(call)
    def checked(*arguments, **options):
        if any(options.get(name) is not None for name in ("dir_fd", "src_dir_fd", "dst_dir_fd")):
            raise NotImplementedError("dir_fd unavailable on this platform")
        if call is os.open and os.path.isdir(arguments[0]):
            raise PermissionError(13, "Permission denied", str(arguments[0]))
        if call in (os.listdir, os.scandir, os.chdir) and arguments and isinstance(arguments[0], int):
            raise TypeError("path should be string, bytes, os.PathLike or None, not int")
        if call is os.rename and os.path.lexists(arguments[1]):
            raise FileExistsError(17, "File exists", str(arguments[1]))
        if call is os.kill and arguments[1] not in (signal.SIGTERM, signal.SIGINT):
            raise OSError(22, "Invalid argument")
        return call(*arguments, **options)
    return checked

real_start = subprocess.Popen.__init__

def start(self, *arguments, pass_fds=(), preexec_fn=None, creationflags=0, **options):
    frame = sys._getframe(1)
    if is_own(frame.f_globals) and (pass_fds or preexec_fn):
        raise ValueError("not supported on Windows platforms")
    options.setdefault("start_new_session", bool(creationflags & 512))
    real_start(self, *arguments, pass_fds=pass_fds, preexec_fn=preexec_fn, **options)

PATHS = ("open", "stat", "lstat", "mkdir", "unlink", "rename", "rmdir", "chmod", "listdir", "scandir", "kill", "chdir")
changed = {{"sys": {{"platform": PLATFORM}}, "os": {{"name": NAME}}}}
changed.update({{name: {{}} for name in ("select", "signal", "socket", "subprocess")}})
if PLATFORM == "win32":
    changed["os"].update({{name: without_folders(getattr(os, name)) for name in PATHS}})
    subprocess.Popen.__init__ = start
    changed["subprocess"].update(CREATE_NEW_PROCESS_GROUP=512, CREATE_NO_WINDOW=1 << 27)
    # Its lock on a range of bytes, answered by one of POSIX.
    def locking(file, mode, count):
        import fcntl
        if mode != 2:
            raise OSError(22, "Invalid argument")
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise PermissionError(13, "Permission denied") from None

    SEEN_MSVCRT = types.ModuleType("msvcrt")
    SEEN_MSVCRT.__dict__.update(locking=locking, LK_NBLCK=2, LK_LOCK=1, LK_UNLCK=0)
    sys.modules["msvcrt"] = SEEN_MSVCRT
    # A console event arrives as this signal, which ends a process that has no handler for it.
    changed["signal"].update(CTRL_BREAK_EVENT=signal.SIGUSR1, SIGBREAK=signal.SIGUSR1)
REAL = {{"sys": sys, "os": os, "signal": signal, "socket": socket, "select": select, "subprocess": subprocess}}
SEEN = {{name: Seen(module, set(HIDDEN.get(name, ())), changed[name]) for name, module in REAL.items()}}
real_import = builtins.__import__

def simulated_import(name, globals=None, locals=None, fromlist=(), level=0):
    if level == 0 and globals is not None and is_own(globals):
        if name in MODULES:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
        if name in SEEN:
            return SEEN[name]
        if name.split(".")[0] == "os" and not fromlist:
            return SEEN["os"]
    return real_import(name, globals, locals, fromlist, level)

def refuse_linux_files(event, arguments):
    """`/proc` and `/dev/shm` are Linux's: code of the package, the standard library in between, finds none."""
    if event not in ("open", "os.listdir", "os.scandir") or not isinstance(arguments[0], (str, bytes)):
        return
    path = os.fsdecode(arguments[0])
    if not path.startswith(("/proc/", "/sys/", "/dev/shm")) and path != "/proc":
        return
    frame = sys._getframe(1)
    while frame is not None:
        if is_own(frame.f_globals):
            raise FileNotFoundError(2, "No such file or directory", path)
        if "site-packages" in frame.f_code.co_filename:
            return
        frame = frame.f_back

builtins.__import__ = simulated_import
sys.addaudithook(refuse_linux_files)
if sys.flags.warn_default_encoding:
    warnings.filterwarnings("error", category=EncodingWarning, module=PACKAGE)
'''

LINUX_ONLY = {
    "os": [
        *("sched_getaffinity", "sched_setaffinity", "memfd_create", "MFD_CLOEXEC", "pidfd_open", "O_PATH", "O_TMPFILE"),
        *("unshare", "setns", "eventfd", "getrandom", "copy_file_range", "posix_fadvise", "setresuid", "getresuid"),
        *("listxattr", "getxattr", "setxattr", "removexattr", "splice", "PIDFD_NONBLOCK"),
    ],
    "signal": ["pidfd_send_signal", "SIGPWR", "SIGSTKFLT", "SIGPOLL", "SIGRTMIN", "SIGRTMAX"],
    "socket": ["SO_PASSCRED", "SCM_CREDENTIALS", "MSG_CMSG_CLOEXEC", "SO_PEERCRED", "SOCK_CLOEXEC", "SOCK_NONBLOCK"],
    "select": ["epoll"],
    "sys": [],
    "subprocess": [],
}
POSIX_ONLY = {
    "os": [
        *("fork", "forkpty", "register_at_fork", "openpty", "getuid", "geteuid", "getgid", "getegid", "getgroups"),
        *("setuid", "setgid", "setsid", "setpgid", "getpgid", "getpgrp", "killpg", "sysconf", "sysconf_names"),
        *("chown", "fchown", "lchown", "fchmod", "lchmod", "mkfifo", "mknod", "makedev", "major", "minor", "uname"),
        *(
            "statvfs",
            "fstatvfs",
            "getloadavg",
            "wait",
            "wait3",
            "wait4",
            "waitid",
            "WNOHANG",
            "WIFEXITED",
            "WIFSIGNALED",
        ),
        *("WEXITSTATUS", "WTERMSIG", "O_NOFOLLOW", "O_DIRECTORY", "O_NONBLOCK", "O_CLOEXEC", "O_ACCMODE", "O_SYNC"),
        *("WIFSIGNALED", "nice", "getpriority", "setpriority", "pread", "pwrite", "sendfile", "set_blocking", "fwalk"),
        *("posix_spawn", "environb", "fdatasync", "sync", "ttyname", "ctermid", "pipe2", "readv", "writev", "chroot"),
        *("fchdir", "geteuid", "getsid", "getlogin_r", "initgroups", "posix_fallocate", "lockf", "F_LOCK", "EX_OK"),
    ],
    "signal": [
        *("SIGKILL", "SIGSTOP", "SIGCONT", "SIGHUP", "SIGQUIT", "SIGPIPE", "SIGALRM", "SIGCHLD", "SIGCLD", "SIGUSR1"),
        *("SIGUSR2", "SIGXCPU", "SIGXFSZ", "SIGTSTP", "SIGTTIN", "SIGTTOU", "SIGWINCH", "SIGPROF", "SIGVTALRM"),
        *("SIGBUS", "SIGSYS", "SIGTRAP", "SIGIO", "SIGURG", "alarm", "setitimer", "pthread_kill", "pthread_sigmask"),
        *("sigwait", "siginterrupt", "pause", "SIG_BLOCK", "SIG_UNBLOCK", "SIG_SETMASK", "ITIMER_REAL"),
    ],
    "select": ["poll", "epoll"],
    "socket": ["AF_UNIX", "SCM_RIGHTS", "CMSG_SPACE", "CMSG_LEN", "SOCK_SEQPACKET", "send_fds", "recv_fds"],
}
POSIX_MODULES = ["fcntl", "pwd", "grp", "resource", "termios", "posix", "pty", "tty", "syslog", "_posixsubprocess"]
PLATFORMS = ("darwin", "win32")


def environment(folder, platform):
    """Write the hook for this system into the folder; return the variables with which processes simulate it."""
    windows = platform == "win32"
    hidden = {
        module: [*names, *(POSIX_ONLY.get(module, ()) if windows else ())] for module, names in LINUX_ONLY.items()
    }
    modules = [*POSIX_MODULES, "pyseccomp", "spwd"] if windows else ["spwd", "pyseccomp"]
    (folder / "sitecustomize.py").write_text(
        HOOK.format(platform=platform, name="nt" if windows else "posix", modules=modules, hidden=hidden),
        encoding="utf-8",
    )
    paths = filter(None, [str(folder), os.environ.get("PYTHONPATH", "")])
    return {"PYTHONPATH": os.pathsep.join(paths)}


def python(program, *arguments):
    """The command that runs a program; its first import is the hook."""
    return [sys.executable, "-c", program, *arguments]

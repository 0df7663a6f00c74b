"""Siblings share nothing that one of them could write and get the files of their parent as they are; a fork that fails
or gets no answer leaves the kernel that was to be forked as it was."""

import json
import os
import socket
import sys
import tempfile
import time
from contextlib import aclosing, asynccontextmanager, suppress
from pathlib import Path

import pytest

from exploracoder_jupyter.core.configuration.sections import Sandbox
from exploracoder_jupyter.core.errors import BranchingChanged, KernelError
from exploracoder_jupyter.core.platforms.posix import try_lock
from exploracoder_jupyter.kernel_agent.forking.descriptor_replacements import MAX_COPIED_BYTES
from exploracoder_jupyter.kernels import open_siblings
from exploracoder_jupyter.kernels.agent import local_inspector
from exploracoder_jupyter.kernels.branching.fork_siblings import ForkSiblings
from exploracoder_jupyter.kernels.live_kernel import LiveKernel
from exploracoder_jupyter.kernels.sandbox.fork_sandbox import SandboxLevel
from tests.as_user import visible_place
from tests.integration.live_kernel import live_kernel
from tests.integration.siblings import LEVELS, open_engine
from tests.integration.world import LARGE
from tests.levels import best_level, fully_confined
from tests.patience import patience

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="forks are Linux's")

LIMITS = {"memory_mb": 512, "copy_mb": 20}
PLACES = """
import os
places = sorted({line.split()[4] for line in open("/proc/self/mountinfo")} | {"/run/explora.next"})
"""
MARK = """
marked = []
for place in places:
    try:
        open(f"{place}/mark", "w").close()
        marked.append(place)
    except OSError:
        pass
terminal = os.openpty()
print(len(marked) > 0)
"""
SEE = "print([place for place in places if os.path.exists(f'{place}/mark')], os.listdir('/dev/pts'))"
READ_BOTH = "print([open(name).read() for name in ('given', 'written')])"
WRITE = """
import os
for number in range(2):
    folder = f"folder{number}"
    os.mkdir(folder)
    open(f"{folder}/file", "w").write("kept")
    os.chmod(f"{folder}/file", 0)
    os.chmod(folder, 0o500 * number)
with open("holes", "wb") as file:
    file.truncate(400_000_000)
    file.seek(200_000_000)
    file.write(b"in the middle")
os.link("holes", "other name")
"""
READ = """
import os, stat
rights = [oct(os.stat(f"folder{n}").st_mode & 0o777) for n in range(2)]
for number in range(2):
    os.chmod(f"folder{number}", 0o700)
    rights.append(oct(os.stat(f"folder{number}/file").st_mode & 0o777))
    os.chmod(f"folder{number}/file", 0o600)
text = [open(f"folder{number}/file").read() for number in range(2)]
file = open("holes", "rb")
file.seek(200_000_000)
status = os.stat("holes")
small = status.st_blocks * 512 < 1_000_000
print(rights, text, file.read(13), status.st_size, small, os.path.samefile("holes", "other name"))
"""
FAULTS = {
    "no descriptor left": (
        "files = []\ntry:\n    while True: files.append(open('/dev/null'))\nexcept OSError: pass",
        "for file in files: file.close()",
    ),
    "a look that fails": (
        "import threading\n[line] = [one for one in threading.enumerate() if one.name == 'explora-line']\n"
        "hazards = line._target.__globals__['fork_hazards']; find, hazards.find_hazards = hazards.find_hazards, None",
        "hazards.find_hazards = find",
    ),
}
LISTENING = "import threading; print([one.is_alive() for one in threading.enumerate() if one.name == 'explora-line'])"


@asynccontextmanager
async def opened(name, workdir):
    """Siblings at a level, or at the strongest with this way to show a working directory."""
    if name in LEVELS:
        async with open_engine(name, LIMITS, workdir=workdir) as siblings:
            yield siblings
    else:
        if not fully_confined():
            pytest.skip(best_level().why)
        level = SandboxLevel("namespaces", overlay=name == "overlay")
        async with ForkSiblings(Sandbox(**LIMITS), level, workdir=workdir, state="fresh") as siblings:
            yield siblings


@pytest.fixture(scope="module", params=["overlay", "copy", "fork-landlock", "fork-limits"])
async def root(request, tmp_path_factory, anyio_backend):
    async with opened(request.param, tmp_path_factory.mktemp("work")) as siblings:
        yield await siblings.root()


async def shown(branch, code):
    observed = await branch.run(code, timeout=patience(20))
    assert observed.status == "ok", observed
    return observed.text


@pytest.mark.parametrize("root", ["overlay", "copy"], indirect=True)
async def test_siblings_share_no_folder_that_one_can_write(root):
    one, other = await root.fork(2)
    assert await shown(one, PLACES + MARK) == "True"
    assert await shown(other, PLACES + SEE) == "[] ['ptmx']"
    [child] = await one.fork(1)
    assert await shown(child, MARK) == "True"
    assert await shown(other, SEE) == "[] ['ptmx']"


@pytest.mark.parametrize("inner", ["", "inner"])
@pytest.mark.parametrize("way", ["overlay", "copy"])
async def test_a_working_directory_around_temporary_files_forks(monkeypatch, way, inner):
    with tempfile.TemporaryDirectory(prefix="t") as folder:  # short, as socket paths are
        Path(folder, inner).mkdir(exist_ok=True)
        Path(folder, "given").write_text("by the user")
        monkeypatch.setattr(tempfile, "tempdir", str(Path(folder, inner)))
        async with opened(way, Path(folder)) as siblings:
            [branch] = await (await siblings.root()).fork(1)
            await shown(branch, "open('written', 'w').write('by the parent')")
            for _ in range(3):
                branch, other = await branch.fork(2)
                assert await shown(branch, READ_BOTH) == "['by the user', 'by the parent']"
            assert await shown(branch, PLACES + MARK) == "True"
            assert await shown(other, PLACES + SEE) == "[] ['ptmx']"


@pytest.mark.parametrize("branching", ["fork", "rerun"])
async def test_the_file_system_root_appears_empty(branching):
    before = set(Path("/").iterdir())
    async with open_siblings(Sandbox(branching=branching), workdir=Path("/")) as siblings:
        [branch] = await (await siblings.root()).fork(1)
        await shown(branch, "open('written', 'w').write('x')")
        [child] = await branch.fork(1)
        assert await shown(child, "import os\nprint(os.listdir(), os.path.exists('/etc'))") == "['written'] True"
    assert set(Path("/").iterdir()) == before
    async with aclosing(local_inspector(Sandbox(), workdir=Path("/"))("introspection.environment_report", ())) as lines:
        assert [line async for line in lines]


@pytest.mark.parametrize("branching", ["fork", "rerun"])
async def test_readable_paths_below_home_stay_in_nested_forks(monkeypatch, tmp_path, branching):
    (tmp_path / ".pyenv" / "version").mkdir(parents=True)
    (tmp_path / ".pyenv" / "version" / "library.py").write_text("there = True")
    (tmp_path / ".pyenv" / "private").touch()
    monkeypatch.setenv("HOME", str(tmp_path))
    async with open_siblings(
        Sandbox(branching=branching, allow_read=(".pyenv/version",)), workdir=tmp_path
    ) as siblings:
        branch = await siblings.root()
        for _ in range(3):
            [branch] = await branch.fork(1)
            code = "import os\nprint(open('.pyenv/version/library.py').read(), os.listdir('.pyenv'))"
            assert await shown(branch, code) == "there = True ['version']"


@pytest.fixture
def project(monkeypatch):
    """A project in a home folder that is not hidden with the folder around it, worked in below its root."""
    if (place := visible_place()) is None:
        pytest.skip("this user can write nowhere that siblings can see")
    with (
        tempfile.TemporaryDirectory(prefix=".home-", dir=place) as home,
        tempfile.TemporaryDirectory(prefix=".cache-", dir=place) as cache,
    ):
        monkeypatch.setenv("XDG_CACHE_HOME", cache)
        project = Path(home, "project")
        for name in ("pyproject.toml", "data/table.csv", "notebooks/.git/index", "notebooks/notes.txt"):
            (project / name).parent.mkdir(parents=True, exist_ok=True)
            (project / name).write_text("by the user")
        (project / "notebooks/large.bin").write_bytes(bytes(LARGE))
        monkeypatch.setenv("HOME", home)
        yield project


USE_ALL = """
import fcntl, os, socket
locked, reached = [], []
for name in ("data/table.csv", "notebooks/.git/index", "notebooks/large.bin", "notebooks/notes.txt"):
    file = open(f"{project}/{name}")
    fcntl.flock(file, fcntl.LOCK_EX)
    locked.append(file)
for folder in ("data", "notebooks/.git", "notebooks"):
    os.chdir(f"{project}/{folder}")
    try:
        socket.socket(socket.AF_UNIX).connect("s")
        reached.append(folder)
    except OSError:
        pass
print(reached, len(locked), len(open(f"{project}/notebooks/large.bin", "rb").read(99)))
"""


async def test_a_shown_project_locks_and_reaches_nothing(project):
    """Issue 31, security 5: judged by the user's locks and servers, which are made after the experiments began."""
    async with opened("overlay", project / "notebooks") as siblings:
        [branch] = await (await siblings.root()).fork(1)
        [branch] = await branch.fork(1)
        servers = [socket.socket(socket.AF_UNIX) for _ in range(3)]
        for server, folder in zip(servers, ("data", "notebooks/.git", "notebooks"), strict=True):
            handle = os.open(project / folder, os.O_PATH)  # its path may be too long
            server.bind(f"/proc/self/fd/{handle}/s")
            server.listen()
            server.setblocking(False)
            os.close(handle)
        assert (await shown(branch, f"project = {str(project)!r}{USE_ALL}")) == "[] 4 99"
        for path in project.rglob("*"):
            if path.is_file():
                with path.open() as file:
                    assert try_lock(file.fileno()), path
        for server in servers:
            with pytest.raises(BlockingIOError):
                server.accept()
            server.close()


async def test_open_files_of_a_live_kernel_stay_readable(project):
    """Of a project they are shown through an overlay, where they lie on another device."""
    if not fully_confined():
        pytest.skip(best_level().why)
    names = [project / name for name in ("data/table.csv", "notebooks/.git/index", "notebooks/large.bin")]
    with (project / "data/large.bin").open("wb") as file:
        file.truncate(MAX_COPIED_BYTES + 1)
    async with live_kernel(project / "notebooks") as kernel:
        await kernel.run(
            f"files = [open(name, 'rb') for name in {[*map(str, names), str(project / 'data/large.bin')]!r}]"
        )
        offered = LiveKernel(kernel.fork)
        async with open_siblings(
            Sandbox(**LIMITS, state="live"), workdir=project / "notebooks", live=offered
        ) as siblings:
            [branch] = await (await siblings.root()).fork(1)
            assert await shown(branch, "print([len(file.read(5)) for file in files])") == "[5, 5, 5, 5]"


WRITE_HOME = """
import os
from pathlib import Path
home = Path.home()
cache = Path(os.environ.get("XDG_CACHE_HOME") or home / ".cache")
for path in (home / ".library/cache.txt", cache / "library/data.bin", home / ".config/library.toml"):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("by the sibling")
"""
SEE_HOME = """
import os
from pathlib import Path
cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
names = sorted(path.name for path in Path.home().iterdir() if path != cache)
print(names, (Path.home() / "project/data/table.csv").read_text(), (cache / "library/data.bin").exists())
"""


@pytest.mark.parametrize("way", ["overlay", "copy", "rerun-bubblewrap", "fork-landlock"])
async def test_what_a_library_writes_at_home_is_discarded(project, way):
    """Issue 31, item 10: what exists and may be seen is seen, and what is written is the branch's own."""
    before = {*project.parent.rglob("*"), *Path(os.environ["XDG_CACHE_HOME"]).rglob("*")}
    async with opened(way, project / "notebooks") as siblings:
        one, other = await (await siblings.root()).fork(2)
        await shown(one, WRITE_HOME)
        assert await shown(other, SEE_HOME) == "['project'] by the user False"
        for _ in range(2):
            [one] = await one.fork(1)
            assert await shown(one, SEE_HOME) == "['.config', '.library', 'project'] by the user True"
            assert await shown(one, "print((Path.home() / '.library/cache.txt').read_text())") == "by the sibling"
            await shown(one, WRITE_HOME)
    assert {*project.parent.rglob("*"), *Path(os.environ["XDG_CACHE_HOME"]).rglob("*")} == before


WRITING_LIBRARY = """
from pathlib import Path
folder = Path("~/.writes_at_import").expanduser()
folder.mkdir()
(folder / "config").write_text("x")
Path("~/made_visibly").expanduser().mkdir()
assert Path(".").resolve() == Path.home() or Path("notes.txt").read_text() == "by the user"
Path("log.txt").write_text("x")

def offered():
    "What the library offers."
"""


@pytest.mark.parametrize("inside", ["project/notebooks", ""])
async def test_a_library_that_writes_at_home_is_read(project, monkeypatch, inside):
    """Issue 31, item 10: wherever the command is used, the home itself included."""
    home = project.parent
    (home / "lib").mkdir()
    (home / "lib/writes_at_import.py").write_text(WRITING_LIBRARY)
    monkeypatch.setenv("PYTHONPATH", str(home / "lib"))
    before = set(home.rglob("*"))
    inspect = local_inspector(Sandbox(), workdir=home / inside)
    async with aclosing(inspect("introspection.api_walk", ["--", "writes_at_import"])) as lines:
        printed = [line async for line in lines]
    assert any("offered" in line for line in printed), printed
    assert set(home.rglob("*")) - before <= {home / "lib/__pycache__"}


async def test_a_needed_hidden_file_is_named(project, monkeypatch):
    """Issue 31, item 10: the reader says what it did not find, which the option --allow-read shows."""
    home = project.parent
    (home / "lib").mkdir()
    (home / "lib/needs_config.py").write_text(
        "import os\nif not os.path.exists(os.path.expanduser('~/.needs/config')):\n"
        "    raise OSError('Put your settings into ~/.needs/config.')\ndef offered(): 'What it offers.'"
    )
    (home / ".needs").mkdir()
    (home / ".needs/config").touch()
    monkeypatch.setenv("PYTHONPATH", str(home / "lib"))

    async def walk(*allowed):
        printed, inspect = [], local_inspector(Sandbox(allow_read=allowed), workdir=project)
        async with aclosing(inspect("introspection.api_walk", ["--", "needs_config"])) as lines:
            with suppress(KernelError):  # the program reports that it failed
                async for line in lines:
                    printed.append(json.loads(line))
        return printed

    assert [line["missing"] for line in await walk() if "error" in line] == [[str(home / ".needs/config")]]
    assert any(line.get("api") for line in await walk("~/.needs/config"))


async def test_files_are_copied_with_holes_names_and_rights(root):
    [parent] = await root.fork(1)
    await shown(parent, WRITE)
    expected = "['0o0', '0o500', '0o0', '0o0'] ['kept', 'kept'] b'in the middle' 400000000 True True"
    for branch in await parent.fork(2):
        assert await shown(branch, READ) == expected
    assert await shown(parent, READ) == expected


async def test_forks_have_private_memory_and_deleted_files(root):
    """Issue 31, security 4: without the call that makes files in memory, which experiments may no longer use."""
    [parent] = await root.fork(1)
    await shown(
        parent,
        "import mmap, os\nshared = mmap.mmap(-1, 10_000); shared[5000:5004] = b'kept'\n"
        "file = open('deleted', 'w+b', 0); os.remove('deleted'); file.write(b'too'); print()",
    )
    show = "file.seek(0); print(shared[5000:5004], file.read())"
    [branch] = await parent.fork(1)
    assert await shown(branch, show) == "b'kept' b'too'"
    changed = f"file.write(b'!')\nif os.fork() == 0:\n    shared[5000:5004] = b'seen'; os._exit(0)\nos.wait(); {show}"
    assert await shown(branch, changed) == "b'seen' b'too!'"
    assert await shown(parent, show) == "b'kept' b'too'"


@pytest.mark.parametrize("root", ["fork-limits"], indirect=True)
async def test_a_fork_holds_no_unneeded_pipe(root):
    [branch] = await root.fork(1)
    code = (
        "import os\n"
        "def link(name):\n    try: return os.readlink(f'/proc/self/fd/{name}')\n    except OSError: return ''\n"
        "print(len({link(name) for name in os.listdir('/proc/self/fd') if link(name).startswith('pipe:')}))"
    )
    assert await shown(branch, code) == "2"  # its own output and error


@pytest.mark.parametrize("hinder, clear", FAULTS.values(), ids=FAULTS)
async def test_a_branch_that_cannot_be_forked_listens_on(tmp_path, hinder, clear):
    async with opened("overlay", tmp_path) as siblings:
        [branch] = await (await siblings.root()).fork(1)
        await shown(branch, hinder)
        with pytest.raises((BranchingChanged, KernelError)):
            await branch.fork(1)
        await shown(branch, clear)
        assert await shown(branch, LISTENING) == "[True]"


async def test_an_unresponsive_engine_delays_the_kernel_briefly(tmp_path):
    async with live_kernel(tmp_path) as kernel:
        await kernel.run(
            "from exploracoder_jupyter.kernel_agent.forking import kernel_fork; kernel_fork._ORDER_SECONDS = 0.5"
        )
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as engine:
            engine.bind(str(tmp_path / "call"))
            engine.listen(1)
            start = time.monotonic()
            await kernel.fork_between_cells(str(tmp_path / "call"))
            assert 0.4 < time.monotonic() - start < patience(8)
        assert kernel.census()["children"] == []


@pytest.mark.skipif(
    sys.version_info >= (3, 12), reason="from 3.12, the warning of a fork cannot be kept back otherwise"
)
async def test_a_shown_warning_is_not_repeated(tmp_path):
    async with live_kernel(tmp_path) as kernel:
        await kernel.run(
            "import warnings\nfrom exploracoder_jupyter.kernel_agent.forking import kernel_fork\n"
            "def warn(): warnings.warn('once a place')"
        )
        forked = await kernel.run(f"warn(); kernel_fork.fork(get_ipython(), {str(tmp_path / 'nobody')!r}); warn()")
        assert forked.outcome == "ok"
        assert forked.printed.count("UserWarning: once a place") == 1

"""Nothing that a forked child does through what it inherited reaches its parent, and files go on where they were."""

import contextlib
import ctypes
import fcntl
import mmap
import multiprocessing
import multiprocessing.shared_memory
import os
import pickle
import select
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import traceback
from pathlib import Path

import pytest

from exploracoder_jupyter.kernel_agent.confinement import linux_calls
from exploracoder_jupyter.kernel_agent.confinement.file_copies import copy_tree
from exploracoder_jupyter.kernel_agent.forking.descriptor_replacements import MAX_COPIED_BYTES
from exploracoder_jupyter.kernel_agent.forking.inheritance import InheritedDescriptors, make_private

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="branches are forked on Linux only")


def in_child(action):
    """What the action returns in a forked child; it is given the one descriptor that must be kept."""
    result, answer = os.pipe()
    child = os.fork()
    if child == 0:
        signal.alarm(60)
        try:
            outcome = (True, action(answer))
        except BaseException:
            outcome = (False, traceback.format_exc())
        os.write(answer, pickle.dumps(outcome))
        os._exit(0)
    os.close(answer)
    with os.fdopen(result, "rb") as stream:
        content = stream.read()
    assert os.waitpid(child, 0)[1] == 0
    worked, value = pickle.loads(content)
    assert worked, value
    return value


def cut_off(keep, carried=(), *, prepare=lambda: None, **others):
    """What a branch does between its fork and its first message. Reports only the test's own descriptors."""
    inherited = InheritedDescriptors.survey([keep])
    assert make_private() == []
    prepare()
    copies = carried if isinstance(carried, dict) else {folder: folder for folder in carried}
    return inherited.replace_all(copies, **others)


def clauses_of(keep, *numbers, carried=(), **others):
    """The clauses about these descriptors."""
    every = {int(path.name) for path in Path("/proc/self/fd").iterdir()}
    return cut_off(keep, carried, quiet=every - {*numbers}, **others)


def is_null(number):
    return os.fstat(number).st_rdev == Path(os.devnull).stat().st_rdev


def enter_view(show=()):
    """A view of its own in which, first, some folders are shown at other places, and the rest cannot be written."""
    ids = os.getuid(), os.getgid()
    linux_calls.unshare(linux_calls.CLONE_NEWUSER | linux_calls.CLONE_NEWNS)
    for name, text in (("setgroups", "deny"), ("uid_map", f"{ids[0]} {ids[0]} 1"), ("gid_map", f"{ids[1]} {ids[1]} 1")):
        Path("/proc/self", name).write_text(text)
    linux_calls.mount("", "/", flags=linux_calls.MS_REC | linux_calls.MS_PRIVATE)
    trees = [(linux_calls.clone_tree(str(source)), str(target)) for source, target in show]
    linux_calls.make_read_only("/", devices=True)
    for tree, target in trees:
        linux_calls.attach(tree, target)


@pytest.fixture
def views():
    def enters(keep):
        try:
            enter_view()
        except OSError:
            return False
        return True

    if not in_child(enters):
        pytest.skip("the system allows no user namespaces")


@pytest.fixture
def closed():
    """Closes descriptors after the test: returns the one that it is given."""
    with contextlib.ExitStack() as stack:

        def close_later(number):
            stack.callback(os.close, number)
            return number

        yield close_later


@pytest.fixture
def letters(tmp_path):
    path = tmp_path / "letters.txt"
    path.write_text("".join(f"line {number}\n" for number in range(5000)))
    return path


def test_a_carried_file_is_written_in_the_copy(letters, tmp_path):
    copy = tmp_path / "copy"
    copy.mkdir()
    (copy / "letters.txt").write_bytes(letters.read_bytes())
    with letters.open("r+") as file:
        file.readline()
        file.seek(file.tell())

        def write(keep):
            assert clauses_of(keep, file.fileno(), carried={str(tmp_path): str(copy), "": ""}) == []
            file.write("LINE 1")
            file.flush()

        in_child(write)
        assert file.readline() == "line 1\n"
    assert letters.read_text().startswith("line 0\nline 1\n")
    assert (copy / "letters.txt").read_text().startswith("line 0\nLINE 1\nline 2\n")


def test_appending_goes_to_the_end_of_the_copy(tmp_path, closed):
    path = tmp_path / "log"
    path.write_bytes(b"12345")
    file, memory = closed(os.open(path, os.O_RDWR | os.O_APPEND)), closed(os.memfd_create("numbers"))
    os.write(memory, b"abcdef")

    def append(keep):
        cut_off(keep)
        os.lseek(file, 0, os.SEEK_SET)
        os.write(file, b"6")
        os.write(memory, b"g")
        flags = fcntl.fcntl(file, fcntl.F_GETFL) & (os.O_ACCMODE | os.O_APPEND)
        return os.pread(file, 100, 0), flags, os.pread(memory, 10, 0)

    assert in_child(append) == (b"123456", os.O_RDWR | os.O_APPEND, b"abcdefg")
    assert path.read_bytes() == b"12345"
    assert os.pread(memory, 10, 0) == b"abcdef"


def test_a_file_that_is_gone_is_copied(tmp_path, closed):
    path = tmp_path / "gone"
    path.write_bytes(b"0123456789")
    readable, writable = closed(os.open(path, os.O_RDONLY)), closed(os.open(path, os.O_RDWR))
    path.unlink()
    path.write_bytes(b"another file of that name")
    os.lseek(readable, 4, os.SEEK_SET)

    def use(keep):
        assert cut_off(keep, [str(tmp_path)], quiet=set(range(3))) is not None
        os.pwrite(writable, b"X", 5)  # both are the same file here as well
        with pytest.raises(OSError):
            os.write(readable, b"no")
        return os.read(readable, 3)

    assert in_child(use) == b"4X6"
    assert os.read(readable, 3) == b"456"
    assert path.read_bytes() == b"another file of that name"


def test_a_replaced_file_in_the_view_is_noticed(letters):
    with letters.open("rb") as file:
        file.read(5)

        def read(keep):
            def other_view():
                letters.rename(letters.with_name("moved"))
                letters.write_text("something else")

            assert clauses_of(keep, file.fileno(), prepare=other_view) == []
            return os.read(file.fileno(), 2)

        os.lseek(file.fileno(), 5, os.SEEK_SET)
        assert in_child(read) == b"0\n"
        assert os.lseek(file.fileno(), 0, os.SEEK_CUR) == 5


def test_duplicates_share_an_offset_and_keep_flags(letters, closed):
    one = closed(os.open(letters, os.O_RDONLY))
    two, other = closed(os.dup(one)), closed(os.open(letters, os.O_RDONLY | os.O_NONBLOCK))
    os.set_inheritable(one, True)

    def read(keep):
        cut_off(keep)
        flags = [(os.get_inheritable(each), os.get_blocking(each)) for each in (one, other)]
        return os.read(one, 4), os.read(two, 4), os.read(other, 4), flags

    assert in_child(read) == (b"line", b" 0\nl", b"line", [(True, True), (False, False)])
    assert [os.lseek(each, 0, os.SEEK_CUR) for each in (one, two, other)] == [0, 0, 0]


def test_what_is_too_large_is_never_writable(tmp_path):
    path = tmp_path / "large"
    with path.open("wb+") as file:
        file.truncate(MAX_COPIED_BYTES + 1)
        file.write(b"start")
        file.flush()

        def use(keep):
            clauses = clauses_of(keep, file.fileno())
            with pytest.raises(OSError):
                os.write(file.fileno(), b"no")
            return clauses, os.pread(file.fileno(), 5, 0)

        clauses, content = in_child(use)
        assert content == b"start"
        assert clauses == [f"{path} can only be read: {MAX_COPIED_BYTES // 2**20} MB open for writing are not copied"]
        path.unlink()

        def null(keep):
            return clauses_of(keep, file.fileno()), is_null(file.fileno())

        assert in_child(null) == ([f"{path} (deleted) is closed: it cannot be copied"], True)


def test_a_carried_file_without_room_stays_readable(tmp_path, views):
    for name in ("mine", "copy"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "large").write_text(name)
        os.truncate(tmp_path / name / "large", MAX_COPIED_BYTES + 1)
    with (tmp_path / "mine" / "large").open("rb+") as file:
        carried = {str(tmp_path / "mine"): str(tmp_path / "copy")}

        def use(keep):
            return clauses_of(keep, file.fileno(), carried=carried, prepare=enter_view), os.read(file.fileno(), 4)

        clauses, content = in_child(use)
        assert ["can only be read" in clause for clause in clauses] == [True]
        assert content == b"copy"


def test_what_a_carried_copy_lacks_is_not_returned(tmp_path):
    (tmp_path / "copy").mkdir()
    secret, gone = tmp_path / ".env", tmp_path / "gone"
    secret.write_text("TOKEN=sk")
    gone.write_text("temporary")
    with secret.open("r+") as file, gone.open() as other:
        gone.unlink()

        def use(keep):
            carried = {str(tmp_path): str(tmp_path / "copy")}
            clauses = clauses_of(keep, file.fileno(), other.fileno(), carried=carried)
            return clauses, is_null(file.fileno()), other.read()

        assert in_child(use) == ([f"{secret} is closed: experiments have no copy of it"], True, "temporary")
        assert file.read() == "TOKEN=sk"


def test_files_that_do_not_fit_are_called_that(tmp_path, views):
    for name in ("from", "to"):
        (tmp_path / name).mkdir()
    (tmp_path / "from" / "file").write_bytes(bytes(200_000))

    def copy(_keep):
        enter_view()
        linux_calls.mount("tmpfs", str(tmp_path / "to"), "tmpfs", 0, "size=64k")
        with pytest.raises(OSError, match="the branch's files do not fit"):
            copy_tree(str(tmp_path / "from"), str(tmp_path / "to"))

    in_child(copy)


def test_folders_are_those_of_the_new_view(tmp_path, closed):
    (tmp_path / "there").touch()
    folder, path_only = closed(os.open(tmp_path, os.O_RDONLY | os.O_DIRECTORY)), closed(os.open(tmp_path, os.O_PATH))

    def use(keep):
        cut_off(keep)
        with os.scandir(folder) as entries:
            return [entry.name for entry in entries], os.path.samestat(os.fstat(path_only), tmp_path.stat())

    assert in_child(use) == (["there"], True)

    def without(keep):
        return clauses_of(keep, folder, prepare=lambda: tmp_path.rename(f"{tmp_path}-moved")), is_null(folder)

    assert in_child(without) == ([f"the folder {tmp_path} is closed"], True)


def test_devices(closed):
    null, zero, random = (closed(os.open(f"/dev/{name}", os.O_RDWR)) for name in ("null", "zero", "urandom"))
    master, terminal = map(closed, os.openpty())

    def use(keep):
        clauses = clauses_of(keep, terminal)
        assert is_null(null) and is_null(master)
        assert os.read(zero, 2) == b"\0\0"
        assert len(os.read(random, 8)) == 8
        assert not os.isatty(terminal)
        os.write(terminal, b"not seen")
        return clauses

    assert in_child(use) == [f"the terminal {os.ttyname(terminal)} is closed"]
    assert select.select([master], [], [], 0)[0] == []


def test_network_connections_are_replaced_and_named():
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        with socket.create_connection(("127.0.0.1", port)) as client, server.accept()[0] as accepted:

            def use(keep):
                socket.setdefaulttimeout(5)  # must not reach the parent's sockets
                clauses = clauses_of(keep, server.fileno(), client.fileno())
                with pytest.raises(OSError):
                    client.sendall(b"from the child")
                client.close()
                return clauses

            clauses = in_child(use)
            assert clauses == [f"port {port} is not served", f"the connection to 127.0.0.1:{port} is closed"]
            client.sendall(b"from the parent")
            assert accepted.recv(100) == b"from the parent"
            assert os.get_blocking(server.fileno())


def test_descriptors_of_the_kernel_are_recognized(tmp_path, closed):
    path, log, history = str(tmp_path / "served"), tmp_path / "server.log", tmp_path / "history.sqlite"
    stream, again, past, unrelated = (
        closed(os.open(one, os.O_CREAT | os.O_RDWR)) for one in (log, log, history, tmp_path / "other.log")
    )
    pipe = [*map(closed, os.pipe())]
    with socket.create_server(("127.0.0.1", 0)) as server, socket.socket(socket.AF_UNIX) as local:
        port = server.getsockname()[1]
        local.bind(path)
        with socket.create_connection(("127.0.0.1", port)) as client, socket.socket() as other:
            found = InheritedDescriptors.survey([]).of_kernel({port, path}, {stream, 10_000}, str(history))
            sockets = [one.fileno() for one in (server, local, client)]
            assert found.issuperset([stream, again, past, *pipe, *sockets])
            assert found.isdisjoint({other.fileno(), unrelated})


def test_local_sockets_are_named_by_their_path(tmp_path):
    path = str(tmp_path / "served")
    with socket.socket(socket.AF_UNIX) as server, socket.socket(socket.AF_UNIX) as client:
        server.bind(path)
        server.listen()
        client.connect(path)
        left, right = socket.socketpair()
        assert in_child(lambda keep: clauses_of(keep, server.fileno())) == [f"{path} is not served"]
        assert in_child(lambda keep: clauses_of(keep, client.fileno())) == [f"the connection to {path} is closed"]
        assert in_child(lambda keep: clauses_of(keep, left.fileno())) == []  # as event loops have them
        left.close()
        right.close()


def test_pipes_to_others_are_named(tmp_path, closed):
    path = str(tmp_path / "fifo")
    os.mkfifo(path)
    named = closed(os.open(path, os.O_RDONLY | os.O_NONBLOCK))
    reading, writing = map(closed, os.pipe())
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:

        def use(keep):
            numbers = (process.stdin.fileno(), process.stdout.fileno(), reading, writing, named)
            clauses = clauses_of(keep, *numbers, carried=[str(tmp_path)])
            os.write(process.stdin.fileno(), b"child")
            os.write(writing, b"child")
            return sorted(clauses)

        assert in_child(use) == ["a pipe to another process is closed", f"the pipe {path} is closed"]
        os.write(writing, b"parent")
        assert os.read(reading, 100) == b"parent"
        assert process.communicate(b"parent")[0] == b"parent"


def test_the_parents_selectors_stay_as_they_are(closed):
    reading, writing = map(closed, os.pipe())
    with select.epoll() as poll:
        poll.register(reading, select.EPOLLIN)
        others = [closed(os.pidfd_open(os.getpid())), closed(ctypes.CDLL(None).eventfd(0, 0))]

        def use(keep):
            assert clauses_of(keep, poll.fileno(), *others) == []
            assert all(map(is_null, (poll.fileno(), *others)))
            with pytest.raises(OSError):
                poll.unregister(reading)
            os.close(reading)

        in_child(use)
        os.write(writing, b"x")
        assert poll.poll(0) == [(reading, select.EPOLLIN)]


def test_locks_of_the_parent_hold(tmp_path):
    with (tmp_path / "lock").open("w") as file, (tmp_path / "lock").open("w") as other:
        fcntl.flock(file, fcntl.LOCK_EX)

        def use(keep):
            cut_off(keep)
            fcntl.flock(file, fcntl.LOCK_UN)

        in_child(use)
        with pytest.raises(BlockingIOError):
            fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)


def test_descriptors_of_the_child_itself_are_kept(letters, closed):
    file = closed(os.open(letters, os.O_RDONLY))

    def use(keep):
        inherited = InheritedDescriptors.survey([keep])
        os.dup2(os.open("/dev/zero", os.O_RDONLY), file)
        inherited.replace_all({})
        return os.read(file, 1)

    assert in_child(use) == b"\0"


def test_hidden_files_and_memory_are_not_returned(letters, closed):
    memory, file = closed(os.open("/proc/self/mem", os.O_RDWR)), closed(os.open(letters, os.O_RDONLY))

    def use(keep):
        clauses = clauses_of(keep, file, memory, hidden=[str(letters.parent)])
        return sorted(clauses), is_null(file), is_null(memory)

    assert in_child(use) == (sorted([f"{letters} is closed", f"/proc/{os.getpid()}/mem is closed"]), True, True)


def test_no_descriptor_leads_to_writable_originals(letters, views, closed):
    file, folder = closed(os.open(letters, os.O_RDONLY)), closed(os.open(letters.parent, os.O_RDONLY))
    tries = [f"/proc/self/fd/{file}", f"/proc/self/fd/{folder}/{letters.name}"]

    def use(keep):
        assert clauses_of(keep, file, folder, prepare=enter_view) == []
        assert os.read(file, 4) == b"line"
        assert [entry for entry in os.listdir(folder) if entry == letters.name]  # noqa: PTH208 - by its descriptor
        for path in tries:
            with pytest.raises(OSError, match="Read-only"):
                os.open(path, os.O_WRONLY)
        with pytest.raises(OSError, match="Read-only"):
            os.fchmod(file, 0o777)

    in_child(use)
    for path in tries:
        os.close(os.open(path, os.O_WRONLY))  # here it is possible


@pytest.mark.parametrize("journal", ["delete", "wal"])
@pytest.mark.parametrize("carried", [True, False])
def test_a_database_in_a_transaction_stays_whole(tmp_path, views, carried, journal):
    folder, copy = tmp_path / "here", tmp_path / "copy"
    folder.mkdir()
    database = sqlite3.connect(folder / "rows.db", isolation_level=None, timeout=0)
    database.execute(f"pragma journal_mode={journal}")
    database.execute("create table rows (n)")
    database.execute("insert into rows values (1)")
    database.execute("begin immediate")
    database.execute("insert into rows values (2)")
    shutil.copytree(folder, copy)

    def use(keep):
        show = [(copy, folder)] if carried else []
        clauses_of(keep, carried=[str(folder)] if carried else [], prepare=lambda: enter_view(show))
        rows = database.execute("select n from rows").fetchall()
        try:
            database.execute("insert into rows values (3)")
            database.execute("commit")
        except sqlite3.OperationalError as problem:
            return rows, str(problem)
        return rows, database.execute("select n from rows").fetchall()

    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    rows, after = in_child(use)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
    assert rows == [(1,), (2,)]
    assert after == [(1,), (2,), (3,)] if carried or journal == "wal" else "I/O" in after
    database.execute("commit")
    with sqlite3.connect(folder / "rows.db", timeout=0) as another:
        another.execute("insert into rows values (4)")
    another.close()
    assert database.execute("select n from rows").fetchall() == [(1,), (2,), (4,)]
    assert database.execute("pragma integrity_check").fetchall() == [("ok",)]
    database.close()


def test_a_mapped_file_is_private_and_lazily_shared(tmp_path, monkeypatch):
    numpy = pytest.importorskip("numpy")
    path = tmp_path / "grid.bin"
    grid = numpy.memmap(path, mode="w+", dtype="int64", shape=(512, 1024))
    grid[:] = 7
    readable = numpy.memmap(path, mode="r", dtype="int64", shape=(512, 1024))

    def use(keep):
        cut_off(keep)
        assert not [line for line in maps() if line.split()[1].endswith("s")]
        grid[0, 0] = 8
        grid.flush()
        return int(grid[0, 0]), int(grid[511, 1023]), int(readable[1, 1])

    assert in_child(use) == (8, 7, 7)
    with monkeypatch.context() as context:
        context.setattr("exploracoder_jupyter.kernel_agent.forking.descriptor_replacements.MAX_COPIED_BYTES", 10_000)
        assert not [clause for clause in in_child(cut_off) if "grid" in clause]  # the descriptor is not what is used
    assert grid[0, 0] == 7
    assert numpy.fromfile(path, dtype="int64").sum() == 7 * 512 * 1024


def maps():
    return Path("/proc/self/maps").read_text().splitlines()


def test_a_lost_part_of_a_mapping_is_copied(tmp_path):
    path = tmp_path / "gone"
    path.write_bytes(b"".join(bytes([65 + page]) * mmap.PAGESIZE for page in range(3)))
    with path.open("r+b") as file:
        memory = mmap.mmap(file.fileno(), 2 * mmap.PAGESIZE, offset=mmap.PAGESIZE)
    os.truncate(path, 2 * mmap.PAGESIZE)  # now the second page of the mapping may not be touched
    path.unlink()

    def use(keep):
        cut_off(keep)
        memory[0:1] = b"x"
        return bytes(memory[:2])

    assert in_child(use) == b"xB"
    assert memory[:2] == b"BB"
    memory.close()


def test_shared_memory_becomes_private_to_the_child(monkeypatch):
    for name in ("register", "unregister"):  # they would start a process that stays
        monkeypatch.setattr(f"multiprocessing.resource_tracker.{name}", lambda *_: None)
    block = multiprocessing.shared_memory.SharedMemory(create=True, size=5000)
    plain, value = mmap.mmap(-1, 5000), multiprocessing.Value("i", 1)
    try:
        block.buf[0] = plain[0] = 1

        def use(keep):
            cut_off(keep)
            block.buf[0] += 1
            plain[0] += 1
            if os.fork() == 0:
                with value:
                    value.value += 1
                plain[0] += 1
                os._exit(0)
            os.wait()
            return block.buf[0], plain[0], value.value

        assert in_child(use) == (2, 3, 2)
        assert (block.buf[0], plain[0], value.value) == (1, 1, 1)
    finally:
        plain.close()
        block.close()
        block.unlink()


def test_large_memory_is_mapped_again_or_refused(monkeypatch):
    monkeypatch.setattr("exploracoder_jupyter.kernel_agent.forking.inheritance.MAX_COPIED_BYTES", 10_000)
    file = os.memfd_create("large")
    os.truncate(file, 20_000)
    named, plain = mmap.mmap(file, 20_000), mmap.mmap(-1, 20_000)
    named[0] = plain[0] = 1

    def use(keep):
        linux_calls.drop_capabilities()  # the privileged find a way to every mapping
        clauses = make_private()
        named[0] = 2
        return clauses, writable(named), writable(plain)

    clauses, *can_write = in_child(use)
    assert named[0] == 1
    assert clauses == ["memory between processes is shared: more than 256 MB are not copied"]
    assert can_write == [True, False]
    for each in (named, plain):
        each.close()
    os.close(file)


def writable(memory):
    address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    line = next(line for line in maps() if line.startswith(f"{address:x}-"))
    return line.split()[1][1] == "w"

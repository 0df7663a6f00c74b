"""Runs a command as an ordinary user where the tests run as root: `python -m tests.as_user COMMAND...`.

What root alone can enter is opened only as far as the interpreter and this project need it, in a mount namespace of the
command's own. The user has a home folder of its own beside the tests, and a folder that experiments can see, for as
long as the command runs.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from exploracoder_jupyter.kernel_agent.confinement import linux_calls

USER = 65534
HERE = Path(__file__).resolve().parents[1]
HOMES = "EXPLORA_TEST_HOMES"
"""Variable that names the folder in which tests make home folders."""
OUTSIDE = "EXPLORA_TEST_OUTSIDE"
"""Variable that names a folder outside of every home that experiments can see."""
PLACES = (HERE / "tests" / "integration", Path("/var/lib"), Path("/opt"), Path("/srv"))


def visible_place():
    """A folder that this user can write and experiments can see, wherever this clone is; `None` if there is none."""
    private = [Path(name).resolve() for name in ("/tmp", "/var/tmp", "/dev/shm", "/run", tempfile.gettempdir())]
    places = [Path(os.environ[OUTSIDE])] if os.environ.get(OUTSIDE) else PLACES
    seen = (place for place in places if not any(place.resolve().is_relative_to(folder) for folder in private))
    return next((place for place in seen if os.access(place, os.W_OK)), None)


def open_up(paths):
    """Make the paths reachable for everybody in this mount namespace, and nothing else in the folders around them."""
    trees = [(path, linux_calls.clone_tree(path)) for path in map(str, paths) if closed_around(Path(path))]
    for folder in sorted({str(closed_around(Path(path))) for path, _ in trees}):
        linux_calls.mount("tmpfs", folder, "tmpfs", 0, "size=1m,mode=755")
    for path, tree in trees:
        Path(path).mkdir(parents=True, exist_ok=True)
        linux_calls.attach(tree, path)


def closed_around(path):
    """The outermost folder around a path that others cannot enter."""
    return next((folder for folder in reversed(path.parents) if not folder.stat().st_mode & 0o001), None)


def become_user():
    os.setgroups([])
    os.setresgid(USER, USER, USER)
    os.setresuid(USER, USER, USER)


def main(command):
    try:
        linux_calls.unshare(linux_calls.CLONE_NEWNS)
    except OSError as error:
        print(f"Skipped, for this root may not make a mount namespace: {error}")  # noqa: T201
        return 0
    linux_calls.mount("", "/", flags=linux_calls.MS_REC | linux_calls.MS_PRIVATE)
    open_up(dict.fromkeys(Path(path).resolve() for path in (sys.base_prefix, sys.prefix, HERE)))
    with (
        tempfile.TemporaryDirectory(prefix=".home-", dir=HERE / "tests" / "integration") as home,
        tempfile.TemporaryDirectory(prefix=".outside-", dir=visible_place()) as outside,
    ):
        for folder in (home, outside):
            os.chown(folder, USER, USER)
        environ = {**os.environ, "HOME": home, HOMES: home, OUTSIDE: outside, "PYTHONDONTWRITEBYTECODE": "1"}
        return subprocess.run(command, cwd=HERE, env=environ, preexec_fn=become_user, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""Which files of the user experiments see: what they need, and nothing else of the home folder."""

import json
import os
from itertools import pairwise
from pathlib import Path

import pytest

from exploracoder_jupyter.core.types import ErrorInfo, Observation
from exploracoder_jupyter.kernels.sandbox.spawn_isolation import Isolation
from exploracoder_jupyter.kernels.sandbox.views import FileView, find_visible_files, plan_mounts
from exploracoder_jupyter.kernels.sibling_kernel import add_hidden_file_note


@pytest.fixture
def home(tmp_path):
    """A home with credentials that no list names, a project, packages and downloads."""
    home = tmp_path / "home"
    for name in (
        ".claude/token",
        ".bashrc",
        "letters/private.txt",
        "project/pyproject.toml",
        "project/.env",
        "project/src/own.py",
        "project/notebooks/data.csv",
        "lib/python/package.py",
        ".cache/huggingface/token",
        ".cache/huggingface/hub/weights",
        "datasets/table.csv",
        "linked/source.py",
    ):
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).touch()
    return home


def look(home, workdir, *, needed=(), allow_read=(), environ=None):
    given = {"HOME": str(home), **(environ or {})}
    return find_visible_files(given, workdir=workdir, needed=needed, allow_read=allow_read)


def is_visible(files, path, workdir):
    """Whether the innermost rule for a path and its parent folders shows it."""
    for place in (path, *path.parents):
        if place in files.hidden:
            return False
        if place in files.shown or place == workdir:
            return True
        if place in files.covered:
            return False
    return True


def test_only_needed_parts_of_home_are_visible(home):
    """Issue 14, item 5: an allow-list in place of a list of known credentials."""
    workdir = home / "project/notebooks"
    files = look(home, workdir, needed=[home / "lib/python"])
    visible = {str(path.relative_to(home)) for path in home.rglob("*") if path.is_file()}
    visible = {name for name in visible if is_visible(files, home / name, workdir)}
    assert visible == {
        "project/pyproject.toml",
        "project/src/own.py",
        "project/notebooks/data.csv",
        "lib/python/package.py",
        ".cache/huggingface/hub/weights",
    }


WORKDIR, HUB = "project/notebooks", ".cache/huggingface/hub/weights"
SHOWN = {
    "paths given": (
        WORKDIR,
        {"allow_read": ["../../datasets", "../../.bashrc"]},
        ["datasets/table.csv", ".bashrc", HUB],
    ),
    "named by a variable": (
        WORKDIR,
        {"environ": {"PYTHONPATH": "{home}/datasets:{home}"}},
        ["datasets/table.csv", HUB],
    ),
    "named by another variable": (WORKDIR, {"environ": {"EDITOR": "{home}/datasets"}}, [HUB]),
    "the home itself": ("", {"needed": [".cache/huggingface/hub"]}, ["letters/private.txt", "datasets/table.csv", HUB]),
    "a home under version control": ("letters", {}, ["letters/private.txt", HUB]),
}


@pytest.mark.parametrize("workdir, options, shown", SHOWN.values(), ids=SHOWN)
def test_given_paths_are_visible(home, workdir, options, shown):
    (home / ".git").mkdir()
    given = {**options, "needed": [home / name for name in options.get("needed", ())]}
    given["environ"] = {name: value.format(home=home) for name, value in options.get("environ", {}).items()}
    files = look(home, home / workdir, **given)
    asked = ["datasets/table.csv", ".bashrc", "letters/private.txt", HUB, ".claude/token"]
    assert {name for name in asked if is_visible(files, home / name, home / workdir)} == set(shown)


def test_a_cache_elsewhere_is_covered_like_home(home, tmp_path):
    """Issue 31, item 10: libraries write there at their import."""
    cache, workdir = tmp_path / "scratch/cache", home / WORKDIR
    for name in ("huggingface/hub/weights", "pip/http", "huggingface/token"):
        (cache / name).parent.mkdir(parents=True, exist_ok=True)
        (cache / name).touch()
    files = look(home, workdir, environ={"XDG_CACHE_HOME": str(cache), "XDG_DATA_HOME": str(tmp_path)})
    assert cache in files.covered and tmp_path not in files.covered
    visible = {str(path.relative_to(cache)) for path in cache.rglob("*") if is_visible(files, path, workdir)}
    assert visible == {"huggingface/hub", "huggingface/hub/weights"}


def test_the_sources_of_editable_packages_are_visible(home):
    record = home / "lib/python/own-1.0.dist-info/direct_url.json"
    record.parent.mkdir()
    record.write_text(json.dumps({"url": (home / "linked").as_uri(), "dir_info": {"editable": True}}))
    workdir = home / WORKDIR
    assert is_visible(look(home, workdir, needed=[home / "lib/python"]), home / "linked/source.py", workdir)


@pytest.mark.parametrize("way", ["editable", "import path", "variable"])
def test_private_files_in_sources_are_hidden(home, way):
    """Issue 31, items 5 and 7: a package that is imported from a project shows the project."""
    project = home / "linked"
    for name in ("id_rsa", ".env", ".venv/lib/python3.11/site-packages/cacert.pem"):
        (project / name).parent.mkdir(parents=True, exist_ok=True)
        (project / name).write_text("-----BEGIN PRIVATE KEY-----\n")
    (project / ".git").mkdir()
    os.mkfifo(project / ".git/fsmonitor")
    needed, environ = [home / "lib/python"], {}
    if way == "editable":
        record = {"url": project.as_uri(), "dir_info": {"editable": True}}
        (home / "lib/python/own-1.dist-info").mkdir()
        (home / "lib/python/own-1.dist-info/direct_url.json").write_text(json.dumps(record))
    elif way == "import path":
        needed.append(project)
    else:
        environ = {"PYTHONPATH": str(project)}
    files = look(home, home / "project/notebooks", needed=needed, environ=environ)
    hidden = {path for path in project.rglob("*") if not path.is_dir() and not is_visible(files, path, home)}
    assert hidden == {project / "id_rsa", project / ".env", project / ".git/fsmonitor"}


def test_a_missing_home_is_not_covered(home):
    """As that of an account for services: there is no place to mount anything at."""
    assert home / "none" not in look(home / "none", home / "project").covered


def test_an_error_about_an_invisible_file_is_explained(home):
    files = look(home, home / "project/notebooks")
    for path in (str(home / "datasets/table.csv"), "../../datasets/table.csv"):
        error = ErrorInfo("FileNotFoundError", f"[Errno 2] No such file or directory: '{path}'")
        assert "--allow-read" in add_hidden_file_note(Observation("error", error=error), files).note


def test_an_error_about_a_project_key_is_explained(home):
    """Issue 31, security 7: what is recognized by its content can be meant."""
    workdir = home / "project/notebooks"
    (workdir / "server.key").write_text("0f8a2b6c4d1e")
    error = ErrorInfo("FileNotFoundError", "[Errno 2] No such file or directory: 'server.key'")
    assert "--allow-read" in add_hidden_file_note(Observation("error", error=error), look(home, workdir)).note
    files = look(home, workdir, allow_read=["server.key"])
    assert workdir / "server.key" not in (*files.hidden, *files.private)


@pytest.mark.parametrize("path", ["../../.claude/token", "../../datasets/none.csv", "../src/none.py", "/none/x", "x"])
def test_missing_and_secret_files_get_no_note(home, path):
    files = look(home, home / "project/notebooks")
    error = ErrorInfo("FileNotFoundError", f"[Errno 2] No such file or directory: '{path}'")
    assert add_hidden_file_note(Observation("error", error=error), files).note == ""


def test_a_temporary_home_needs_no_own_mount():
    """Issue 14, item 11: there is nothing to hide in a private `/tmp`, and no place to mount it at."""
    home = Path("/tmp/home")
    view = FileView(
        workdir=home / "work",
        copy=Path("/tmp/x/work"),
        temporary=Path("/tmp/x/tmp"),
        readable=(home / "venv",),
        hidden=(home / ".ssh", home / "venv/token"),
        covered=(home,),
    )
    steps = plan_mounts(view, network=False)
    targets = [step.target for step in steps]
    assert [step.kind for step in steps if step.target == str(home)] == ["folder"]  # made there
    assert str(home / ".ssh") not in targets
    assert targets.index(str(home / "venv")) < targets.index(str(home / "venv/token"))
    assert targets.index("/tmp") < targets.index(str(home / "work"))


def test_a_covered_home_lies_under_its_shown_parts():
    home = Path("/home/me")
    view = FileView(
        home / "work", Path("/x/work"), Path("/x/tmp"), readable=(home / "lib", Path("/opt")), covered=(home,)
    )
    command = Isolation("", ("bwrap",)).command(["python"], view)
    order = [command.index(word) for word in (str(home), str(home / "lib"), "/x/work")]
    assert order == sorted(order)
    assert ("--remount-ro", str(home)) not in pairwise(command)  # what is written there is thrown away
    assert "/opt" not in command


@pytest.mark.parametrize("name", ["project/notebooks", "letters"])
def test_credentials_in_any_working_directory_are_known(home, name):
    (home / name / ".env.local").touch()
    assert home / name / ".env.local" in look(home, home / name).private

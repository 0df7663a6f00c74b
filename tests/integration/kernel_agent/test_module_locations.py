"""Namespace packages and libraries of type stubs, found and walked by the programs that do so."""

from pathlib import Path

import pytest

from exploracoder_jupyter.kernel_agent.introspection.locations import fingerprints
from tests.integration.kernel_agent import programs

CODE = {
    "one/realm/sub/core.py": 'def run(x: int) -> bool:\n    """Run it."""\nclass Engine:\n    """Runs."""\n',
    "one/realm/sub/data/readme.txt": "",
    "one/realm/alpha/__init__.py": 'from realm._alpha import Base\ndef begin():\n    """Begin."""\n',
    "one/realm/_alpha/__init__.py": 'class Base:\n    """What is shared."""\n',
    "two/realm/beta/__init__.py": 'from realm.alpha import begin\ndef end():\n    """End."""\n',
}
RECORDS = {
    "one/realm_alpha-1.0.dist-info": ("realm-alpha", "1.0", ["realm/alpha/__init__.py", "realm/_alpha/__init__.py"]),
    "two/realm_beta-2.0.dist-info": ("realm-beta", "2.0", ["realm/beta/__init__.py"]),
}
STUBS = {
    "__init__.pyi": "from {0}.inner import Thing as Thing\nfrom typing import Any\n"
    'def make(x: int, *, y: str = ...) -> Thing:\n    """Make a thing."""\n'
    'class Box:\n    """A box."""\n    size: int\n    def __init__(self, size: int) -> None: ...\n'
    "    @property\n    def full(self) -> bool: ...\n    def open(self) -> None: ...\n",
    "inner.pyi": "class Thing:\n    def use(self) -> str: ...\ndef _hidden() -> None: ...\n",
    "_private.pyi": "def inner() -> None: ...\n",
}


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> Path:
    files = {**CODE, **_stubs("one/foo-stubs", "foo"), **_stubs("one/bare", "")}
    root = programs.write_files(tmp_path_factory.mktemp("site"), files)
    for name, (dist, version, code) in RECORDS.items():
        (root / name).mkdir()
        (root / name / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {dist}\nVersion: {version}\n\n# {dist}\n")
        (root / name / "RECORD").write_text("".join(f"{file},,\n" for file in code))
    return root


def _stubs(folder: str, package: str) -> dict[str, str]:
    return {f"{folder}/{name}": text.replace("{0}", package) for name, text in STUBS.items()}


def run(site: Path, program: str, *args: str) -> list[dict]:
    return programs.run(program, *args, path=(site / "one", site / "two"))[1]


def walked(site: Path, name: str, *args: str) -> dict[str, dict]:
    return programs.apis(run(site, "api_walk", *args, "--", name))


def about(site: Path, name: str) -> dict:
    (line,) = run(site, "installed_libraries", "--", name)
    return line["library"]


@pytest.mark.parametrize(
    ("name", "paths"),
    [
        ("realm", {"realm.sub.core.run", "realm.sub.core.Engine", "realm.alpha.begin", "realm.beta.end"}),
        ("realm.sub", {"realm.sub.core.run", "realm.sub.core.Engine"}),
        ("realm.sub.core", {"realm.sub.core.run", "realm.sub.core.Engine"}),
        ("realm.beta", {"realm.beta.end"}),
    ],
)
def test_all_portions_of_a_namespace_package_are_walked(site, name, paths):
    """Issue 14, item 17: modules of a package without `__init__.py`, in several folders, are found and read."""
    assert about(site, name)["name"] == name
    assert paths <= set(walked(site, name)) <= paths | {"realm.alpha.Base"}


def test_a_namespace_part_has_its_own_distribution(site):
    """Issue 14, item 17: what shares a namespace with others is not taken for theirs."""
    for name, dist, version in (("realm.alpha", "realm-alpha", "1.0"), ("realm.beta", "realm-beta", "2.0")):
        found = about(site, name)
        assert (found["distribution"], found["version"]) == (dist, version)
    whole = about(site, "realm")
    assert whole["version"] == "" and whole["stamp"] and fingerprints(whole["rests"]) == whole["rests"]


def test_a_distribution_means_its_namespace_part(site):
    """Issue 14, item 17: as `azure-storage-blob` means `azure.storage.blob`."""
    assert about(site, "realm-beta")["name"] == "realm.beta"
    found = about(site, "realm-alpha")
    assert found["name"] == "realm.alpha" and found["beside"] == ["realm._alpha"]
    paths = walked(site, "realm.alpha", "--beside", "realm._alpha")
    assert set(paths) == {"realm.alpha.begin", "realm.alpha.Base"}


@pytest.mark.parametrize("name", ["foo", "bare"])
def test_a_library_of_stubs_is_read_from_them(site, name):
    """Issue 14, item 17: signatures and docstrings come from the stubs where there is nothing else."""
    apis = walked(site, name)
    assert set(apis) == {
        f"{name}.{path}" for path in ("make", "Thing", "Thing.use", "Box", "Box.size", "Box.full", "Box.open")
    }
    make, box = apis[f"{name}.make"], apis[f"{name}.Box"]
    assert "x: int" in make["signature"] and make["doc"] == "Make a thing." and make["returns"] == "Thing"
    assert box["signature"] == "(size: int)" and box["doc"] == "A box."
    assert [apis[f"{name}.Box.{one}"]["kind"] for one in ("full", "open")] == ["property", "method"]
    assert apis[f"{name}.Thing"]["aliases"] == [f"{name}.inner.Thing"]
    assert run(site, "api_walk", name)[-1]["library"]["stubs"]


def test_stubs_are_named_as_library_or_themselves(site):
    """Issue 14, item 17: `foo` and `foo-stubs` both mean the library that the stubs describe."""
    assert about(site, "foo")["name"] == about(site, "foo-stubs")["name"] == "foo"
    assert about(site, "foo")["stamp"]


def test_the_source_in_a_namespace_is_found(site):
    """Issue 14, item 17: reading source code follows namespace packages, too."""
    (line,) = run(site, "source_code", "realm.sub.core.run")
    assert "def run(x: int)" in line["source"]

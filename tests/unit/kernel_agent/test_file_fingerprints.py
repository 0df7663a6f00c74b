"""The states on which an answer rests: what changes them, and what does not."""

import os
import sys
from pathlib import Path

import pytest

from exploracoder_jupyter.kernel_agent.introspection.locations import (
    TREE,
    fingerprint,
    fingerprints,
    import_environment,
)


@pytest.fixture
def site(tmp_path):
    """A folder of the import path."""
    (tmp_path / "shop").mkdir()
    (tmp_path / "shop" / "__init__.py").write_text("price = 1\n")
    (tmp_path / "shop-1.0.dist-info").mkdir()
    (tmp_path / "__editable___till_finder.py").write_text("MAPPING = {}\n")
    (tmp_path / "paths.pth").write_text("/srv/one\n")
    return tmp_path


@pytest.mark.parametrize(
    "change",
    [
        lambda site: (site / "till.py").write_text(""),
        lambda site: (site / "till").mkdir(),
        lambda site: (site / "shop-1.0.dist-info").rename(site / "shop-2.0.dist-info"),
        lambda site: (site / "paths.pth").write_text("/srv/elsewhere\n"),
        lambda site: (site / "__editable___till_finder.py").write_text("MAPPING = {'till': '/srv'}\n"),
    ],
)
def test_a_folder_changes_with_its_importable_files(site, change):
    before = fingerprint(str(site))
    change(site)
    assert fingerprint(str(site)) != before


def test_other_files_do_not_change_a_folder(site):
    before = fingerprint(str(site))
    for name in ("notes.ipynb", "data.csv", ".hidden", "__pycache__"):
        (site / name).write_text("")
    assert fingerprint(str(site)) == before


@pytest.mark.parametrize(
    "change",
    [
        lambda shop: (shop / "__init__.py").write_text("price = 2.5\n"),
        lambda shop: os.utime(shop / "__init__.py", (1, 1)),
        lambda shop: (shop / "__init__.py").rename(shop / "_first.py"),
        lambda shop: (shop / "types.pyi").write_text(""),
    ],
)
def test_a_tree_changes_with_all_code_below(site, change):
    tree, missing = f"{site}{TREE}", str(site / "nothing")
    before = fingerprints([tree, missing])
    (site / "shop" / "notes.txt").write_text("")
    assert fingerprints([tree, missing]) == before and before[missing] == ""
    change(site / "shop")
    assert fingerprint(tree) != before[tree]


def test_the_surroundings_are_interpreter_and_search_path(site, monkeypatch):
    monkeypatch.syspath_prepend(str(site))
    found = import_environment()
    assert found[0] == sys.executable and found[1].endswith("pyvenv.cfg")
    assert str(site) in found and all(Path(path).is_absolute() for path in found)

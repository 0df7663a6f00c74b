"""Only the same evaluation is resumed."""

from dataclasses import replace
from datetime import datetime

import pytest

from exploracoder_jupyter.core.errors import UsageError
from exploracoder_jupyter.evaluation.problems import Problem
from exploracoder_jupyter.evaluation.records import (
    Manifest,
    default_folder,
    prepare_folder,
    problems_digest,
    read_manifest,
)

ASKED = Manifest("toys", 2, "abc", ("rag", "explore"), "offline", 3, {"exploration": {"candidates": 3}})


def test_the_same_evaluation_resumes_under_its_id(tmp_path):
    first = prepare_folder(tmp_path / "new", ASKED, resume=False)
    again = replace(ASKED, id="other")
    assert prepare_folder(tmp_path / "new", again, resume=True).id == first.id != again.id
    assert read_manifest(tmp_path / "new") == ASKED


@pytest.mark.parametrize(
    "change",
    [{"model": "m"}, {"strategies": ("rag",)}, {"problems_digest": "x"}, {"settings": {}}, {"version": "0"}],
)
def test_another_evaluation_is_refused(tmp_path, change):
    prepare_folder(tmp_path, ASKED, resume=False)
    for resume in (True, False):
        with pytest.raises(UsageError, match="--out"):
            prepare_folder(tmp_path, replace(ASKED, **change), resume=resume)
    assert read_manifest(tmp_path) == ASKED


def test_an_evaluation_starts_once_and_resumes_later(tmp_path):
    with pytest.raises(UsageError, match="Omit --resume"):
        prepare_folder(tmp_path, ASKED, resume=True)
    prepare_folder(tmp_path, ASKED, resume=False)
    with pytest.raises(UsageError, match="Add --resume"):
        prepare_folder(tmp_path, ASKED, resume=False)
    (tmp_path / "manifest.json").write_text("{")
    with pytest.raises(UsageError):
        prepare_folder(tmp_path, ASKED, resume=True)


def test_default_folders_differ(tmp_path):
    now = datetime(2026, 1, 2, 3, 4, 5)
    folders = [default_folder(tmp_path, "my set/1", now) for _ in range(3)]
    assert len(set(folders)) == 3 and all(folder.is_dir() for folder in folders)
    assert folders[0].name == "my-set-1-20260102-030405"


def test_the_digest_depends_on_the_problems_only(tmp_path):
    problem = Problem("a", "task", ("toy",), ("assert x",))
    assert problems_digest([problem]) == problems_digest([replace(problem, folder=tmp_path)])
    assert problems_digest([problem]) != problems_digest([replace(problem, tests=("assert y",))])

"""What keeps a sibling from being started is an error of the one who asks for it, in words."""

import errno
import shutil

import pytest

from exploracoder_jupyter.core.errors import KernelError
from exploracoder_jupyter.kernels import siblings
from exploracoder_jupyter.kernels.sandbox.working_directory import Snapshot

FULL = OSError(errno.ENOSPC, "No space left on device")


class Launcher:
    def __init__(self, folder):
        self.folder = folder


@pytest.mark.parametrize("error", [FULL, shutil.Error([("a", "b", str(FULL))])], ids=["one file", "a folder"])
async def test_a_full_disk_leaves_nothing(tmp_path, monkeypatch, error):
    def copy(snapshot, folder, symlinks):
        folder.mkdir()
        raise error

    monkeypatch.setattr(shutil, "copytree", copy)
    made = siblings.SiblingFactory(Launcher(tmp_path), Snapshot(tmp_path, tmp_path, (), ()), None)
    with pytest.raises(KernelError, match=r"could not be started: .*No space left on device"):
        await made.start()
    assert list(tmp_path.iterdir()) == []

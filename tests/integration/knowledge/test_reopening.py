"""Libraries that are opened again, with the real inspector: nothing is started while nothing has changed."""

import os
from contextlib import aclosing

import pytest

from exploracoder_jupyter.core.configuration.sections import Sandbox
from exploracoder_jupyter.kernels.agent import local_inspector
from exploracoder_jupyter.knowledge.task_libraries import TaskLibraries
from exploracoder_jupyter.runs.knowledge_factory import environment_key


@pytest.fixture
def site(tmp_path, monkeypatch):
    """A folder of the import path, of this process and of those that it starts."""
    folder = tmp_path / "site"
    folder.mkdir()
    monkeypatch.syspath_prepend(str(folder))
    monkeypatch.setenv("PYTHONPATH", str(folder))
    return folder


def installed(site, version):
    """A library as an installer leaves it."""
    (site / "corner").mkdir(exist_ok=True)
    (site / "corner" / "__init__.py").write_text(f'def sell_{version[0]}():\n    """Sell the goods."""\n')
    about = site / f"corner-{version}.dist-info"
    about.mkdir()
    about.joinpath("METADATA").write_text(f"Metadata-Version: 2.1\nName: corner\nVersion: {version}\n")
    about.joinpath("RECORD").write_text(f"corner/__init__.py,,\n{about.name}/RECORD,,\n")
    return about


class Opening:
    """Opens libraries, and counts the programs that are started for it."""

    def __init__(self, tmp_path):
        self.place, self.started = tmp_path, []

    async def __call__(self, name):
        library = await TaskLibraries.open(
            [name],
            inspect=self._counted,
            cache=self.place / "cache",
            environment=environment_key(Sandbox(), self.place),
        )
        self.started, started = [], self.started
        return library, started

    async def _counted(self, module, arguments):
        self.started.append(module)
        async with aclosing(local_inspector(Sandbox(), workdir=self.place)(module, arguments)) as lines:
            async for line in lines:
                yield line


async def test_a_wheel_is_read_again_after_an_upgrade(tmp_path, site):
    about, opening = installed(site, "1.0"), Opening(tmp_path)
    first, _ = await opening("corner")
    again, started = await opening("corner")
    assert started == [] and again.apis == first.apis
    for path in about.iterdir():
        path.unlink()
    about.rmdir()
    installed(site, "2.0")
    changed, started = await opening("corner")
    assert "introspection.api_walk" in started
    assert changed.libraries[0].version == "2.0" and changed.lookup("corner.sell_2")


async def test_an_edited_module_is_read_again(tmp_path, site):
    code, opening = site / "stall.py", Opening(tmp_path)
    code.write_text('def sell():\n    """Sell the goods."""\n')
    await opening("stall")
    assert (await opening("stall"))[1] == []
    before = code.stat()
    code.write_text('def give():\n    """Give the goods."""\n')
    os.utime(code, ns=(before.st_atime_ns, before.st_mtime_ns + 1))
    changed, started = await opening("stall")
    assert "introspection.api_walk" in started and changed.lookup("stall.give") and not changed.lookup("stall.sell")


async def test_a_module_that_now_comes_first_is_found(tmp_path, site, monkeypatch):
    first, opening = tmp_path / "first", Opening(tmp_path)
    first.mkdir()
    monkeypatch.syspath_prepend(str(first))
    monkeypatch.setenv("PYTHONPATH", f"{first}{os.pathsep}{site}")
    (site / "stall.py").write_text('def sell():\n    """Sell the goods."""\n')
    await opening("stall")
    assert (await opening("stall"))[1] == []
    (first / "stall.py").write_text('def give():\n    """Give the goods."""\n')
    changed, started = await opening("stall")
    assert "introspection.api_walk" in started and changed.lookup("stall.give")

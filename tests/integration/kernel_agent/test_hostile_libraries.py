"""Libraries that do on import what nobody expects, read by the confined program."""

from pathlib import Path

import pytest

from exploracoder_jupyter.core.configuration.sections import Sandbox
from exploracoder_jupyter.core.errors import MissingRequirement
from exploracoder_jupyter.kernels.agent import local_inspector
from exploracoder_jupyter.kernels.sandbox.spawn_isolation import find_isolation
from exploracoder_jupyter.knowledge.extraction import library_surface as surfaces
from exploracoder_jupyter.knowledge.extraction.library_surface import Surface
from exploracoder_jupyter.knowledge.task_libraries import TaskLibraries

HOSTILE = {
    "__init__.py": "'''Means harm.'''\nprint('noise')\ndef fine(): 'Is fine.'",
    "asks.py": "answer = input('Your name? ')\ndef asked(): 'Is asked.'",
    "dies.py": "import os; os._exit(1)",
    "exits.py": "import sys; sys.exit('bye')",
    "prints.py": "import os; os.system('echo noise')\nprint('{\"api\": 1}')\ndef printed(): 'Is printed.'",
    "writes.py": "open('left.txt', 'w').write('x')\ndef wrote(): 'Has written.'",
    "zeal.py": "def last(): 'Comes after all of them.'",
}


async def read(folder: Path, name: str, *, seconds: float = 60) -> Surface:
    inspect = local_inspector(Sandbox(), workdir=folder)
    (found,) = await surfaces.find_libraries([name], inspect=inspect)
    return await surfaces.read_surface(found, inspect=inspect, advance=lambda done: None, seconds=seconds)


async def test_harmful_modules_are_left_out(tmp_path):
    folder = tmp_path / "hostile"
    folder.mkdir()
    for name, source in HOSTILE.items():
        (folder / name).write_text(source)
    surface = await read(tmp_path, "hostile")
    paths = {api.path for api in surface.apis}
    assert paths - {"hostile.writes.wrote"} == {"hostile.fine", "hostile.prints.printed", "hostile.zeal.last"}
    gaps = dict(surface.unimported)
    assert gaps["hostile.asks"] == "EOFError: EOF when reading a line"
    assert gaps["hostile.exits"] == "SystemExit: bye" and gaps["hostile.dies"] == "it ends the interpreter"
    assert set(gaps) - {"hostile.writes"} == {"hostile.asks", "hostile.dies", "hostile.exits"}
    if find_isolation(network=False).mounts:
        assert not (tmp_path / "left.txt").exists()


@pytest.mark.parametrize(
    ("source", "why"),
    [
        ("input('Your name? ')", "EOFError"),
        ("import os; os._exit(0)", "the interpreter ended"),
        ("import time; time.sleep(600)", "its import did not end within 1 s"),
        (
            "while True:\n    try:\n        import time; time.sleep(600)\n    except BaseException:\n        pass",
            "within 1 s",
        ),
    ],
)
async def test_an_unimportable_library_ends_with_one_message(tmp_path, source, why):
    (tmp_path / "mean.py").write_text(source)
    with pytest.raises(MissingRequirement, match=f"'mean' is installed but cannot be imported: .*{why}"):
        await read(tmp_path, "mean", seconds=1)


async def test_a_library_that_caches_compiled_functions_is_read(tmp_path):
    (tmp_path / "cached.py").write_text(
        "import os\ncache = os.path.join(os.environ['NUMBA_CACHE_DIR'], 'of-a-file')\nos.makedirs(cache)\n"
        "open(os.path.join(cache, 'index'), 'w').close()\ndef fast(): 'Is compiled.'"
    )
    assert "cached.fast" in {api.path for api in (await read(tmp_path, "cached")).apis}


async def test_a_submodule_that_does_not_import_is_noticed(tmp_path):
    folder = tmp_path / "partial"
    folder.mkdir()
    (folder / "__init__.py").write_text(
        "'''Refers to `partial.nowhere`, which is no module.'''\ndef fine(): 'Is fine.'"
    )
    (folder / "broken.py").write_text("import no_such_module_at_all")
    inspect = local_inspector(Sandbox(), workdir=tmp_path)
    for _ in range(2):  # the second time from the cache
        libraries = await TaskLibraries.open(["partial"], inspect=inspect, cache=tmp_path / "cache")
        [notice] = libraries.notices
        assert "1 submodule of 'partial'" in notice and "nowhere" not in notice
        assert "partial.broken (ModuleNotFoundError: No module named 'no_such_module_at_all')" in notice


async def test_an_import_that_takes_long_shows_progress(tmp_path):
    (tmp_path / "slow.py").write_text("import time\ntime.sleep(5)\ndef fine(): 'Is fine.'")
    shown = []
    inspect = local_inspector(Sandbox(), workdir=tmp_path)
    libraries = await TaskLibraries.open(
        ["slow"], inspect=inspect, cache=tmp_path / "cache", progress=lambda what, done, total: shown.append(what)
    )
    assert libraries.size == 1
    assert any(what.startswith("Importing slow for ") for what in shown)

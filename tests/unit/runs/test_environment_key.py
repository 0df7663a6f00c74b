import json

import pytest

from exploracoder_jupyter.core.configuration.sections import Sandbox
from exploracoder_jupyter.runs.knowledge_factory import environment_key


@pytest.fixture
def kernel(tmp_path, monkeypatch):
    """A kernel of the name `other`; called with the command that starts it."""
    folder = tmp_path / "jupyter" / "kernels" / "other"
    folder.mkdir(parents=True)
    monkeypatch.setenv("JUPYTER_PATH", str(tmp_path / "jupyter"))

    def write(*argv):
        spec = {"argv": [*argv, "-m", "ipykernel_launcher"], "display_name": "other", "language": "python"}
        (folder / "kernel.json").write_text(json.dumps(spec))

    return write


def test_another_interpreter_folder_or_path_is_another_environment(tmp_path, kernel, monkeypatch):
    kernel("/srv/one/bin/python")
    found = [environment_key(Sandbox(), tmp_path), environment_key(Sandbox(kernel="other"), tmp_path)]
    assert found[0] == environment_key(Sandbox(), tmp_path)
    kernel("/srv/two/bin/python")
    found.append(environment_key(Sandbox(kernel="other"), tmp_path))
    found.append(environment_key(Sandbox(), tmp_path / "elsewhere"))
    monkeypatch.setenv("PYTHONPATH", "/srv/more")
    found.append(environment_key(Sandbox(), tmp_path))
    assert all(found) and len({*found}) == 5


def test_an_environment_unknown_here_has_no_key(tmp_path):
    assert environment_key(Sandbox(gateway="http://localhost:8888"), tmp_path) is None
    assert environment_key(Sandbox(kernel="no_such_kernel"), tmp_path) is None

"""`--docs` on the command line: a library that only documents describe, and documents beside an installed one."""

import json
from functools import partial

import pytest

from tests.integration import command_line

REFERENCE = """\
# Acme kit

Talk to devices of Acme.

## `acmekit.connect(host: str, port: int = 80) -> Client`

Open a connection to a device.

```python
import acmekit
client = acmekit.connect("10.0.0.1")
```

## `Client.get(path)`

Fetch a resource from the device.
"""


@pytest.fixture
def explora(tmp_path, monkeypatch):
    (tmp_path / "ref").mkdir()
    (tmp_path / "ref" / "README.md").write_text(REFERENCE)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return partial(command_line.explora, folder=tmp_path)


def test_a_library_known_from_documents_is_explored(explora):
    found = explora("search", "acmekit", "open a connection", "--docs", "ref", "--json")
    answer = json.loads(found.stdout)
    assert found.returncode == 0 and answer["results"][0]["path"] == "acmekit.connect"
    assert answer["results"][0]["origin"] == "ref/README.md, line 5"
    assert "cannot run here" in answer["notices"][0]

    task = "Open a connection to the device 10.0.0.1"
    ran = explora("run", "-t", task, "--library", "acmekit", "--docs", "ref", "--model", "offline", "--json")
    summary = json.loads(ran.stdout)
    assert ran.returncode == 1 and summary["status"] in ("stopped", "unsolved")
    assert "No module named 'acmekit'" in summary["reason"]
    assert "code that uses it cannot run here" in ran.stderr


def test_documents_beside_an_installed_library_add_to_it(explora, tmp_path):
    document = "# More on JSON\n\n## `json.dumps(obj)`\n\nZebras are told compactly, where separators have no space.\n"
    (tmp_path / "more.md").write_text(document)
    done = explora("search", "json", "zebras told compactly", "-k", "1", "--docs", "more.md", "--json")
    (result,) = json.loads(done.stdout)["results"]
    assert result["path"] == "json.dumps" and "From more.md, line 3:" in result["documentation"]


@pytest.mark.parametrize(
    ("source", "verdict"),
    [
        ("from IPython import get_ipython\nget_ipython().user_ns\ndef connect(host, port=80): ...\n", "can import"),
        ("raise ImportError('libacme.so is missing')\n", "cannot import"),
    ],
    ids=["in a kernel", "nowhere"],
)
def test_importing_what_could_not_be_read_is_tried(explora, tmp_path, source, verdict):
    """Issue 14, item 19: a library that cannot be imported to be read may be importable in experiments."""
    (tmp_path / "acmekit.py").write_text(source)
    task = "Open a connection to the device 10.0.0.1"
    ran = explora("run", "-t", task, "--library", "acmekit", "--docs", "ref", "--model", "offline")
    output = " ".join((ran.stderr + ran.stdout).split())
    assert f"{verdict} 'acmekit'" in output
    assert ("all that use it will fail" in output) == (verdict == "cannot import")

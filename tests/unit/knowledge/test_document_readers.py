"""What is read of each kind of document: APIs with their parameters, passages, programs."""

import json
import zlib

import pytest

from exploracoder_jupyter.core.types import Parameter
from exploracoder_jupyter.knowledge.documents.document_source import read_documents
from exploracoder_jupyter.knowledge.knowledge_cache import KnowledgeCache


@pytest.fixture
def read(tmp_path):
    def read(name, content):
        path = tmp_path / "ref" / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return read_documents([path], KnowledgeCache(tmp_path / "cache"))

    return read


def by_path(documents):
    return {api.path: api for api in reversed(documents.apis)}


MARKDOWN = """\
# acmekit

Talk to devices of Acme.

```python
import acmekit
print(acmekit.connect("10.0.0.1"))
```

## `acmekit.connect(host: str, port: int = 80) -> Client`

Open a connection.

#### Parameters

The host is needed.

### class `Client(host)`

A connection.

#### `get(path, *, timeout=3.0)`

Fetch a resource.

## Helpers

- `encode(text, *, strict=False)`: Make bytes of a text.
- `acmekit.connect("here")`: this is a call, not a signature.

| Function | Meaning |
| --- | --- |
| `decode(data)` | Make a text of bytes. |

```python
class Device:
    '''A device.'''

    def reset(self, hard: bool = False) -> None: ...
    @property
    def name(self) -> str: ...
```

### settings.json

Where settings are.

```{py:function} acmekit.scan(net)
Look for devices.
```
"""


def test_markdown_declares_apis_in_many_forms(read):
    found = by_path(read("guide.md", MARKDOWN))
    assert found["acmekit.connect"].signature == "(host: str, port: int = 80) -> Client"
    assert found["acmekit.connect"].parameters == (Parameter("host", "str"), Parameter("port", "int", "80"))
    assert "The host is needed." in found["acmekit.connect"].description
    assert found["Client.get"].kind == "method" and found["Client.get"].signature == "(path, *, timeout=3.0)"
    assert found["Client"].kind == "class" and "Fetch" not in found["Client"].description
    assert found["encode"].description == "Make bytes of a text."
    assert found["decode"].description == "Make a text of bytes."
    assert found["Device.reset"].signature == "(hard: bool=False) -> None"
    assert (found["Device.name"].kind, found["Device.name"].returns) == ("property", "str")
    assert found["acmekit.scan"].description == "Look for devices." and found["acmekit.scan"].library == "acmekit"
    assert len(found) == 9
    assert found["acmekit.connect"].origin == "guide.md, line 10"


def test_markdown_becomes_passages_and_programs(read):
    documents = read("guide.md", MARKDOWN)
    titles = [passage.title for passage in documents.passages]
    assert "acmekit: Helpers" in titles
    assert all(passage.source == "documentation" for passage in documents.passages)
    assert len({passage.origin for passage in documents.passages}) == len(documents.passages)
    assert 'import acmekit\nprint(acmekit.connect("10.0.0.1"))' in documents.programs
    assert documents.text.startswith("Talk to devices")


def test_a_history_of_versions_describes_nothing(read):
    assert read("CHANGELOG.md", "# Changes\n\nMuch was done in this version of it.\n\n- `run(x)`: is new\n").apis == ()


REST = """\
=======
Acmekit
=======

Talk to devices of Acme over the network, see :func:`~acmekit.connect`.

.. include:: /etc/passwd
.. raw:: html
   :file: /etc/passwd

.. py:currentmodule:: acmekit

.. py:function:: connect(host, port=80)
                 connect(url)

   Open a connection.

   .. code-block:: python

      import acmekit
      acmekit.connect("10.0.0.1")

   .. versionadded:: 1.2

   :param str host: where to
   :param int port: which port
   :returns: a client
   :rtype: Client

.. class:: Client(host)

   A connection.

   .. method:: get(path)
      :async:

      Fetch a resource.

   .. deprecated:: 2.0
      Use Session.

Usage
-----

Connect first. Then fetch what you want from the device.
"""


def test_rest_directives_describe_apis(read):
    found = by_path(read("api.rst", REST))
    connect = found["acmekit.connect"]
    assert connect.signature == "(host, port=80)" and connect.library == "acmekit"
    assert connect.parameters == (
        Parameter("host", "str", "", "where to"),
        Parameter("port", "int", "80", "which port"),
    )
    assert connect.returns.startswith("Client") and connect.examples == ('import acmekit\nacmekit.connect("10.0.0.1")',)
    assert connect.notes and "1.2" in connect.notes[0]
    assert found["acmekit.Client.get"].description == "Fetch a resource."
    assert found["acmekit.Client"].deprecated == "2.0 Use Session."
    assert "Fetch" not in found["acmekit.Client"].description
    assert set(found) == {"acmekit.connect", "acmekit.Client", "acmekit.Client.get"}


def test_rest_includes_nothing_and_keeps_sections(read):
    documents = read("api.rst", REST)
    assert [passage.title for passage in documents.passages] == ["Acmekit", "Acmekit: Usage"]
    assert "root:" not in documents.text and "passwd" not in documents.passages[0].text
    assert "`acmekit.connect`" in documents.passages[0].text


SPHINX = """<html><head><title>API</title></head><body><nav>menu</nav><div role="main"><h1>API<a class="headerlink"
href="#">¶</a></h1><p>All there is to be called, in one place.</p><script>steal()</script>
<p style="display: none">unseen words</p>
<dl class="py class"><dt class="sig" id="acmekit.Client">
<span class="sig-name descname">Client</span>(<em>host</em>)</dt>
<dd><p>A connection.</p>
<dl class="py method"><dt id="acmekit.Client.get"><span class="descname">get</span>
<span>(</span><em><span>path</span><span>:
</span><span>str</span></em>, <em>timeout=3</em><span>)</span> &#x2192; bytes<a class="headerlink">¶</a></dt>
<dd><p>Fetch a resource.</p><dl class="field-list simple"><dt>Parameters<span class="colon">:</span></dt>
<dd><ul><li><p><strong>path</strong> (<em>str</em>) – what to fetch</p></li>
<li><p><strong>timeout</strong> – seconds</p></li></ul></dd></dl>
<div class="highlight-python"><pre>import acmekit
acmekit.Client("h").get("/")</pre></div></dd></dl></dd></dl>
<dl class="py class"><dt id="acmekit.Scan"><span class="descclassname">acmekit.</span>
<span class="descname">Scan</span>(a)</dt><dd></dd></dl>
<dl class="py class"><dt><span class="descclassname">acmekit.</span>
<span class="descname">Scan</span>(a, b)</dt><dd><p>A look around.</p></dd></dl>
<dl class="py attribute"><dt id="acmekit.LIMIT"><span class="descname">LIMIT</span><em>: int</em></dt><dd></dd></dl>
<h2>Errors</h2><p>What goes wrong is raised, and told in one sentence.</p></div></body></html>"""


def test_html_of_sphinx_becomes_apis_again(read):
    documents = read("api.html", SPHINX)
    found = by_path(documents)
    get = found["acmekit.Client.get"]
    assert get.signature == "(path: str, timeout=3) -> bytes" and get.kind == "method"
    assert [(row.name, row.type, row.about) for row in get.parameters] == [
        ("path", "str", "what to fetch"),
        ("timeout", "", "seconds"),
    ]
    assert get.examples == ('import acmekit\nacmekit.Client("h").get("/")',)
    assert get.origin == "api.html#acmekit.Client.get"
    assert found["acmekit.Client"].description == "A connection."
    assert found["acmekit.LIMIT"].returns == "int"
    assert [api.signature for api in documents.apis if api.path == "acmekit.Scan"] == ["(a)", "(a, b)"]
    text = " ".join(passage.text for passage in documents.passages)
    assert "told in one sentence" in text
    assert not any(word in text for word in ("menu", "steal", "unseen", "Fetch"))


MKDOCSTRINGS = """<main><h1>Reference</h1><div class="doc doc-object doc-class"><h2 id="acmekit.Client" class="doc
doc-heading"><code>Client</code></h2><div class="doc doc-contents"><p>A connection.</p>
<div class="doc doc-object doc-function"><h3 id="acmekit.Client.get" class="doc doc-heading"><code>get(path,
timeout=3.0)</code></h3><div class="doc doc-contents"><p>Fetch a resource.</p><table><tr class="doc-section-item">
<td><code>path</code></td><td><code>str</code></td><td>what to fetch</td><td>required</td></tr></table>
<details class="mkdocstrings-source"><pre>def get(): secret_source</pre></details></div></div></div></div></main>"""


def test_html_of_mkdocstrings_becomes_apis_again(read):
    found = by_path(read("ref.html", MKDOCSTRINGS))
    assert found["acmekit.Client.get"].signature == "(path, timeout=3.0)"
    assert found["acmekit.Client.get"].parameters[0] == Parameter("path", "str", "", "what to fetch")
    assert "secret_source" not in found["acmekit.Client.get"].description
    assert found["acmekit.Client"].description == "A connection."


def test_a_notebook_gives_text_and_code_without_outputs(read):
    cells = [
        {"cell_type": "markdown", "source": ["# Tour\n", "\n", "How to connect to a device of Acme, step by step."]},
        {"cell_type": "code", "source": "%matplotlib inline\nimport acmekit", "outputs": [{"text": "hidden output"}]},
        {"cell_type": "code", "source": "client = acmekit.connect('h')\nclient.get('/')", "outputs": []},
    ]
    documents = read("tour.ipynb", json.dumps({"cells": cells, "metadata": {}, "nbformat": 4}))
    assert "import acmekit\nclient = acmekit.connect('h')\nclient.get('/')" in documents.programs
    assert "hidden" not in repr(documents) and "matplotlib" not in repr(documents)
    assert documents.passages[0].title == "Tour" and documents.passages[0].origin == "tour.ipynb, part 1"


def inventory(*lines):
    head = b"# Sphinx inventory version 2\n# Project: Acme Kit\n# Version: 3.1\n# The rest is compressed using zlib.\n"
    return head + zlib.compress("\n".join(lines).encode())


def test_an_inventory_names_apis(read):
    documents = read(
        "objects.inv",
        inventory("acmekit.connect py:function 1 api.html#$ -", "intro std:doc -1 intro.html Intro", "broken line"),
    )
    (api,) = documents.apis
    assert (api.path, api.kind, api.library) == ("acmekit.connect", "function", "acmekit")
    assert documents.project == "Acme Kit 3.1" and documents.version == "3.1"


def test_a_text_of_signatures(read):
    text = """\
Functions of acmekit

connect(host, port=80)  # Open a connection.
def scan(net: str) -> list[str]
    Look for devices.
class Client(host)
    A connection.
    get(path)
        Fetch a resource.
"""
    found = by_path(read("api.txt", text))
    assert found["connect"].description == "Open a connection."
    assert found["scan"].signature == "(net: str) -> list[str]" and found["scan"].description == "Look for devices."
    assert found["Client.get"].kind == "method" and found["Client.get"].description == "Fetch a resource."


def test_a_stub_and_a_program(read):
    found = by_path(read("acmekit.pyi", "class Client:\n    def get(self, path: str) -> bytes: ...\nLIMIT: int\n"))
    assert found["Client.get"].signature == "(path: str) -> bytes"
    program = '"""Show all devices."""\nimport acmekit\nprint(acmekit.scan("10.0.0.0/8"))\n'
    documents = read("show.py", program)
    assert documents.programs == (program.strip(),) and documents.passages[0].code
    assert documents.passages[0].title == "Show all devices."

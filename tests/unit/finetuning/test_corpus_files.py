"""What a corpus is read from, and the examples that a model is trained on."""

from dataclasses import replace
from pathlib import Path

import pytest

from exploracoder_jupyter.core.configuration.sources import snippets_path
from exploracoder_jupyter.core.errors import UsageError
from exploracoder_jupyter.core.types import Snippet
from exploracoder_jupyter.finetuning.annotation import AnnotatedSample
from exploracoder_jupyter.finetuning.base_model import LoadedModel
from exploracoder_jupyter.finetuning.corpus import read_corpus, stored_snippets, trace_sample
from exploracoder_jupyter.finetuning.training import IGNORED, encode, encode_rows, read_rows
from exploracoder_jupyter.knowledge.sources import SnippetStore
from exploracoder_jupyter.pipeline.prompting.lookup_notation import write_lookup

EXAMPLES = Path(__file__).parents[3] / "examples"
ROW = AnnotatedSample(
    "1",
    "Take the root.",
    "f",
    f"def f(x):\n    return {write_lookup('square root', 'math.sqrt(x): Root.')}math.sqrt(x)",
    ("math",),
    (),
    "a.py",
    "line 1",
    "MIT",
)


class Characters:
    """A tokenizer whose tokens are characters."""

    def __call__(self, text, *, add_special_tokens):
        return type("Encoding", (), {"input_ids": [ord(one) for one in text]})

    def apply_chat_template(self, messages, *, tokenize, add_generation_prompt):
        return "".join(message["content"] for message in messages)


LOADED = LoadedModel(None, Characters(), "<end>")


def _text(ids):
    return "".join(chr(one) for one in ids)


def test_a_solved_exploration_is_a_sample():
    [source] = read_corpus([str(EXAMPLES / "explorations" / "first.ipynb")])
    sample = trace_sample(source)
    assert sample.task.startswith("Given the edges") and sample.place == "solution"
    assert sample.code.endswith("length = shortest_path_length(result_1, source='a', target='c', weight='weight')")


def test_a_package_is_read_with_its_licence():
    sources = {source.path: source for source in read_corpus(["networkx"])}
    source = sources["networkx/algorithms/dag.py"]
    assert (source.module, source.licence) == ("networkx.algorithms.dag", "BSD-3-Clause")


def test_a_package_part_is_read_without_importing(tmp_path, monkeypatch):
    inner = tmp_path / "explosive_tables" / "inner"
    inner.mkdir(parents=True)
    (tmp_path / "explosive_tables" / "__init__.py").write_text("raise SystemExit")
    (inner / "zero.py").write_text("y = 2")
    (inner / "one.py").write_text("x = 1")
    monkeypatch.syspath_prepend(str(tmp_path))
    folder = read_corpus(["explosive_tables.inner"])
    assert [source.module for source in folder] == ["explosive_tables.inner.one", "explosive_tables.inner.zero"]
    [file] = read_corpus(["explosive_tables.inner.one"])
    assert (file.module, file.path) == ("explosive_tables.inner.one", "explosive_tables/inner/one.py")


def test_stored_snippets_are_samples_of_their_library():
    snippet = Snippet("math", "3", "Take a root", "import math\nmath.sqrt(2)", ("math.sqrt",), "", "3.11")
    SnippetStore(snippets_path()).add([snippet], "values")
    [(sample, _, _)] = stored_snippets(["math"])
    assert (sample.task, sample.code) == ("Take a root", snippet.code) and stored_snippets(["cmath"]) == []


def test_the_loss_counts_only_what_the_model_writes():
    example = encode(ROW, LOADED)
    learned = _text(one for one in example["labels"] if one != IGNORED)
    assert learned == "```python\ndef f(x):\n    return <API>APISearch(square root)-></API>math.sqrt(x)\n```<end>"
    whole = _text(example["input_ids"])
    assert "Define the function `f(x)`." in whole and "->math.sqrt(x): Root.</API>math.sqrt(x)" in whole
    plain = encode(ROW, LOADED, plain=True)
    assert "APISearch" not in _text(plain["input_ids"])


def test_in_every_second_row_the_imports_exist_already():
    code = f"import math\nfrom os import path\n\n{ROW.code}"
    for id_, exist in (("01", False), ("02", True)):
        example = encode(replace(ROW, id=id_, code=code), LOADED)
        learned = _text(one for one in example["labels"] if one != IGNORED)
        assert ("import math\nfrom os import path" in learned) is not exist
        assert learned.startswith("```python\ndef f(x)") is exist
        assert "import math\nfrom os import path" in _text(example["input_ids"])


def test_rows_are_held_out_and_long_ones_dropped():
    rows = [AnnotatedSample(str(n), ROW.task, None, "x" * n, (), (), "", "", "") for n in range(20)]
    limit = len(encode(rows[9], LOADED)["input_ids"])
    data = encode_rows(rows, LOADED, held_out=0.2, most_tokens=limit, plain=False)
    assert (len(data.training), len(data.held_out), data.too_long) == (8, 2, 10)
    with pytest.raises(UsageError, match="--tokens"):
        encode_rows(rows, LOADED, held_out=0.2, most_tokens=10, plain=False)


def test_other_files_are_no_data(tmp_path):
    (tmp_path / "a.jsonl").write_text('{"a": 1}\n')
    (tmp_path / "b.jsonl").write_text("")
    for name, message in (("a", "not annotated code"), ("b", "0 rows"), ("c", "No such file")):
        with pytest.raises(UsageError, match=message):
            read_rows(tmp_path / f"{name}.jsonl")

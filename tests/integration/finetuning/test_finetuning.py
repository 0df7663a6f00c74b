"""`jupyter explora annotate` and `finetune`, with a library of four functions."""

import json
from dataclasses import replace
from itertools import pairwise

import pytest

from exploracoder_jupyter.core.configuration.sections import Retrieval
from exploracoder_jupyter.evaluation.records import read_results
from exploracoder_jupyter.finetuning.adapter_model import AdapterModel
from exploracoder_jupyter.pipeline.prompting.prompt_inputs import StrategyInputs
from exploracoder_jupyter.pipeline.prompting.requests import ask_code
from tests.integration.command_line import explora
from tests.json_output import json_result
from tests.unit.world import a_run, happened

LIBRARY = '''"""Tables."""

def read(path):
    """Load a table from a file of text."""

def join(one, other):
    """Combine two tables on the column that they share."""

def rank(table, column):
    """Order the rows by the values of one column.

    >>> import tables
    >>> rows = tables.read("x.txt")
    >>> tables.rank(rows, "a")
    """
'''
CODE = '''import tables as tb

def merge(first, second):
    """Put the contents of two files together."""
    one, other = tb.read(first), tb.read(second)
    return tb.join(one, other)

def excluded(path):
    """Rank what a file contains by its second and then by its third column."""
    return tb.rank(tb.rank(tb.read(path), "second"), "third"), tb.rank(tb.read(path), "fourth")
'''
PROBLEM = 'x = tb.rank(tb.rank(tb.read(path), "second"), "third"), tb.rank(tb.read(path), "fourth")'


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "tables.py").write_text(LIBRARY)
    corpus = tmp_path / "corpus"
    corpus.mkdir()
    (corpus / "LICENSE").write_text("MIT License\n")
    (corpus / "a.py").write_text(CODE)
    (corpus / "b.py").write_text(CODE.replace("import tables as tb", "import tables as tb\n"))
    (corpus / "broken.py").write_text("def f(:")
    cell = {"cell_type": "code", "source": "import tables\n# show what is in the file\nprint(tables.read('a'))"}
    (corpus / "n.ipynb").write_text(json.dumps({"metadata": {}, "cells": [cell]}))
    (tmp_path / "problems.jsonl").write_text(json.dumps({"solution": PROBLEM}) + "\n")
    return tmp_path


def _annotate(folder, *options):
    arguments = ["annotate", "corpus", "--library", "tables", "--out", "data.jsonl", "--json", *options]
    done = explora(*arguments, "--exclude", "problems.jsonl", folder=folder)
    return done, json_result("annotate", done.stdout)


def _rows(folder):
    return [json.loads(line) for line in (folder / "data.jsonl").read_text().splitlines()]


def test_a_corpus_is_annotated_and_omissions_counted(folder):
    done, counts = _annotate(folder)
    assert done.returncode == 0, done.stderr
    assert (counts["sources"], counts["samples"], counts["invalid"], counts["rows"]) == (4, 5, 1, 2)
    assert counts["left_out"] == {"duplicate": 2, "benchmark problem": 1}
    merge, cell = _rows(folder)
    assert merge["path"] == "corpus/a.py" and merge["licence"] == "MIT License"
    assert [call["api"] for call in merge["calls"]] == ["tables.read", "tables.join"]
    assert "tables.join(one, other): Combine two tables on the column that they share." in merge["code"]
    assert cell["calls"][0]["origin"] == "comment" and cell["place"] == "cell 1"


def test_an_interrupted_annotation_continues_without_mixing(folder):
    _annotate(folder)
    whole, state = _rows(folder), json.loads((folder / "data.jsonl.state.json").read_text())
    first = (folder / "data.jsonl").read_bytes().splitlines(keepends=True)[0]
    state |= {"sources": 1, "rows": 1, "samples": 2, "invalid": 0, "size": len(first), "left_out": {}}
    (folder / "data.jsonl.state.json").write_text(json.dumps(state))
    with (folder / "data.jsonl").open("wb") as file:
        file.write(first + b'{"half of')
    _, counts = _annotate(folder, "--resume")
    assert _rows(folder) == whole and counts["rows"] == 2
    done, error = _annotate(folder)
    assert done.returncode == 2 and "--resume" in error["remedy"]
    done, error = _annotate(folder, "--snippets", "--resume")
    assert done.returncode == 2 and "another corpus" in error["error"]


def test_a_corpus_without_code_is_an_error(folder):
    (folder / "empty").mkdir()
    for corpus, words in (("empty", "no Python file"), ("nowhere", "installed package 'nowhere'")):
        done = explora("annotate", corpus, "--library", "tables", "--out", "data.jsonl", folder=folder)
        assert done.returncode == 2 and words in done.stderr


CHAT = (
    "{% for m in messages %}<|{{ m['role'] }}|>{{ m['content'] }}<|end|>{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>{% endif %}"
)
trains = pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning", "ignore::UserWarning")
"""The libraries warn of one another."""


def _write_model(folder, words=(), successors=None):
    """Write a Llama of two layers with a tokenizer of these words and single bytes. The numbers are random.

    With `successors`, a word follows another as given there, because the weights of the layers are zero and the
    embedding of each word is a dimension of its own.
    """
    torch = pytest.importorskip("torch")
    pytest.importorskip("peft")
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

    torch.set_num_threads(1)
    torch.manual_seed(0)
    special = ["<|end|>", "<|assistant|>"]
    known = {text: number for number, text in enumerate([*special, *sorted(pre_tokenizers.ByteLevel.alphabet())])}
    text_model = Tokenizer(models.BPE(known, []))
    text_model.pre_tokenizer, text_model.decoder = (
        pre_tokenizers.ByteLevel(add_prefix_space=False),
        decoders.ByteLevel(),
    )
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=text_model, eos_token="<|end|>", additional_special_tokens=special[1:], chat_template=CHAT
    )
    tokenizer.add_tokens([*words])
    size = len(tokenizer)
    config = LlamaConfig(
        vocab_size=size,
        hidden_size=2 * ((size + 1) // 2) if successors else 32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=1,
        max_position_embeddings=8192,
        eos_token_id=0,
    )
    model = LlamaForCausalLM(config)
    if successors:
        with torch.no_grad():
            for layer in model.model.layers:
                layer.self_attn.o_proj.weight.zero_()
                layer.mlp.down_proj.weight.zero_()
            model.model.embed_tokens.weight.copy_(torch.eye(size, config.hidden_size))
            model.lm_head.weight.zero_()
            for before, after in successors:
                ids = tokenizer.convert_tokens_to_ids([after, before])
                model.lm_head.weight[ids[0], ids[1]] = 10.0
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)


@pytest.fixture
def base(folder):
    _write_model(folder / "base")
    _annotate(folder)
    return folder


def _finetune(folder, *options):
    return explora(
        "finetune", "data.jsonl", "--base", "base", "--out", "adapter", "--tokens", 8000, *options, folder=folder
    )


@trains
def test_the_whole_way_of_the_guide(folder):
    """The base follows a chain of words; a step with a tiny rate leaves that as it is."""
    begun = ["```python\n", "import statistics\nmiddle = ", "<API>APISearch(", "value in the middle", ")->"]
    rest = ["</API>", "statistics.median([3, 1, 2])", "\n```"]
    successors = [*pairwise(["<|assistant|>", *begun, "made_up"]), *pairwise([*rest, "<|end|>"])]
    _write_model(folder / "base", [*begun, "made_up", *rest], successors)
    _annotate(folder)
    options = ("--epochs", 1, "--rate", 1e-9, "--rank", 2)
    assert "Adapter: adapter" in _finetune(folder, *options).stdout
    problem = {"id": "m", "task": "Compute the median.", "libraries": "statistics", "tests": "assert middle == 2"}
    (folder / "easy.jsonl").write_text(json.dumps(problem))
    arguments = ["bench", "easy.jsonl", "--model", "adapter:adapter", "--strategy", "apisearch", "--workers", 1]
    done = explora(*arguments, "--out", "results", "--json", folder=folder)
    assert done.returncode == 0, done.stderr
    [row] = read_results(folder / "results")
    assert row.passed and row.code == "import statistics\nmiddle = statistics.median([3, 1, 2])"
    assert row.calls == 2


@trains
def test_training_lowers_the_loss_and_resumes_from_checkpoints(base):
    done = _finetune(base, "--epochs", 3, "--rate", 0.01, "--targets", "all-linear", "--merged", "--json")
    assert done.returncode == 0, done.stderr
    report = json_result("finetune", done.stdout)
    assert (report["rows"], report["held_out"], report["steps"]) == (1, 1, 3)
    assert report["loss_after"] < report["loss_before"]
    card = (base / "adapter" / "README.md").read_text()
    assert "| MIT License | 2 |" in card and "tables" in card
    assert (base / "adapter" / "merged" / "config.json").exists()
    again = _finetune(base)
    assert again.returncode == 2 and "--resume" in again.stderr
    checkpoints = base / "adapter" / "checkpoints"
    (checkpoints / "checkpoint-7").mkdir()  # incomplete
    done = _finetune(base, "--epochs", 4, "--rate", 0.01, "--targets", "all-linear", "--resume", "--json")
    assert json.loads(done.stdout)["steps"] == 4, done.stderr
    assert not (checkpoints / "checkpoint-7").exists()
    assert len([line for line in done.stderr.splitlines() if line.startswith("Training, loss")]) == 1


@trains
def test_untrainable_input_is_an_error_with_a_remedy(base):
    for options, message in (
        (("--base", "./nowhere"), "no model './nowhere'"),
        (("--method", "qlora"), "QLoRA needs"),
        (("--tokens", 10), "Increase --tokens"),
        (("--rank", 0), "--rank takes"),
    ):
        done = _finetune(base, *options)
        assert done.returncode == 2 and message in done.stderr


@trains
async def test_generation_stops_for_search_answers_and_continues(tmp_path):
    search, found = ["x = ", "<API>APISearch(", "a root", ")->"], ["</API>", "math.sqrt(16)", "\n```"]
    words = ["```python\n", *search, "made_up", *found]
    chain = ["<|assistant|>", "```python\n", *search, "made_up"]
    _write_model(tmp_path, words, [*pairwise(chain), *pairwise([*found, "<|end|>"])])
    model = AdapterModel(str(tmp_path), name="adapter:x", report=lambda sentence: None)
    run = replace(a_run(model, temperature=0.0), retrieval=Retrieval(inline_lookups=True))
    inputs = StrategyInputs("exploracoder_jupyter.strategies:direct", run.task)
    [draft] = [draft async for draft in ask_code(run, "strategy", inputs, subject="solution")]
    assert (draft.code, draft.problem) == ("x = math.sqrt(16)", None)
    [event] = happened(run, "looked_up")
    assert event.argument == "a root" and event.answer.startswith("math.")
    assert [event.exchange.usage.completion_tokens for event in happened(run, "model_called")] == [5, 3]

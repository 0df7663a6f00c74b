"""Turns annotated samples into token sequences: the prompt that runs send, and the reply that a model is to learn.

The prompt is rendered from the template of the strategies `direct` and `apisearch`. In every second row the imports are
code that exists already, as in most tasks, so that a model does not learn to begin every program with imports. The
loss counts what the model writes, which excludes the prompt and the answers of look-ups (ToolCoder, section IV.B) but
not their end, so that a look-up without a search ends too. Answers are encoded by themselves, because they are inserted
between tokens when the model is used.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from pydantic import ValidationError

from exploracoder_jupyter.core.errors import UsageError
from exploracoder_jupyter.core.python_code import parse_valid_python
from exploracoder_jupyter.core.types import Task
from exploracoder_jupyter.finetuning.annotation import ROW, AnnotatedSample
from exploracoder_jupyter.finetuning.base_model import LoadedModel
from exploracoder_jupyter.pipeline.prompting.inline_lookups import END, find_lookups, strip_lookups
from exploracoder_jupyter.pipeline.prompting.prompt_inputs import StrategyInputs
from exploracoder_jupyter.pipeline.prompting.prompt_templates import render
from exploracoder_jupyter.text.markup_escaping import fenced

IGNORED: Final = -100
"""Label of a token that the loss does not count."""
_IMPORT_OR_BLANK: Final = re.compile(r"(?:import |from |$)")
_TEMPLATE: Final = "exploracoder_jupyter.strategies:direct"
Example = dict[str, list[int]]
"""`input_ids`, `attention_mask` and `labels` of one sequence."""


class TrainingData(NamedTuple):
    """The examples, divided, and the number of rows that have more tokens than allowed."""

    training: tuple[Example, ...]
    held_out: tuple[Example, ...]
    too_long: int


def read_rows(path: Path) -> list[AnnotatedSample]:
    """Read the data that `jupyter explora annotate` has written; UsageError if it has fewer than two rows."""
    try:
        rows = [ROW.validate_json(line) for line in path.read_bytes().splitlines() if line.strip()]
    except (OSError, ValidationError) as error:
        why = getattr(error, "strerror", None) or "a line is not annotated code"
        raise UsageError(f"{path} cannot be used: {why}.", remedy="Name a file made by `annotate`.") from None
    if len(rows) < 2:
        raise UsageError(f"{path} has {len(rows)} rows, and at least 2 are needed.", remedy="Annotate more code.")
    return rows


def encode_rows(
    rows: Sequence[AnnotatedSample], loaded: LoadedModel, *, held_out: float, most_tokens: int, plain: bool
) -> TrainingData:
    """Encode rows, and hold out a share of them, at least one, for measuring the loss.

    `plain` removes the look-ups, for a model to compare with. UsageError if too few rows are short enough.
    """
    ordered = sorted(rows, key=lambda row: row.id)  # ids are digests, so this mixes the files
    encoded = [encode(row, loaded, plain=plain) for row in ordered]
    fitting = [example for example in encoded if len(example["input_ids"]) <= most_tokens]
    if len(fitting) < 2:
        raise UsageError(
            f"Only {len(fitting)} of {len(rows)} rows have at most {most_tokens} tokens.", remedy="Increase --tokens."
        )
    count = min(max(round(len(fitting) * held_out), 1), len(fitting) - 1)
    return TrainingData(tuple(fitting[count:]), tuple(fitting[:count]), len(encoded) - len(fitting))


def encode(row: AnnotatedSample, loaded: LoadedModel, *, plain: bool = False) -> Example:
    """Encode one row."""
    example: Example = {"input_ids": [], "attention_mask": [], "labels": []}
    for text, is_learned in _pieces(row, loaded, plain):
        ids = loaded.tokenizer(text, add_special_tokens=False).input_ids
        example["input_ids"] += ids
        example["attention_mask"] += [1] * len(ids)
        example["labels"] += ids if is_learned else [IGNORED] * len(ids)
    return example


def _pieces(row: AnnotatedSample, loaded: LoadedModel, plain: bool) -> Iterator[tuple[str, bool]]:
    """Yield the text in pieces, each with whether the model learns to write it."""
    lines = row.code.split("\n")
    begins = next((at for at, line in enumerate(lines) if not _IMPORT_OR_BLANK.match(line)), 0)
    own = 0 if int(row.id, 16) % 2 else begins
    task = "\n\n".join(filter(None, (row.task, _request(row))))
    given = Task(task, row.libraries, solution_name=row.name, setup="\n".join(lines[:own]))
    yield loaded.prompt(render("strategy", StrategyInputs(_TEMPLATE, given))), False
    code = "\n".join(lines[own:])
    text = fenced(strip_lookups(code) if plain else code, "python")
    end = 0
    for lookup in find_lookups(text):
        start, stop = lookup.answer_span
        yield text[end:start], True
        yield text[start : stop - len(END)], False
        yield END, True
        end = stop
    yield f"{text[end:]}{loaded.closing}", True


def _request(row: AnnotatedSample) -> str:
    """Say which function to define, as the problems of an evaluation do."""
    tree = parse_valid_python(row.plain_code) if row.name else None
    for node in tree.body if tree else ():
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name == row.name:
            return f"Define the function `{node.name}({ast.unparse(node.args)})`."
    return ""

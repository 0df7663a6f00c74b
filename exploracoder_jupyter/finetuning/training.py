"""Fine-tunes a model on annotated code with LoRA or QLoRA (ToolCoder, section IV.B).

What it returns is the checkpoint with the lowest held-out loss, as in the paper. Checkpoints are written at most
ten times in a training, and when it is interrupted; a resumed training continues from the last complete one.
"""

from __future__ import annotations

import ast
import json
import math
import re
import shutil
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from threading import Event
from typing import Any, Final, NamedTuple

from pydantic import ValidationError

from exploracoder_jupyter.core.errors import ExploraError, MissingRequirement, UsageError
from exploracoder_jupyter.core.python_code import parse_valid_python
from exploracoder_jupyter.core.types import Task
from exploracoder_jupyter.core.version import __version__
from exploracoder_jupyter.finetuning.annotation import ROW, AnnotatedSample
from exploracoder_jupyter.finetuning.base_model import (
    AdapterRecord,
    LoadedModel,
    computes_in_bfloat16,
    find_base,
    load_base,
    merge,
    require_extra,
    write_record,
)
from exploracoder_jupyter.finetuning.training_request import TrainingRequest
from exploracoder_jupyter.pipeline.prompting.lookup_notation import END, find_lookups, strip_lookups
from exploracoder_jupyter.pipeline.prompting.prompt_inputs import StrategyInputs
from exploracoder_jupyter.pipeline.prompting.requests import render
from exploracoder_jupyter.text.characters import fenced

# Turns annotated samples into token sequences: the prompt that runs send, and the reply that a model is to learn.
#
# The prompt is rendered from the template of the strategies `direct` and `apisearch`. In every second row the
# imports are code that exists already, as in most tasks, so that a model does not learn to begin every program with
# imports. The loss counts what the model writes, which excludes the prompt and the answers of look-ups (ToolCoder,
# section IV.B) but not their end, so that a look-up without a search ends too. Answers are encoded by themselves,
# because they are inserted between tokens when the model is used.

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


Advance = Callable[[str, int, int], None]
_CHECKPOINTS: Final = 10
"""How often at most the held-out loss is measured and a checkpoint is written."""
_CHECKPOINT_FOLDER: Final = "checkpoints"


@dataclass(frozen=True, slots=True)
class TrainingReport:
    """What came out of a training."""

    base: str
    rows: int
    held_out: int
    too_long: int
    steps: int
    trained_parameters: int
    parameters: int
    loss_before: float
    """Mean loss per token of the held-out rows."""
    loss_after: float
    folder: str
    merged: str = ""


def finetune(request: TrainingRequest, *, progress: Advance, interrupted: Event) -> TrainingReport:
    """Train an adapter and write it, with its model card, into its folder, until `interrupted` is set.

    Raises:
        UsageError: the data or the base cannot be used, or the folder exists.
        MissingRequirement: the extra, memory or disk space is missing.
        ExploraError: the training was interrupted.
    """
    rows = read_rows(request.data)
    if not request.resume and request.out.exists() and any(request.out.iterdir()):
        raise UsageError(
            f"{request.out} is not empty.", remedy="Add --resume to continue its training, or name another folder."
        )
    require_extra()
    progress("Loading the model", 0, 0)
    base = find_base(request.base)
    loaded = load_base(base, method=request.method)
    data = encode_rows(rows, loaded, held_out=request.held_out, most_tokens=request.tokens, plain=request.plain)
    loaded.model = _with_adapter(loaded.model, request)
    request.out.mkdir(parents=True, exist_ok=True)
    write_record(request.out, AdapterRecord(base, loaded.closing))
    trained, parameters = loaded.model.get_nb_trainable_parameters()
    before, after, steps = _train(request, loaded, data, progress, interrupted)
    loaded.model.save_pretrained(str(request.out))
    loaded.tokenizer.save_pretrained(str(request.out))
    merged = str(merge(request.out)) if request.merged else ""
    counts = len(data.training), len(data.held_out), data.too_long, steps, trained, parameters
    report = TrainingReport(request.base, *counts, before, after, str(request.out), merged)
    (request.out / "README.md").write_text(_model_card(request, report, rows), encoding="utf-8")
    return report


def _with_adapter(model: Any, request: TrainingRequest) -> Any:
    import peft

    if request.method == "qlora":
        model = peft.prepare_model_for_kbit_training(model)
    targets = request.targets
    config = peft.LoraConfig(
        r=request.rank,
        lora_alpha=2 * request.rank,
        lora_dropout=0.05,
        target_modules=targets.split(",") if targets and targets != "all-linear" else targets,
        task_type="CAUSAL_LM",
    )
    try:
        return peft.get_peft_model(model, config)
    except ValueError as error:
        raise UsageError(
            f"The layers of {request.base} to train are not known: {error}.", remedy="Add --targets all-linear."
        ) from error


def _train(
    request: TrainingRequest, loaded: LoadedModel, data: TrainingData, progress: Advance, interrupted: Event
) -> tuple[float, float, int]:
    """Train; return the held-out loss before and after, and the number of steps."""
    trainer = _trainer(request, loaded, data, progress, interrupted)
    checkpoint = _last_checkpoint(request.out) if request.resume else None
    record = request.out / "loss_before.json"
    try:
        if not record.exists():
            record.write_text(json.dumps(trainer.evaluate()["eval_loss"]), encoding="utf-8")
        trainer.train(resume_from_checkpoint=str(checkpoint) if checkpoint else None)
    except Exception as error:
        if isinstance(error, MemoryError) or (isinstance(error, RuntimeError) and "memory" in str(error)):
            raise _out_of_memory(request) from error
        if "No space left" not in str(error):  # safetensors has an exception of its own
            raise
        raise MissingRequirement(
            f"The disk of {request.out} is full.", remedy="Free some space, and repeat the command with --resume."
        ) from error
    if interrupted.is_set():
        raise ExploraError(
            f"Interrupted after step {trainer.state.global_step}; a checkpoint is in {request.out}.",
            remedy="Add --resume to continue.",
        )
    losses = [entry["eval_loss"] for entry in trainer.state.log_history if "eval_loss" in entry]
    after = trainer.state.best_metric if trainer.state.best_metric is not None else losses[-1]
    return json.loads(record.read_text(encoding="utf-8")), float(after), int(trainer.state.global_step)


def _trainer(
    request: TrainingRequest, loaded: LoadedModel, data: TrainingData, progress: Advance, interrupted: Event
) -> Any:
    import torch
    from transformers import DataCollatorForSeq2Seq, Trainer, TrainingArguments
    from transformers.trainer_callback import PrinterCallback

    on_gpu = torch.cuda.is_available()
    has_bfloat16 = computes_in_bfloat16()
    micro = min(request.micro_batch, request.batch)
    steps = math.ceil(math.ceil(len(data.training) / request.batch) * request.epochs)
    every = math.ceil(steps / _CHECKPOINTS)
    settings = TrainingArguments(
        output_dir=str(request.out / _CHECKPOINT_FOLDER),
        num_train_epochs=request.epochs,
        per_device_train_batch_size=micro,
        per_device_eval_batch_size=micro,
        gradient_accumulation_steps=math.ceil(request.batch / micro),
        learning_rate=request.rate,
        lr_scheduler_type="cosine",
        eval_strategy="steps",
        save_strategy="steps",
        eval_steps=every,
        save_steps=every,
        logging_steps=1,
        save_total_limit=2,
        load_best_model_at_end=True,
        metric_for_best_model="eval_loss",
        bf16=has_bfloat16,
        fp16=on_gpu and not has_bfloat16,
        use_cpu=not on_gpu,
        **({"gradient_checkpointing": True} if on_gpu else {}),
        report_to=[],
        disable_tqdm=True,
        remove_unused_columns=False,
        label_names=["labels"],
        dataloader_pin_memory=on_gpu,
        seed=request.seed,
    )
    trainer = Trainer(
        model=loaded.model,
        args=settings,
        train_dataset=data.training,
        eval_dataset=data.held_out,
        data_collator=DataCollatorForSeq2Seq(loaded.tokenizer),
        callbacks=[_callback(progress, interrupted)],
    )
    if on_gpu:
        loaded.model.enable_input_require_grads()  # checkpointed layers need gradients of their input
    trainer.remove_callback(PrinterCallback)
    return trainer


def _callback(progress: Advance, interrupted: Event) -> Any:
    """Return a callback that reports each step and ends the training when that is requested."""
    from transformers import TrainerCallback

    class StepReporter(TrainerCallback):  # type: ignore[misc]  # the library is not typed here
        def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **more: Any) -> None:
            loss = (logs or {}).get("loss")
            if loss is not None:
                progress(f"Training, loss {float(loss):.3f}", state.global_step, state.max_steps)

        def on_step_end(self, args: Any, state: Any, control: Any, **more: Any) -> Any:
            if state.global_step >= state.max_steps:
                control.should_evaluate = True  # the last step, too, may be the best
            if interrupted.is_set():
                control.should_save = control.should_training_stop = True
            return control

    return StepReporter()


def _last_checkpoint(out: Path) -> Path | None:
    """Return the last complete checkpoint; incomplete ones, for which the disk was too small, are removed."""
    found = sorted((out / _CHECKPOINT_FOLDER).glob("checkpoint-*"), key=lambda path: int(path.name.rpartition("-")[2]))
    for path in reversed(found):
        try:
            json.loads((path / "trainer_state.json").read_text(encoding="utf-8"))  # it is written last
            return path
        except (OSError, ValueError):
            shutil.rmtree(path, ignore_errors=True)
    return None


def _out_of_memory(request: TrainingRequest) -> MissingRequirement:
    smaller = [
        *(["--micro-batch 1"] if request.micro_batch > 1 else []),
        f"--tokens {max(request.tokens // 2, 64)}",
        *(["--method qlora on a GPU"] if request.method == "lora" else []),
        "a smaller --base",
    ]
    return MissingRequirement(
        f"There is not enough memory to train {request.base} this way.", remedy=f"Try {', then '.join(smaller)}."
    )


def _model_card(request: TrainingRequest, report: TrainingReport, rows: Sequence[AnnotatedSample]) -> str:
    libraries = ", ".join(sorted({name for row in rows for name in row.libraries}))
    licences = "\n".join(
        f"| {licence} | {count:,} |" for licence, count in Counter(row.licence for row in rows).most_common()
    )
    chosen = {name: value for name, value in asdict(request).items() if name not in ("data", "out", "resume")}
    settings = "\n".join(f"| {name.replace('_', ' ')} | {value} |" for name, value in chosen.items())
    kind = "code without look-ups, to compare with" if request.plain else "code with look-ups"
    return f"""---
library_name: peft
base_model: {request.base}
---

# Adapter for {request.base}

Made by exploracoder-jupyter {__version__} from {kind} that calls {libraries}. It searches these libraries with
`<API>APISearch(query)->answer</API>` in the middle of its code. Use it with `jupyter explora run` and
`--model adapter:FOLDER`.

| measure | value |
| --- | --- |
| rows trained on | {report.rows:,} |
| rows held out | {report.held_out:,} |
| rows left out as too long | {report.too_long:,} |
| held-out loss before | {report.loss_before:.3f} |
| held-out loss after | {report.loss_after:.3f} |
| steps | {report.steps:,} |
| parameters trained | {report.trained_parameters:,} of {report.parameters:,} |

| setting | value |
| --- | --- |
{settings}

| licence of the code | rows |
| --- | --- |
{licences}

The held-out loss measures how well the model predicts such code. How often its programs are correct is measured by
`jupyter explora bench`.
"""

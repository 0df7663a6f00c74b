"""Loads models and tokenizers for fine-tuning and inference: from folders, by name, or from a GGUF file in a package.

A chat template is extended so that a last message of the assistant is continued: a conversation with an inserted answer
is then sent to any server as it is. The libraries of the extra `tune` are imported only in the functions here.
"""

from __future__ import annotations

import importlib.metadata
import io
import json
import warnings
from collections.abc import Sequence
from contextlib import redirect_stderr
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from jinja2 import TemplateError
from pydantic import JsonValue, TypeAdapter, ValidationError

from exploracoder_jupyter.core.errors import MissingRequirement, UsageError, format_error
from exploracoder_jupyter.core.types import Message
from exploracoder_jupyter.finetuning.training_request import Method
from exploracoder_jupyter.llm.tool_calls import without_system_role

_RECORD: Final = "finetuning.json"
"""File in an adapter's folder that records its base."""

_CONTINUES: Final = "{# continues the last message of the assistant #}"
_PLAIN_TEMPLATE: Final = "{% for message in messages %}{{ message['content'] }}\n\n{% endfor %}"
_PROBE: Final = "Reply"


@dataclass(frozen=True, slots=True)
class Base:
    """A model in a folder, as a GGUF file in it, or under a name that `transformers` resolves."""

    location: str
    gguf_file: str | None = None


@dataclass(frozen=True, slots=True)
class AdapterRecord:
    """What an adapter's folder records beside the weights: its base, and the text that ends a reply."""

    base: Base
    closing: str


@dataclass(slots=True)
class LoadedModel:
    """A model with its tokenizer."""

    model: Any
    tokenizer: Any
    closing: str

    @property
    def stop_ids(self) -> list[int]:
        """Tokens that end a reply: every special one, since GGUF files may name a wrong one as the end of a text."""
        closing = self.tokenizer(self.closing, add_special_tokens=False).input_ids[:1]
        return sorted({*self.tokenizer.all_special_ids, *closing})

    def prompt(self, messages: Sequence[Message]) -> str:
        """Render messages as the model is given them; a last one of the assistant is continued."""
        sent: list[JsonValue] = [{"role": message.role, "content": message.content} for message in messages]
        try:
            return self._render(sent)
        except TemplateError:  # some templates have no role `system`, or want roles to alternate
            return self._render(without_system_role(sent))

    def _render(self, sent: list[JsonValue]) -> str:
        return str(self.tokenizer.apply_chat_template(sent, tokenize=False, add_generation_prompt=True))


def require_extra() -> None:
    """Check that the libraries for models are installed; MissingRequirement if one is not."""
    try:
        import accelerate  # noqa: F401
        import peft  # noqa: F401
        import torch  # noqa: F401
        import transformers
    except ModuleNotFoundError as error:
        raise MissingRequirement(
            f"Models on this machine need the package {error.name!r}.",
            remedy="Install it: pip install 'exploracoder-jupyter[tune]'.",
        ) from None
    warnings.filterwarnings("ignore", module="(?:accelerate|peft|torch|transformers)")  # they warn of one another
    transformers.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()


def find_base(name: str) -> Base:
    """Return the model in a folder or GGUF file, in an installed package that contains a GGUF file, or of this name."""
    path = Path(name).expanduser()
    if path.is_file() and path.suffix == ".gguf":
        return Base(str(path.resolve().parent), path.name)
    if path.is_dir():
        files = sorted(path.glob("*.gguf"))
        gguf = files[0].name if len(files) == 1 and not (path / "config.json").exists() else None
        return Base(str(path.resolve()), gguf)
    if name.startswith((".", "/", "~")) or path.suffix == ".gguf":
        raise UsageError(f"There is no model {name!r}.", remedy="Name a folder, a GGUF file, or a model by its name.")
    try:
        shipped = [file for file in importlib.metadata.files(name) or () if file.suffix == ".gguf"]
    except (importlib.metadata.PackageNotFoundError, ValueError):
        shipped = []
    return find_base(str(shipped[0].locate())) if shipped else Base(name)


def load(name: str) -> LoadedModel:
    """Load an adapter with its base from a folder, or any other model, for inference."""
    require_extra()
    folder = Path(name).expanduser()
    if not (folder / "adapter_config.json").exists():
        return load_base(find_base(name))
    import peft

    record = read_record(folder)
    loaded = load_base(record.base, tokenizer=folder)
    model = peft.PeftModel.from_pretrained(loaded.model, str(folder)).eval()
    return LoadedModel(model, loaded.tokenizer, record.closing)


def load_base(base: Base, *, method: Method = "lora", tokenizer: Path | None = None) -> LoadedModel:
    """Load a model and its tokenizer, which may be in another folder, on the GPU if there is one.

    UsageError if it cannot be loaded, MissingRequirement if `qlora` is requested without a GPU or bitsandbytes.
    """
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    gguf = _gguf_options(base.gguf_file, method) if base.gguf_file else {}
    on_gpu = torch.cuda.is_available()
    options: dict[str, Any] = {"dtype": torch.bfloat16 if computes_in_bfloat16() else torch.float32, **gguf}
    if method == "qlora":
        options["quantization_config"] = _four_bits(on_gpu)
    try:
        file = {"gguf_file": base.gguf_file} if base.gguf_file and not tokenizer else {}
        words = AutoTokenizer.from_pretrained(str(tokenizer or base.location), **file)
        with redirect_stderr(io.StringIO()):  # GGUF files are read with a progress bar that no setting hides
            model = AutoModelForCausalLM.from_pretrained(base.location, **options)
    except (OSError, ValueError, ImportError, KeyError) as error:
        shown = str(Path(base.location, base.gguf_file or ""))
        raise UsageError(
            f"The model {shown} cannot be loaded: {format_error(error)}.",
            remedy="Name a folder with a causal language model, a GGUF file, or a model by its name.",
        ) from error
    if on_gpu and method == "lora":
        model = model.to("cuda")
    closing = _closing(words)
    _continue_last_message(words)
    return LoadedModel(model.eval(), words, closing)


def computes_in_bfloat16() -> bool:
    """Return whether the GPU, or the CPU if there is none, has instructions for bfloat16: they halve the time."""
    import torch

    if torch.cuda.is_available():
        return bool(torch.cuda.is_bf16_supported())
    if not hasattr(torch.cpu, "get_capabilities"):  # torch before 2.10
        return False
    able = torch.cpu.get_capabilities()
    return bool(able.get("avx512_bf16") or able.get("amx_bf16"))


def read_record(folder: Path) -> AdapterRecord:
    """Return what the folder of an adapter records; UsageError if `jupyter explora finetune` has not made it."""
    try:
        return TypeAdapter(AdapterRecord).validate_json((folder / _RECORD).read_bytes())
    except (OSError, ValidationError):
        raise UsageError(
            f"{folder} was not written by `jupyter explora finetune`: {_RECORD} is missing or damaged.",
            remedy="Fine-tune again, or name another folder.",
        ) from None


def write_record(folder: Path, record: AdapterRecord) -> None:
    """Write the record of an adapter into its folder."""
    (folder / _RECORD).write_text(json.dumps(asdict(record), indent=1), encoding="utf-8")


def merge(folder: Path) -> Path:
    """Write base and adapter as one complete model into a folder below, for servers. Returns that folder."""
    loaded = load(str(folder))
    merged, target = loaded.model.merge_and_unload(), folder / "merged"
    merged.generation_config.eos_token_id = loaded.stop_ids
    if loaded.closing in loaded.tokenizer.all_special_tokens:
        loaded.tokenizer.eos_token = loaded.closing
    merged.save_pretrained(str(target))
    loaded.tokenizer.save_pretrained(str(target))
    return target


def _gguf_options(file: str, method: Method) -> dict[str, Any]:
    """Return the options that unpack a GGUF file: packed weights cannot be trained."""
    import transformers

    if method == "qlora":
        raise UsageError(
            "QLoRA cannot train a GGUF file.", remedy="Name the folder of the original model, or use --method lora."
        )
    if not hasattr(transformers, "GgufConfig"):  # earlier versions always unpack
        return {"gguf_file": file}
    return {"gguf_file": file, "quantization_config": transformers.GgufConfig(dequantize=True)}


def _four_bits(on_gpu: bool) -> Any:
    import torch
    from transformers import BitsAndBytesConfig

    if not on_gpu:
        raise MissingRequirement("QLoRA needs an NVIDIA GPU, and there is none.", remedy="Use --method lora.")
    try:
        importlib.metadata.version("bitsandbytes")
    except importlib.metadata.PackageNotFoundError:
        raise MissingRequirement(
            "QLoRA needs the package bitsandbytes.", remedy="Install it: pip install bitsandbytes."
        ) from None
    return BitsAndBytesConfig(
        load_in_4bit=True,
        bnb_4bit_quant_type="nf4",
        bnb_4bit_use_double_quant=True,
        bnb_4bit_compute_dtype=torch.bfloat16,
    )


def _closing(tokenizer: Any) -> str:
    """Return what the template writes after a reply; the end of a text if that is nothing."""
    if not tokenizer.chat_template or _CONTINUES in tokenizer.chat_template:
        return str(tokenizer.eos_token)
    sent = [{"role": "user", "content": "Request"}, {"role": "assistant", "content": _PROBE}]
    whole = str(tokenizer.apply_chat_template(sent, tokenize=False))
    return whole.rpartition(_PROBE)[2].strip() or str(tokenizer.eos_token)


def _continue_last_message(tokenizer: Any) -> None:
    """Extend the chat template so that a last message of the assistant has no end."""
    template = tokenizer.chat_template or _PLAIN_TEMPLATE
    if _CONTINUES not in template:
        tokenizer.chat_template = (
            f"{_CONTINUES}{{% set whole %}}{template}{{% endset %}}"
            "{% if messages[-1]['role'] == 'assistant' %}{% set begun = messages[-1]['content'].strip() %}"
            "{{ whole.rsplit(begun, 1)[0] + begun }}{% else %}{{ whole }}{% endif %}"
        )
    if tokenizer.pad_token is None:
        tokenizer.pad_token = tokenizer.eos_token

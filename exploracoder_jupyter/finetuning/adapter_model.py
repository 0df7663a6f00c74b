"""A model in this process: a fine-tuned adapter, or any model of `base_model`. Satisfies the pipeline's port `Model`.

Generation stops where a look-up wants its answer (ToolCoder, algorithm 1). The pipeline answers it and sends what was
written so far, with the answer, as the last message, which is continued.
"""

from __future__ import annotations

import threading
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass, field
from typing import Any, Final

import anyio

from exploracoder_jupyter.core.errors import UsageError
from exploracoder_jupyter.core.types import Usage
from exploracoder_jupyter.finetuning.base_model import LoadedModel, find_base, load, require_extra
from exploracoder_jupyter.pipeline.ports import ModelRequest, Reply
from exploracoder_jupyter.pipeline.prompting.lookup_notation import find_request
from exploracoder_jupyter.runs.factories import ModelContext

_MOST_TOKENS: Final = 1024
"""Tokens of one reply, unless the request limits them."""


def create_adapter_model(context: ModelContext) -> AdapterModel:
    """Create the model that `--model adapter:FOLDER` names; its weights are loaded at the first request."""
    name = str(context.endpoint.model)
    folder = name.partition(":")[2]
    if not folder:
        raise UsageError("The model in this process is not named.", remedy="Add its folder: --model adapter:FOLDER.")
    find_base(folder)
    require_extra()
    return AdapterModel(folder, name=name, report=context.report)


class AdapterModel:
    """A model whose weights are in a folder. One reply is generated at a time."""

    def __init__(self, folder: str, *, name: str, report: Callable[[str], None]) -> None:
        self._folder = folder
        self._name = name
        self._report = report
        self._loaded: LoadedModel | None = None
        self._turn = anyio.Lock()

    @property
    def name(self) -> str:
        """The name that selected it."""
        return self._name

    async def complete(self, request: ModelRequest) -> AsyncGenerator[Reply]:
        """Yield the replies, one after the other."""
        for index in range(request.sampling.n):
            cancelled = threading.Event()
            async with self._turn:
                try:
                    reply = await anyio.to_thread.run_sync(
                        self._reply, request, index, cancelled, abandon_on_cancel=True
                    )
                finally:
                    cancelled.set()
            yield reply

    def _reply(self, request: ModelRequest, index: int, cancelled: threading.Event) -> Reply:
        if self._loaded is None:
            self._report(f"Loading {self._folder}")
            self._loaded = load(self._folder)
        return _generate(self._loaded, request, index, cancelled)


def _generate(loaded: LoadedModel, request: ModelRequest, index: int, cancelled: threading.Event) -> Reply:
    import torch

    given = loaded.tokenizer(loaded.prompt(request.messages), add_special_tokens=False, return_tensors="pt")
    given = given.to(loaded.model.device)
    start = given.input_ids.shape[1]
    room = getattr(loaded.model.config, "max_position_embeddings", start + _MOST_TOKENS) - start
    most = min(request.sampling.max_tokens or _MOST_TOKENS, room)
    if most < 1:
        return Reply(index, "", Usage(1, start, 0), "truncated")
    chosen = {"temperature": request.sampling.temperature, "top_p": request.sampling.top_p}
    sampling: dict[str, Any] = {"do_sample": chosen["temperature"] != 0}
    if sampling["do_sample"]:
        sampling |= {name: value for name, value in chosen.items() if value is not None}
    stopped = _StopCriterion(loaded.tokenizer, start, request.inline_lookups, cancelled)
    with torch.inference_mode():
        output = loaded.model.generate(
            **given,
            max_new_tokens=most,
            eos_token_id=loaded.stop_ids,
            pad_token_id=loaded.tokenizer.pad_token_id,
            stopping_criteria=[stopped],
            **sampling,
        )
    ids = output[0, start:].tolist()
    text = loaded.tokenizer.decode(ids, skip_special_tokens=True)
    ended = stopped.at_answer or (ids and ids[-1] in loaded.stop_ids)
    problem = "" if ended and text.strip() else "empty" if ended else "truncated"
    return Reply(index, text, Usage(1, start, len(ids)), problem)


@dataclass(slots=True)
class _StopCriterion:
    """Ends a generation where a look-up wants its answer, or when the request is cancelled."""

    tokenizer: Any
    start: int
    """Number of tokens of the prompt."""
    at_arrows: bool
    cancelled: threading.Event
    at_answer: bool = field(default=False)

    def __call__(self, ids: Any, scores: Any, **more: Any) -> Any:
        import torch

        if self.at_arrows and ">" in self.tokenizer.decode(ids[0, -1]):
            written = self.tokenizer.decode(ids[0, self.start :], skip_special_tokens=True)
            self.at_answer = find_request(written) is not None
        done = self.at_answer or self.cancelled.is_set()
        return torch.full((ids.shape[0],), done, device=ids.device, dtype=torch.bool)

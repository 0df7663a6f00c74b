"""A model with scripted replies: for tests, demonstrations and dry runs."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence

from exploracoder_jupyter.core.errors import EndpointError
from exploracoder_jupyter.core.types import Call, Usage
from exploracoder_jupyter.pipeline.ports import ModelRequest, Reply

ScriptedChoice = str | Call
"""Text that the model replies with, or a tool that it calls without text."""
Script = (
    Sequence[ScriptedChoice | Sequence[ScriptedChoice]]
    | Callable[[ModelRequest], ScriptedChoice | Sequence[ScriptedChoice]]
)
"""One entry per request: one choice, or a sequence of several. Or a function that returns an entry."""

_CHARACTERS_PER_TOKEN = 4


class ScriptedModel:
    """Answers request i with entry i of the script. Tokens are counted as four characters each."""

    def __init__(self, replies: Script, name: str = "scripted") -> None:
        self._script = replies
        self.name = name
        self.requests: list[ModelRequest] = []
        """Every request so far, in order."""

    async def complete(self, request: ModelRequest) -> AsyncIterator[Reply]:
        """Yield the entry's choices, at most as many as requested. Raises EndpointError if the script is exhausted."""
        self.requests.append(request)
        choices = self._choices(request)[: request.sampling.n]
        for index, choice in enumerate(choices):
            text, calls = (choice, ()) if isinstance(choice, str) else ("", (choice,))
            prompt = sum(len(message.content) for message in request.messages) if index == 0 else 0
            usage = Usage(int(index == 0), prompt // _CHARACTERS_PER_TOKEN, len(text) // _CHARACTERS_PER_TOKEN)
            yield Reply(index, text, usage, "" if text.strip() or calls else "empty", calls)

    def _choices(self, request: ModelRequest) -> Sequence[ScriptedChoice]:
        if callable(self._script):
            entry = self._script(request)
        elif len(self.requests) <= len(self._script):
            entry = self._script[len(self.requests) - 1]
        else:
            raise EndpointError(
                f"The script of {self.name!r} has {len(self._script)} replies, and request {len(self.requests)}"
                f" (step {request.step!r}) needs another."
            )
        return [entry] if isinstance(entry, str | Call) else list(entry)

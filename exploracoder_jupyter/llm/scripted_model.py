"""A model that says what it was told to say: for tests, demonstrations and dry runs."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence

from exploracoder_jupyter.core.errors import EndpointError
from exploracoder_jupyter.core.types import Call, Usage
from exploracoder_jupyter.pipeline.ports import ModelRequest, Reply

Choice = str | Call
"""What the model says, or a tool that it calls without saying anything."""
Script = Sequence[Choice | Sequence[Choice]] | Callable[[ModelRequest], Choice | Sequence[Choice]]
"""One entry for each request: one choice, or a sequence of several. Or a function that answers."""

_CHARACTERS_PER_TOKEN = 4


class ScriptedModel:
    """Answers request i with entry i of the script. Tokens are counted as four characters each."""

    def __init__(self, replies: Script, name: str = "scripted") -> None:
        self._script = replies
        self._name = name
        self.requests: list[ModelRequest] = []
        """Every request so far, in order."""

    @property
    def name(self) -> str:
        """As given."""
        return self._name

    async def complete(self, request: ModelRequest) -> AsyncIterator[Reply]:
        """Yield the entry's choices, at most as many as are asked for.

        Raises:
            EndpointError: the script is at its end.
        """
        self.requests.append(request)
        choices = self._choices(request)[: request.sampling.n]
        for index, choice in enumerate(choices):
            text, calls = (choice, ()) if isinstance(choice, str) else ("", (choice,))
            prompt = sum(len(message.content) for message in request.messages) if index == 0 else 0
            usage = Usage(int(index == 0), prompt // _CHARACTERS_PER_TOKEN, len(text) // _CHARACTERS_PER_TOKEN)
            yield Reply(index, text, usage, "" if text.strip() or calls else "empty", calls)

    def _choices(self, request: ModelRequest) -> Sequence[Choice]:
        if callable(self._script):
            entry = self._script(request)
        elif len(self.requests) <= len(self._script):
            entry = self._script[len(self.requests) - 1]
        else:
            raise EndpointError(
                f"The script of {self._name!r} holds {len(self._script)} replies, and request {len(self.requests)}"
                f" (step {request.step!r}) wants one more."
            )
        return [entry] if isinstance(entry, str | Call) else list(entry)

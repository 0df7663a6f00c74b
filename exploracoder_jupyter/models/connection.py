"""A connection to one endpoint: the only importer of `openai`, at the first use.

Failures are values (`Fault`), because exceptions of the client must not leave this module, not even as the context of
another: they hold requests, and requests hold the key. The client repeats what may be repeated (429, 5xx, timeouts,
connections lost before an answer), with backoff, within the endpoint's limit of retries.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import anyio

from exploracoder_jupyter.config import Endpoint, Secrets
from exploracoder_jupyter.errors import EndpointError
from exploracoder_jupyter.models import presets
from exploracoder_jupyter.models.closing import Closing
from exploracoder_jupyter.models.faults import Fault, Where, explain, key_remedy, quoted

if TYPE_CHECKING:
    import httpx2
    import openai
    from openai.types import CreateEmbeddingResponse
    from openai.types.chat import ChatCompletion, ChatCompletionChunk

_CONNECT_SECONDS = 10.0
_LOOK_SECONDS = 5.0
"""For asking which models there are: a courtesy that must not take long."""

_NO_KEY = "not-needed"
"""What servers without keys are sent: the client insists on one."""

_T = TypeVar("_T")

Stream: TypeAlias = "AsyncGenerator[ChatCompletionChunk | Fault]"
"""Chunks; a fault at the end says that it broke off."""

Answer: TypeAlias = "ChatCompletion | Stream | Fault"


class Connection(Closing):
    """The client, and what to say when it fails. Close it, or use it as an async context."""

    def __init__(
        self, endpoint: Endpoint, secrets: Secrets, *, model: str, http_client: httpx2.AsyncClient | None = None
    ) -> None:
        self._key = _key(endpoint, secrets)
        self.where = Where(
            url=presets.shown(endpoint.base_url),
            model=model,
            key=self._key is not None,
            timeout=endpoint.timeout,
            attempts=endpoint.retries + 1,
        )
        self._client = _client(endpoint, self._key or _NO_KEY, http_client)

    async def chat(self, body: dict[str, Any]) -> Answer:
        """Make a chat request: a stream if the body asks for one, else the whole reply. A stream must be closed."""
        from openai.types.chat import ChatCompletion

        answer = await self._tried(lambda: self._client.chat.completions.create(**body))
        if isinstance(answer, Fault):
            return answer
        if body.get("stream"):
            return self._chunks(answer)
        if isinstance(answer, ChatCompletion):
            return _apology(answer, self._key) or answer
        return Fault("alien")

    async def _chunks(
        self, stream: openai.AsyncStream[ChatCompletionChunk]
    ) -> AsyncGenerator[ChatCompletionChunk | Fault]:
        """The chunks of a stream; if it breaks off, a fault is the last. Closes it."""
        import openai

        fault: Fault | None = None
        try:
            async for chunk in stream:
                yield chunk
        except (openai.OpenAIError, ValueError) as error:
            fault = self._fault(error)
        finally:
            with anyio.CancelScope(shield=True):
                await stream.close()
        if fault:
            yield fault

    async def embeddings(self, texts: Sequence[str]) -> CreateEmbeddingResponse | Fault:
        """Vectors of the texts. As numbers, not as base64, which some servers do not know."""
        return await self._tried(
            lambda: self._client.embeddings.create(input=list(texts), model=self.where.model, encoding_format="float")
        )

    async def models(self) -> tuple[str, ...] | Fault:
        """The names of the models that the endpoint lists. Asked once, with little patience."""
        brief = self._client.with_options(timeout=min(_LOOK_SECONDS, self.where.timeout), max_retries=0)
        page = await self._tried(lambda: brief.get("/models", cast_to=object))
        if isinstance(page, Fault):
            return page
        rows = page.get("data") if isinstance(page, dict) else None
        if not isinstance(rows, list):
            return Fault("alien", "its list of models is not one")
        return tuple(str(row["id"]) for row in rows if isinstance(row, dict) and "id" in row)

    async def explained(self, fault: Fault) -> EndpointError:
        """The error to raise for a fault; asks for the list of models where that helps."""
        listed = await self.models() if fault.status == 404 else ()
        return explain(fault, self.where, () if isinstance(listed, Fault) else listed)

    async def aclose(self) -> None:
        """Close the client. Idempotent."""
        with anyio.CancelScope(shield=True):
            await self._client.close()

    async def _tried(self, call: Callable[[], Awaitable[_T]]) -> _T | Fault:
        import openai

        try:
            return await call()
        except (openai.OpenAIError, ValueError) as error:
            return self._fault(error)

    def _fault(self, error: Exception) -> Fault:
        import openai

        if isinstance(error, openai.APITimeoutError):
            return Fault("timeout")
        if isinstance(error, openai.APIConnectionError):
            return Fault("unreachable", quoted(str(error.__cause__ or ""), self._key))
        if isinstance(error, openai.APIStatusError):
            words = quoted(_words(error.body), self._key)
            return Fault("status", words, error.status_code, error.param or "")
        return Fault("alien", quoted(str(error), self._key))


def _client(endpoint: Endpoint, key: str, http_client: httpx2.AsyncClient | None) -> openai.AsyncOpenAI:
    import openai

    # A proxy of the environment cannot reach this machine's own address.
    trust = not presets.is_local(endpoint.base_url)
    return openai.AsyncOpenAI(
        api_key=key,
        base_url=presets.address(endpoint.base_url),
        timeout=openai.Timeout(endpoint.timeout, connect=min(_CONNECT_SECONDS, endpoint.timeout)),
        max_retries=endpoint.retries,
        http_client=http_client or openai.DefaultAsyncHttpxClient(trust_env=trust),
    )


def _key(endpoint: Endpoint, secrets: Secrets) -> str | None:
    key = secrets.api_key.get_secret_value().strip() if secrets.api_key else ""
    if not key and presets.address(endpoint.base_url) == presets.OPENAI:
        raise EndpointError(f"No key is configured for {presets.OPENAI}.", remedy=key_remedy())
    if not (key.isascii() and key.isprintable()):
        raise EndpointError("The configured key holds characters that no key has.", remedy=key_remedy())
    return key or None


def _apology(answer: ChatCompletion, key: str | None) -> Fault | None:
    """The fault of a reply that holds an error though its status says success, as gateways send it."""
    error = (answer.model_extra or {}).get("error")
    if not error or getattr(answer, "choices", None):
        return None
    code = error.get("code") if isinstance(error, dict) else None
    return Fault("status", quoted(_words(error), key), code if isinstance(code, int) and code >= 400 else 502)


def _words(body: object) -> str:
    """What the server says, if it says it in words."""
    if isinstance(body, dict):
        said = body.get("message") or body.get("detail") or body.get("error") or ""
        return said if isinstance(said, str) else str(said)
    text = body if isinstance(body, str) else ""
    return "" if text.lstrip().startswith("<") else text

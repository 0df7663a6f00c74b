import json

import numpy as np
import pytest

from exploracoder_jupyter.core.configuration.sections import Endpoint
from exploracoder_jupyter.core.configuration.sources import Secrets
from exploracoder_jupyter.core.errors import EndpointError, UsageError
from exploracoder_jupyter.core.http_client import httpx
from exploracoder_jupyter.llm.embeddings import EndpointEmbedder
from tests.unit.served import KEY, URL


def embedder(answer):
    def handle(request):
        if request.url.path.endswith("/embeddings"):
            return answer(json.loads(request.content)["input"])
        return httpx.Response(404)

    client = httpx.AsyncClient(transport=httpx.MockTransport(handle))
    return EndpointEmbedder(
        Endpoint(base_url=URL, embedding_model="e5", retries=0), Secrets(api_key=KEY), http_client=client
    )


def vectors(rows, *, order=None):
    data = [{"object": "embedding", "index": i, "embedding": row} for i, row in enumerate(rows)]
    data = [data[i] for i in order] if order else data
    return httpx.Response(200, json={"object": "list", "data": data, "model": "e5"})


async def test_vectors_keep_the_order_over_several_requests():
    batches = []

    def answer(texts):
        batches.append(len(texts))
        return vectors([[float(text), 1.0] for text in texts], order=range(len(texts) - 1, -1, -1))

    async with embedder(answer) as served:
        found = await served.embed([str(number) for number in range(300)])
    assert found.shape == (300, 2) and found.dtype == np.float32
    assert found[:, 0].tolist() == list(range(300))
    assert len(batches) > 1 and sum(batches) == 300


async def test_empty_and_long_texts_are_sent_acceptably():
    sent = []

    def answer(texts):
        sent.extend(texts)
        return vectors([[1.0]] * len(texts))

    async with embedder(answer) as served:
        await served.embed(["", "x" * 100_000])
    assert sent[0] and 1000 < len(sent[1]) < 10_000


@pytest.mark.parametrize(
    "answer",
    [
        lambda texts: httpx.Response(404, json={"error": {"message": "no such path"}}),
        lambda texts: httpx.Response(200, text="<html>", headers={"content-type": "text/html"}),
        lambda texts: httpx.Response(200, json={}),
        lambda texts: vectors([[1.0]]),
        lambda texts: vectors([[1.0], [1.0, 2.0]]),
        lambda texts: vectors([None, None]),
        lambda texts: vectors([[1e300], [1.0]]),
        lambda texts: vectors([[10**400], [1.0]]),
        lambda texts: httpx.Response(200, json={"data": [{"index": at, "embedding": [1.0]} for at in ("a", 1)]}),
    ],
)
async def test_anything_but_proper_vectors_is_an_endpoint_error(answer):
    async with embedder(answer) as served:
        with pytest.raises(EndpointError, match=URL) as caught:
            await served.embed(["a", "b"])
    assert KEY not in str(caught.value)


def test_an_embedding_model_must_be_named():
    with pytest.raises(UsageError, match="No embedding model"):
        EndpointEmbedder(Endpoint(base_url=URL), Secrets())

import logging
import traceback

import pytest

from exploracoder_jupyter.core.configuration.sections import Endpoint
from exploracoder_jupyter.core.configuration.sources import Secrets
from exploracoder_jupyter.core.errors import EndpointError, UsageError
from exploracoder_jupyter.core.http_client import httpx
from exploracoder_jupyter.llm.endpoint.faults import quote_message
from exploracoder_jupyter.llm.endpoint.model import OpenAIModel
from tests.unit.served import KEY, URL, answers, ask, model, refusal, whole


async def failure(answer, *, n=1, **settings):
    with pytest.raises(EndpointError) as caught:
        await answers(model(answer, **settings), ask(n=n))
    return caught.value


def full_text(error):
    """All that a traceback, or someone who walks the chain of exceptions, can show."""
    parts = ["".join(traceback.format_exception(error))]
    while error:
        parts += [str(error), repr(error), repr(error.args), repr(vars(error))]
        error = error.__cause__ or error.__context__
    return "\n".join(parts)


async def test_a_refused_key_is_one_sentence():
    error = await failure(lambda body: refusal(401, f"Incorrect API key provided: {KEY}"))
    assert error.message == f"{URL} refused the key (401)."
    assert "EXPLORACODER_API_KEY" in error.remedy and "config.toml" in error.remedy


async def test_a_missing_key_differs_from_a_wrong_one():
    error = await failure(lambda body: refusal(401), key=None)
    assert error.message == f"{URL} requires a key (401), and none is configured."


async def test_a_server_without_keys_is_asked_without_one():
    def handle(request):
        assert request.headers["authorization"] == "Bearer not-needed"
        return whole("x")

    client = httpx.AsyncClient(transport=httpx.MockTransport(handle))
    served = OpenAIModel(Endpoint(model="m", base_url="ollama", retries=0), Secrets(), http_client=client)
    assert [reply.text for reply in await answers(served, ask())] == ["x"]


def test_openai_itself_is_not_asked_without_a_key():
    with pytest.raises(EndpointError, match="No key is configured for https://api"):
        OpenAIModel(Endpoint(model="gpt"), Secrets())


@pytest.mark.parametrize("key", ["sk-fünf-geheim", "sk-two\nlines"])
def test_an_invalid_key_is_reported_without_showing_it(key):
    with pytest.raises(EndpointError, match="contains invalid characters") as caught:
        OpenAIModel(Endpoint(model="gpt"), Secrets(api_key=key))
    assert "sk-" not in full_text(caught.value)


@pytest.mark.parametrize(
    "answer",
    [
        lambda body: refusal(401, f"bad key {KEY}"),
        lambda body: refusal(403, f"bad key {KEY}"),
        lambda body: refusal(404, f"no model for {KEY}"),
        lambda body: refusal(400, f"what is {KEY}?"),
        lambda body: refusal(429, f"too much from {KEY}"),
        lambda body: refusal(500, f"Authorization: Bearer {KEY}"),
        lambda body: httpx.Response(502, text=f"Bearer {KEY}"),
        lambda body: httpx.Response(200, text=f"Bearer {KEY}"),
        lambda body: httpx.Response(200, json={"error": {"message": f"Bearer {KEY}"}}),
        lambda body: httpx.Response(200, content=f"{{{KEY}", headers={"content-type": "application/json"}),
        lambda body: (_ for _ in ()).throw(httpx.ConnectError(f"cannot send Bearer {KEY}")),
        lambda body: (_ for _ in ()).throw(httpx.ReadTimeout(f"cannot send Bearer {KEY}")),
    ],
)
async def test_the_key_is_in_no_error_or_log(answer, caplog):
    with caplog.at_level(logging.DEBUG):
        error = await failure(answer, n=2)
    assert KEY not in full_text(error)
    assert KEY not in caplog.text


@pytest.mark.parametrize("echoed", ['sk-a/b"c', "sk-a%2Fb%22c", 'sk-a/b\\"c'])
def test_an_escaped_echoed_key_is_not_quoted(echoed):
    assert quote_message(f"bad key {echoed}!", ['sk-a/b"c']) == "bad key [key]!"


async def test_an_unknown_model_is_answered_with_existing_ones():
    error = await failure(lambda body: refusal(404, "model 'm' not found, try pulling it first"))
    assert error.message == f"{URL} has no model 'm'."
    assert error.remedy == "Available: small, large."


async def test_a_wrong_address_names_address_and_model():
    error = await failure(lambda body: httpx.Response(404, text="<html>nginx</html>"), model="small")
    assert error.message == f"{URL} was not found, or has no model 'small' (404)."
    assert "/v1" in error.remedy


@pytest.mark.parametrize(
    ("answer", "sentence"),
    [
        (lambda body: refusal(429, "quota exceeded"), f"{URL} refuses further requests (429, tried 3 times): quota"),
        (lambda body: refusal(503, "loading model"), f"{URL} failed (503, tried 3 times): loading model."),
    ],
)
async def test_what_may_pass_is_tried_again(answer, sentence):
    sent = []
    error = await failure(answer, requests=sent, retries=2)
    assert error.message.startswith(sentence)
    assert len(sent) == 3


async def test_what_passes_when_tried_again_is_not_noticed():
    left = [refusal(429), refusal(500), refusal(503)]
    served = model(lambda body: left.pop() if left else whole("x"), retries=3)
    [reply] = await answers(served, ask())
    assert (reply.text, reply.usage.calls) == ("x", 2)


async def test_a_password_in_the_address_is_not_shown():
    def answer(body):
        raise httpx.ConnectError("no")

    error = await failure(answer, base_url="http://me:secret@models.example/v1")
    assert error.message.startswith("http://models.example/v1 cannot")


@pytest.mark.parametrize(
    "answer",
    [
        lambda body: httpx.Response(200, text="<html>Welcome</html>", headers={"content-type": "text/html"}),
        lambda body: httpx.Response(200, content="{oops", headers={"content-type": "application/json"}),
    ],
)
async def test_another_kind_of_server_is_reported(answer):
    error = await failure(answer)
    assert error.message.startswith(f"{URL} does not answer like an OpenAI-compatible endpoint")


async def test_an_error_sent_with_success_is_an_error():
    error = await failure(lambda body: httpx.Response(200, json={"error": {"code": 503, "message": "no provider"}}))
    assert error.message == f"{URL} failed (503, tried once): no provider."


def listed(code, **error):
    return httpx.Response(code, json=[{"error": {"code": code, **error}}])


async def test_a_bad_key_of_gemini_is_refused():
    sent = []

    def answer(body):
        return listed(400, message="API key not valid. Please pass a valid API key.", status="INVALID_ARGUMENT")

    error = await failure(answer, requests=sent)
    assert error.message == f"{URL} refused the key (400)." and "EXPLORACODER_API_KEY" in error.remedy
    assert len(sent) == 1


async def test_a_quota_of_gemini_is_named():
    wait = [{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "37s"}]
    error = await failure(lambda body: listed(429, message="You exceeded your quota.", details=wait))
    assert error.message == (
        f"{URL} refuses further requests (429, tried once, the server asks to wait 37 s): You exceeded your quota."
    )


async def test_an_error_in_a_list_is_shown():
    error = await failure(lambda body: listed(200, message="The model is overloaded."))
    assert "The model is overloaded." in error.message


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"errors": [{"code": 7003, "message": "No route for that URI"}], "success": False}, "No route for that URI"),
        ({"error": {"message": {"error": {"message": "inner"}}}}, "inner"),
        ({"detail": [{"loc": ["body", "n"], "msg": "too many"}]}, "too many"),
        (["plain"], "plain"),
        ([[[[[[[[{"error": "deep"}]]]]]]]], ""),
    ],
)
async def test_the_message_of_an_error_is_found(body, message):
    error = await failure(lambda _: httpx.Response(418, json=body))
    assert error.message.startswith(f"{URL} refused the request (418)") and message in error.message


def test_a_model_must_be_named():
    with pytest.raises(UsageError, match="No model"):
        OpenAIModel(Endpoint(base_url="ollama"), Secrets())

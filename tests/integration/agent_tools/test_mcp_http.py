"""The server on a port of the loopback interface: the SDK's client with the token, and everybody else."""

import json
import subprocess
import sys
from contextlib import AsyncExitStack

import pytest

from exploracoder_jupyter.core.http_client import httpx
from tests.integration.agent_tools.mcp_client import Agent, server_parameters
from tests.patience import patience

pytest.importorskip("mcp")
HELLO = {"jsonrpc": "2.0", "id": 1, "method": "ping"}


@pytest.fixture
def served(tmp_path):
    parameters = server_parameters(tmp_path)
    command = [parameters.command, *parameters.args, "--http", "0", "--json"]
    process = subprocess.Popen(command, env=parameters.env, stdout=subprocess.PIPE, text=True)
    with process:
        text = "".join(iter(process.stdout.readline, "}\n")) + "}"
        yield json.loads(text)
        process.terminate()
        process.wait(patience(20))


async def test_the_client_with_the_token_is_served(served):
    from mcp import ClientSession
    from mcp.client import streamable_http

    headers = {"Authorization": f"Bearer {served['token']}"}
    async with AsyncExitStack() as stack:
        if hasattr(streamable_http, "streamable_http_client"):
            client = streamable_http.create_mcp_http_client(headers=headers)
            await stack.enter_async_context(client)
            connection = streamable_http.streamable_http_client(served["url"], http_client=client)
        else:
            connection = streamable_http.streamablehttp_client(served["url"], headers=headers)
        streams = await stack.enter_async_context(connection)
        session = await stack.enter_async_context(ClientSession(*streams[:2]))
        await session.initialize()
        answer = await Agent(session).call("read_api", paths=["json.dumps"])
        assert answer["apis"][0]["signature"].startswith("json.dumps(")


@pytest.mark.parametrize(
    "headers, status",
    [
        ({}, 401),
        ({"Authorization": "Bearer guess"}, 401),
        ({"Origin": "https://evil.example"}, 403),
        ({"Host": "evil.example"}, 403),
    ],
)
def test_nobody_else_is(served, headers, status):
    own = {"Authorization": f"Bearer {served['token']}"} if status == 403 else {}
    accepted = {"Accept": "application/json, text/event-stream"}
    with httpx.Client(trust_env=False) as client:
        answer = client.post(served["url"], json=HELLO, headers={**accepted, **own, **headers})
    assert answer.status_code == status and answer.text == ""


def test_a_port_in_use_is_named_in_the_error(served, tmp_path):
    port = served["url"].split(":")[2].split("/")[0]
    command = [sys.executable, "-m", "exploracoder_jupyter.cli", "mcp", "--http", port]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=patience(60))
    assert done.returncode == 2 and "in use" in done.stderr and "Traceback" not in done.stderr

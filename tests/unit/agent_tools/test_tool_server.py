"""The tools as a client sees them, and the door of the server that listens on a port."""

import anyio
import pytest

from exploracoder_jupyter.agent_tools.call_log import CallLog, read_calls
from exploracoder_jupyter.agent_tools.protocol_sdk import TokenGate
from exploracoder_jupyter.agent_tools.tool_server import open_tools

pytest.importorskip("mcp")
EXECUTING = {"try_variants", "explore_task", "steer_exploration", "check_trace"}


@pytest.fixture
def tools(tmp_path):
    async def read():
        async with open_tools(tmp_path) as server:
            return {tool.name: tool.model_dump(mode="json", by_alias=True) for tool in await server.list_tools()}

    return anyio.run(read)


def test_every_argument_has_a_type_and_a_limit(tools):
    assert {*tools} > EXECUTING
    for name, tool in tools.items():
        assert tool["inputSchema"]["properties"]["max_tokens"]["maximum"] > 0, name
        for argument, schema in tool["inputSchema"]["properties"].items():
            assert "type" in schema or "enum" in schema, (name, argument)
            bounds = {"string": {"maxLength", "enum"}, "array": {"maxItems"}, "integer": {"maximum"}}
            assert bounds.get(schema.get("type"), {*schema}) & {*schema}, (name, argument)


def test_annotations_say_what_executes_code(tools):
    executing = {name for name, tool in tools.items() if not tool["annotations"]["readOnlyHint"]}
    assert executing == EXECUTING
    assert not any(tool["annotations"]["destructiveHint"] for tool in tools.values())


def test_descriptions_are_short(tools):
    assert all(20 < len(tool["description"]) < 600 for tool in tools.values())


async def test_the_log_shows_calls_without_secrets(tmp_path):
    log = CallLog(tmp_path / "deep" / "calls.jsonl")
    log.write("try_variants", {"variants": [{"code": "key = 'sk-4f9c1d7e2b8a6035c4d1e9f7a2b8c3d4'"}]}, 0.5, "answered")
    log.write("read_api", {"paths": ["json.dumps"], "huge": "x" * 100_000}, 0.1, "answered")
    last, first = read_calls(log.path, 10)
    assert (last["tool"], first["seconds"]) == ("read_api", 0.5)
    assert "4f9c1d7e" not in str(first) and len(str(last)) < 30_000
    assert read_calls(tmp_path / "absent", 10) == []


async def test_a_full_log_is_replaced(tmp_path):
    path = tmp_path / "calls.jsonl"
    path.write_text("x" * 6_000_000)
    CallLog(path).write("read_api", {}, 0.1, "answered")
    assert len(read_calls(path, 10)) == 1 and path.with_suffix(".old.jsonl").exists()


async def status_of(headers, *, token="0123456789abcdef"):
    """The status with which a request is answered; 200 means that it reached the server."""
    statuses = []

    async def app(scope, receive, send):
        await send({"type": "http.response.start", "status": 200, "headers": []})

    async def send(message):
        if message["type"] == "http.response.start":
            statuses.append(message["status"])

    scope = {"type": "http", "headers": [(name.encode(), value.encode()) for name, value in headers.items()]}
    await TokenGate(app, token, ["127.0.0.1:9", "localhost:9"])(scope, anyio.sleep_forever, send)
    return statuses[0]


@pytest.mark.parametrize(
    "changed, status",
    [
        ({}, 200),
        ({"origin": "http://localhost:9"}, 200),
        ({"authorization": ""}, 401),
        ({"authorization": "Bearer 0123456789abcdeX"}, 401),
        ({"authorization": "bearer 0123456789abcdef"}, 401),
        ({"host": "evil.example:9"}, 403),
        ({"host": "127.0.0.1:10"}, 403),
        ({"origin": "https://evil.example"}, 403),
        ({"origin": "null"}, 403),
    ],
)
async def test_only_the_user_reaches_the_port(changed, status):
    headers = {"host": "127.0.0.1:9", "authorization": "Bearer 0123456789abcdef", **changed}
    assert await status_of(headers) == status

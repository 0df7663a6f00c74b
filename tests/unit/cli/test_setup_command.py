"""`jupyter explora setup`: which models it finds, what it sends where, and what it writes."""

import io
import json
import stat
import sys
import tomllib

import pytest

from exploracoder_jupyter.cli import main
from exploracoder_jupyter.core.configuration.sections import Endpoint
from exploracoder_jupyter.core.configuration.sources import Secrets, write_config
from exploracoder_jupyter.core.errors import UsageError
from exploracoder_jupyter.llm.endpoint.discovery import find_endpoints
from tests.json_output import json_result

KEY = "sk-very-secret-0123456789"
LISTED = ["nomic-embed-text:latest", "llama3:latest", "qwen3-coder:30b"]
ANSWER = {"choices": [{"index": 0, "message": {"content": "ready"}, "finish_reason": "stop"}]}


@pytest.fixture
def server(httpserver):
    """A model server with three models, the last of which answers."""
    httpserver.expect_request("/v1/models").respond_with_json({"data": [{"id": name} for name in LISTED]})
    httpserver.expect_request("/v1/chat/completions").respond_with_handler(_answer_coder)
    return httpserver


def _answer_coder(request):
    from werkzeug import Response

    known = request.get_json()["model"] == LISTED[-1]
    body = ANSWER if known else {"error": {"message": "this model cannot chat"}}
    return Response(json.dumps(body), 200 if known else 400, content_type="application/json")


def setup(server, *options):
    return main(["setup", "--base-url", server.url_for("/v1"), *options])


def test_the_first_answering_code_model_is_written(server, config, capsys):
    config.parent.mkdir()
    config.write_text('# mine\napi_key = "old"\n\n[endpoint]  # here\nmodel = "x"\nretries = 1\n[budget]\ntokens = 5\n')
    assert setup(server, "--yes", "--json") == 0
    written = json_result("setup", capsys.readouterr().out)["written"]
    url = server.url_for("/v1")
    assert (written["model"], written["url"], written["path"]) == (LISTED[-1], url, str(config))
    assert tomllib.loads(config.read_text()) == {
        "api_key": "old",
        "endpoint": {"base_url": url, "model": LISTED[-1], "retries": 1},
        "budget": {"tokens": 5},
    }
    assert "# mine\n" in config.read_text() and "[endpoint]  # here\n" in config.read_text()
    assert stat.S_IMODE(config.stat().st_mode) == 0o600
    assert [path.name for path in config.parent.iterdir()] == ["config.toml"]


def test_the_key_is_used_and_not_written(server, config, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    assert setup(server, "--model", LISTED[-1]) == 0
    assert {request.headers["Authorization"] for request, _ in server.log} == {f"Bearer {KEY}"}
    assert KEY not in config.read_text()


async def test_servers_at_usual_ports_get_no_key(server):
    presets = {"ollama": server.url_for("/v1"), "vllm": server.url_for("/page")}
    named = Endpoint(base_url=server.url_for("/named"))
    found = await find_endpoints(named, Secrets(api_key=KEY), presets)
    assert [one.base_url for one in found] == [named.base_url, "ollama"]
    assert found[1].models == (LISTED[2], LISTED[1])
    sent = {request.path: request.headers["Authorization"] for request, _ in server.log}
    assert KEY in sent.pop("/named/models")
    assert len(sent) == 2 and not any(KEY in header for header in sent.values())


@pytest.mark.parametrize("by_name", [True, False])
async def test_a_chosen_local_server_gets_no_key(server, by_name):
    presets = {"ollama": server.url_for("/v1")}
    named = Endpoint(base_url="ollama" if by_name else server.url_for("/v1"))
    [found] = await find_endpoints(named, Secrets(api_key=KEY), presets)
    assert found.models and not found.key
    assert not any(KEY in str(request.headers) for request, _ in server.log)


def test_a_silent_model_is_not_configured(server, config, capsys):
    assert setup(server, "--model", "llama3") == 2
    assert "this model cannot chat" in capsys.readouterr().err
    assert not config.exists()


def test_an_unlisted_model_gets_a_suggestion(server, config, capsys):
    assert setup(server, "--model", "qwen3-codre:30b") == 2
    assert f"Did you mean {LISTED[-1]}?" in capsys.readouterr().err


def test_without_a_choice_models_are_only_listed(server, config, capsys):
    assert setup(server) == 1
    captured = capsys.readouterr()
    assert LISTED[-1] in captured.out and LISTED[0] not in captured.out
    assert "--model" in captured.err
    assert not config.exists()


def test_a_terminal_is_asked_for_a_valid_number(server, config, monkeypatch, capsys):
    typed = io.StringIO("9\nfirst\n1\n")
    typed.isatty = lambda: True
    monkeypatch.setattr(sys, "stdin", typed)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    assert setup(server) == 0
    assert capsys.readouterr().err.count("Which one?") == 3
    assert tomllib.loads(config.read_text())["endpoint"]["model"] == LISTED[-1]


def test_where_nothing_answers_the_remedy_is_named(config, capsys):
    assert main(["setup", "--base-url", "http://127.0.0.1:9/v1", "--json"]) == 1
    answer = json.loads(capsys.readouterr().out)
    assert answer["written"] is None and answer["remedy"]
    assert "cannot be reached" in answer["endpoints"][0]["status"]


def test_a_password_in_the_address_is_not_written(server, config, monkeypatch, capsys):
    address = server.url_for("/v1").replace("://", "://me:secret@")
    assert main(["setup", "--base-url", address, "--model", LISTED[-1]]) == 2
    assert not config.exists()
    monkeypatch.setenv("EXPLORACODER_BASE_URL", address)
    assert main(["setup", "--model", LISTED[-1]]) == 0
    assert config.read_text() == f'[endpoint]\nmodel = "{LISTED[-1]}"\n'
    assert "secret" not in "".join(capsys.readouterr())


@pytest.mark.parametrize(
    "text",
    [
        'endpoint.model = "a"\n',
        'endpoint = {model = "a"}\n',
        '[endpoint]\nmodel = """\na"""\n',
        '[endpoint]\n# of the house\nmodel = "a"\n[budget]\ntokens = 9\n',
    ],
)
def test_values_are_changed_in_any_form_of_file(config, text):
    config.parent.mkdir()
    config.write_text(text)
    before = tomllib.loads(text)
    write_config({"model": "b"}, section="endpoint")
    write_config({"api_key": "k"})
    assert tomllib.loads(config.read_text()) == {**before, "endpoint": {"model": "b"}, "api_key": "k"}
    assert ("# of the house" in config.read_text()) == ("# of the house" in text)


def test_broken_config_file_is_refused_and_stays(config):
    config.parent.mkdir()
    config.write_text("[endpoint\n")
    with pytest.raises(UsageError, match="cannot be changed"):
        write_config({"model": "b"}, section="endpoint")
    assert config.read_text() == "[endpoint\n"


def test_a_linked_config_file_stays_a_link(config, tmp_path):
    config.parent.mkdir()
    (tmp_path / "dotfiles.toml").write_text("")
    config.symlink_to(tmp_path / "dotfiles.toml")
    write_config({"model": 'a "b"'}, section="endpoint")
    assert config.is_symlink()
    assert tomllib.loads((tmp_path / "dotfiles.toml").read_text()) == {"endpoint": {"model": 'a "b"'}}

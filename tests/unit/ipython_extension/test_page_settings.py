"""The settings of the page: what it is shown, what is written, and that no answer contains the key."""

import stat
import tomllib

import pytest
from pydantic import SecretStr

from exploracoder_jupyter.ipython_extension.browser.page_requests import save_settings, view_settings
from exploracoder_jupyter.protocol.browser_messages import parse_control
from exploracoder_jupyter.protocol.form_messages import SaveSettings

KEY = "sk-very-secret-0123456789"
FILE = '# mine\napi_key = "old-key"\n\n[endpoint]  # here\nmodel = "x"\nretries = 1\n[budget]\ntokens = 5\n'


@pytest.fixture
def written(config):
    config.parent.mkdir()
    config.write_text(FILE)
    return config


def shown(view):
    return {row.name: (row.value, row.default, row.overridden) for row in view.settings}


def save(values, key=None):
    return save_settings(SaveSettings(request=1, values=values, key=key), {})


def test_values_defaults_and_what_takes_precedence_are_shown(written, monkeypatch):
    monkeypatch.setenv("EXPLORACODER_BASE_URL", "http://me:password@host/v1")
    view = view_settings(7, {"exploration": {"candidates": 3}})
    assert (view.request, view.path, view.problem, view.key) == (7, str(written), "", "file")
    assert shown(view)["endpoint.model"] == ("x", "", "")
    assert shown(view)["endpoint.base_url"] == ("", "http://***@host/v1", "")
    assert shown(view)["exploration.candidates"] == ("", "5", "3")
    assert shown(view)["budget.tokens"] == ("5", "200000", "")
    share = next(row for row in view.settings if row.name == "endpoint.share")
    assert (share.kind, share.choices) == ("choice", ["values", "schema", "none"])


def test_a_damaged_file_is_reported(config):
    view = view_settings(1, {})
    assert (view.problem, view.key) == ("", "none") and view.settings
    config.parent.mkdir()
    config.write_text(f"api_key = {KEY}")
    view = view_settings(1, {})
    assert "cannot be read" in view.problem and KEY not in view.model_dump_json()


def test_a_key_variable_is_named(written, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    view = view_settings(1, {})
    assert (view.key, view.key_variable) == ("environment", "OPENAI_API_KEY")
    assert KEY not in view.model_dump_json()


def test_saving_keeps_the_rest_of_the_file(written):
    view = save({"endpoint.model": " qwen ", "budget.tokens": "", "budget.cost": "1.5", "exploration.candidates": "3"})
    assert not view.problem and not view.problems
    assert shown(view)["endpoint.model"][0] == "qwen" and shown(view)["budget.tokens"][0] == ""
    assert tomllib.loads(written.read_text()) == {
        "api_key": "old-key",
        "endpoint": {"model": "qwen", "retries": 1},
        "budget": {"cost": 1.5},
        "exploration": {"candidates": 3},
    }
    assert "# mine\n" in written.read_text() and "[endpoint]  # here\n" in written.read_text()


def test_nothing_is_written_if_one_value_is_invalid(written):
    view = save(
        {
            "endpoint.model": "new",
            "exploration.candidates": "99",
            "budget.tokens": "many",
            "budget.cost": "x",
            "endpoint.base_url": "https://me:pw@host/v1",
            "sandbox.network": "true",
        }
    )
    assert set(view.problems) == {
        "exploration.candidates",
        "budget.tokens",
        "budget.cost",
        "endpoint.base_url",
        "sandbox.network",
    }
    assert all(view.problems.values()) and "pw" not in view.model_dump_json()
    assert written.read_text() == FILE


def test_removing_the_unset_writes_nothing(config, written):
    save({"exploration.effort": "", "budget.tokens": ""})
    assert tomllib.loads(written.read_text()) == {
        "api_key": "old-key",
        "endpoint": {"model": "x", "retries": 1},
        "budget": {},
    }


def test_a_key_is_written_privately_and_never_answered(config):
    view = save({}, key=f" {KEY} ")
    assert view.key == "file" and KEY not in view.model_dump_json()
    assert tomllib.loads(config.read_text()) == {"api_key": KEY}
    assert stat.S_IMODE(config.stat().st_mode) == 0o600
    assert save({}, key="").key == "none"
    assert tomllib.loads(config.read_text()) == {}


def test_the_key_is_not_in_messages():
    for kind in ("save_settings", "find_models", "try_model"):
        message = parse_control({"type": kind, "request": 1, "key": KEY, "model": "m"})
        assert isinstance(message.key, SecretStr) and KEY not in f"{message!r} {message} {message.model_dump_json()}"

"""Where settings and keys come from, and that keys stay where they are."""

import stat
import tomllib

import pytest

from exploracoder_jupyter.core.configuration.sources import config_path, read_secrets
from exploracoder_jupyter.core.errors import UsageError
from exploracoder_jupyter.ipython_extension.settings_explanation import explain, save_key

KEY = "sk-0123456789"


@pytest.fixture
def config(tmp_path, monkeypatch):
    path = tmp_path / "deep" / "config.toml"
    monkeypatch.setenv("EXPLORACODER_CONFIG", str(path))
    return path


def test_everything_is_named_and_no_key_is_shown(config):
    shown = explain(
        {"exploration": {"candidates": 3}},
        {"OPENAI_API_KEY": KEY, "OPENAI_MODEL": "m", "OPENAI_BASE_URL": "https://me:secret@example.org/v1?code=secret"},
    )
    assert "Key: taken from the environment variable OPENAI_API_KEY" in shown
    assert "(OPENAI_MODEL, OPENAI_BASE_URL)" in shown
    assert "%config ExploraMagics.NAME = VALUE (candidates)" in shown
    assert f"{config} (does not exist yet" in shown
    assert "exploration.candidates = 3" in shown
    assert "Model: m at https://***@example.org/v1?code=***" in shown
    assert KEY not in shown
    assert "secret" not in shown


def test_without_an_endpoint_it_is_the_offline_model(config):
    shown = explain({}, {})
    assert "embedded offline model" in shown
    assert "Key: none is set" in shown


def test_a_saved_key_is_found_and_kept_private(config):
    assert save_key(f" {KEY}\n") == config == config_path()
    assert stat.S_IMODE(config.stat().st_mode) == 0o600
    assert read_secrets(environ={}).api_key.get_secret_value() == KEY
    shown = explain({}, {})
    assert "Key: taken from that file" in shown
    assert KEY not in shown


def test_a_new_key_replaces_only_the_old_one(config):
    config.parent.mkdir()
    config.write_text('# mine\napi_key = "old"\n[endpoint]\nmodel = "m"  # api_key = no\n[other]\napi_key = "kept"\n')
    save_key('new"quoted"')
    text = config.read_text()
    content = tomllib.loads(text)
    assert content == {"api_key": 'new"quoted"', "endpoint": {"model": "m"}, "other": {"api_key": "kept"}}
    assert "# mine" in text
    assert [path.name for path in config.parent.iterdir()] == ["config.toml"]


def test_a_broken_file_is_not_touched(config):
    config.parent.mkdir()
    config.write_text("[endpoint\n")
    with pytest.raises(UsageError, match="cannot be changed"):
        save_key(KEY)
    assert config.read_text() == "[endpoint\n"
    with pytest.raises(UsageError, match="No key was entered"):
        save_key("  ")


def test_an_unread_variable_gets_a_suggestion(config):
    """Issue 14, item 15: `%explora config` shows what has no effect."""
    shown = explain({}, {"EXPLORACODER_MODLE": "m"})
    assert "EXPLORACODER_MODLE is unknown and has no effect. Did you mean EXPLORACODER_MODEL?" in shown

"""Settings: precedence, bad values, secrets."""

import pytest

from exploracoder_jupyter.core.configuration.settings import Settings
from exploracoder_jupyter.core.configuration.sources import (
    VARIABLES,
    as_json,
    read_secrets,
    recorded_layer,
    resolve,
    unknown_variables,
    write_config,
)
from exploracoder_jupyter.core.errors import UsageError


@pytest.fixture
def file(tmp_path):
    def write(text):
        path = tmp_path / "config.toml"
        path.write_text(text)
        return path

    return write


def test_flag_beats_config_file_environment_and_default(file):
    path = file('[endpoint]\nmodel = "of file"\n[exploration]\nsubtasks = 3\ncandidates = 4\n')
    environ = {"EXPLORACODER_MODEL": "of environment", "OPENAI_BASE_URL": "http://localhost:1/v1"}
    flags, config = {"exploration": {"candidates": 2}}, {"exploration": {"candidates": 9, "timeout": 5}}
    settings = resolve(flags, config, path=path, environ=environ)
    assert settings.exploration.candidates == 2
    assert settings.exploration.timeout == 5
    assert settings.exploration.subtasks == 3
    assert settings.endpoint.model == "of file"
    assert settings.endpoint.base_url == "http://localhost:1/v1"
    assert settings.exploration.debug_rounds == 2


def test_a_preset_gives_what_no_layer_gives(file):
    path = file('[exploration]\npreset = "thorough"\nsolution_rounds = 1\n')
    settings = resolve({"exploration": {"candidates": 2}}, path=path, environ={}).exploration
    assert (settings.candidates, settings.debug_rounds, settings.solution_rounds) == (2, 3, 1)
    assert settings.tests
    quick = resolve({"exploration": {"preset": "quick"}}, path=path, environ={}).exploration
    assert (quick.candidates, quick.subtasks, quick.debug_rounds, quick.solution_rounds) == (3, 5, 1, 1)
    assert not quick.tests
    assert not resolve({"exploration": {"tests": False}}, path=path, environ={}).exploration.tests


def test_the_standard_preset_is_the_defaults(tmp_path):
    given = resolve({"exploration": {"preset": "standard"}}, path=tmp_path / "none.toml", environ={})
    assert given == Settings()


@pytest.mark.parametrize(
    "layer",
    [
        {"exploration": {"preset": "slow"}},
        {"exploration": {"preset": ["quick"]}},
        {"exploration": {"candidates": 0}},
        {"exploration": {"candidats": 3}},
        {"budget": {"tokens": "many"}},
    ],
)
def test_a_bad_option_is_named_in_one_sentence(layer, tmp_path):
    with pytest.raises(UsageError) as caught:
        resolve(layer, path=tmp_path / "none.toml", environ={})
    assert next(iter(next(iter(layer.values())))) in str(caught.value)


def test_prices_come_from_the_current_file(file):
    path = file('[prices]\ncurrency = "EUR"\n[prices.models."gpt-x"]\ninput = 1.25\ncached = 0.125\noutput = 10\n')
    found = resolve({"budget": {"cost": 0.5}}, path=path, environ={})
    assert found.prices.models["gpt-x"].cost(1_000_000, 200_000, 100_000) == pytest.approx(1.0 + 0.025 + 1.0)
    assert found.prices.currency == "EUR" and found.budget.cost == 0.5
    recorded = recorded_layer(as_json(found))
    assert "prices" not in recorded and recorded["budget"]["cost"] == 0.5
    assert Settings().prices.models == {}


def test_cached_tokens_cost_the_same_unless_priced(file):
    path = file("[prices.models.m]\ninput = 2\noutput = 8\n")
    assert resolve(path=path, environ={}).prices.models["m"].cost(1_000_000, 900_000, 0) == 2


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("[prices.models.m]\ninput = 1\n", "'prices.models.m.output' is missing"),
        ("[prices.models.m]\ninput = 1\noutput = -1\n", "'prices.models.m.output' must be at least 0"),
        ("[prices.models.m]\ninput = 1\noutput = 1\ncashed = 1\n", "'prices.models.m.cashed'"),
        ('[prices."gpt-x"]\ninput = 1\n', "'prices.gpt-x'"),
    ],
)
def test_a_price_that_cannot_be_read_is_named(file, text, named):
    with pytest.raises(UsageError) as refused:
        resolve(path=file(text), environ={})
    assert named in refused.value.message


def test_a_byte_order_mark_is_ignored(tmp_path, monkeypatch):
    path = tmp_path / "config.toml"
    path.write_text('api_key = "k"\n[endpoint]\nmodel = "m"\n', encoding="utf-8-sig")
    assert resolve(path=path, environ={}).endpoint.model == "m"
    assert read_secrets(path, environ={}).api_key.get_secret_value() == "k"
    monkeypatch.setenv("EXPLORACODER_CONFIG", str(path))
    write_config({"model": "other"}, section="endpoint")
    assert resolve(path=path, environ={}).endpoint.model == "other"


@pytest.mark.parametrize("blank", [" ", "\n", "\t", "\u00a0"])
def test_blanks_around_names_and_addresses_do_not_count(blank):
    environ = {"OPENAI_MODEL": f"{blank}m{blank}", "EXPLORACODER_BASE_URL": f"{blank}http://h.example/v1{blank}"}
    endpoint = resolve(environ=environ).endpoint
    assert (endpoint.model, endpoint.base_url) == ("m", "http://h.example/v1")
    assert resolve({"endpoint": {"model": blank}}, environ={}).endpoint.model is None


def test_a_broken_file_is_one_sentence(file):
    with pytest.raises(UsageError, match="cannot be read"):
        resolve(path=file("[endpoint\n"), environ={})


def test_the_key_never_shows(file):
    path = file('api_key = "sk-file"\n')
    assert read_secrets(path, {}).api_key.get_secret_value() == "sk-file"
    found = read_secrets(path, {"OPENAI_API_KEY": "sk-env"})
    assert found.api_key.get_secret_value() == "sk-env"
    assert "sk-" not in repr(found) + found.model_dump_json() + str(as_json(resolve(path=path, environ={})))


def test_a_named_config_file_must_exist(tmp_path, monkeypatch):
    """Issue 14, item 15: a missing file is an error, not a run with other settings."""
    monkeypatch.setenv("EXPLORACODER_CONFIG", str(tmp_path / "gone.toml"))
    for read in (resolve, read_secrets):
        with pytest.raises(UsageError, match=r"gone\.toml.* EXPLORACODER_CONFIG"):
            read(environ={})
    (tmp_path / "gone.toml").write_text('api_key = "k"\n[exploration]\ncandidates = 2\n')
    assert resolve(environ={}).exploration.candidates == 2


def test_unread_variables_get_a_suggestion():
    """Issue 14, item 15: a misspelt variable is not ignored in silence; those that are read are not named."""
    read = dict.fromkeys(VARIABLES, "x")
    assert unknown_variables(read | {"HOME": "/", "OPENAI_ORG": "x"}) == []
    found = unknown_variables(read | {"EXPLORACODER_API_KEI": "sk-1", "EXPLORACODER_ZZZZZZZZZZZZ": "y"})
    (first, meant), (second, other) = found
    assert "EXPLORACODER_API_KEI" in first and "EXPLORACODER_API_KEY" in meant
    assert "EXPLORACODER_ZZZZZZZZZZZZ" in second and "Did you mean" not in other
    assert "sk-1" not in str(found)


@pytest.mark.parametrize(
    ("text", "named", "meant"),
    [
        ("[endpoint]\nmodle = 'm'\n", "endpoint.modle", "endpoint.model?"),
        ("[endpoint]\ncandidates = 3\n", "endpoint.candidates", "exploration.candidates?"),
        ("[endpiont]\nmodel = 'm'\n", "endpiont", "endpoint?"),
        ("api_kye = 'sk-12345'\n", "api_kye", "api_key?"),
    ],
)
def test_an_unknown_file_setting_gets_a_suggestion(file, text, named, meant):
    """Issue 14, item 15: what the file misspells is named, with the file, and no value is shown."""
    path = file(text)
    with pytest.raises(UsageError) as refused:
        resolve(path=path, environ={})
    assert repr(named) in refused.value.message and str(path) in refused.value.message
    assert meant in refused.value.remedy
    assert "sk-12345" not in str(refused.value)


def test_an_optional_number_is_bounded_too(tmp_path):
    nowhere = tmp_path / "none.toml"
    with pytest.raises(UsageError, match="must be at least 1"):
        resolve({"endpoint": {"max_tokens": 0}}, path=nowhere)
    assert resolve({"endpoint": {"max_tokens": None}}, path=nowhere).endpoint.max_tokens is None

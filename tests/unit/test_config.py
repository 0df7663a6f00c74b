"""Settings: precedence, bad values, secrets."""

import pytest

from exploracoder_jupyter.config import Settings, resolve, secrets
from exploracoder_jupyter.errors import UsageError


@pytest.fixture
def file(tmp_path):
    def write(text):
        path = tmp_path / "config.toml"
        path.write_text(text)
        return path

    return write


def test_flag_beats_config_beats_file_beats_environment_beats_default(file):
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


def test_a_broken_file_is_one_sentence(file):
    with pytest.raises(UsageError, match="cannot be read"):
        resolve(path=file("[endpoint\n"), environ={})


def test_the_key_comes_from_environment_or_file_and_never_shows(file):
    path = file('api_key = "sk-file"\n')
    assert secrets(path, {}).api_key.get_secret_value() == "sk-file"
    found = secrets(path, {"OPENAI_API_KEY": "sk-env"})
    assert found.api_key.get_secret_value() == "sk-env"
    assert "sk-" not in repr(found) + found.model_dump_json() + resolve(path=path, environ={}).model_dump_json()

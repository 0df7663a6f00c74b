"""Files of a project that experiments never see."""

from pathlib import Path

import pytest

from exploracoder_jupyter.core.secrets.credential_files import is_credential_file


@pytest.mark.parametrize(
    "path",
    [
        ".env",
        ".envrc",
        "deep/.env.local",
        ".netrc",
        ".git/config",
        ".git/modules/sub/config",
        ".vault-token",
        ".databrickscfg",
        "app/.s3cfg",
        ".my.cnf",
        ".aws/credentials",
        ".ssh/id_ed25519",
        ".gnupg/private-keys-v1.d/x.key",
        ".kube/config",
        "credentials",
        "credentials.json",
        ".streamlit/secrets.toml",
        "client_secret_1.apps.googleusercontent.com.json",
        "config/api_keys.yaml",
    ],
)
def test_a_file_that_usually_contains_credentials(path):
    assert is_credential_file(Path("/project") / path)


@pytest.mark.parametrize(
    "path",
    [
        "config",
        "docs/config",
        ".git/HEAD",
        "environment.yml",
        "data.csv",
        "secrets.py",
        "passwords.csv",
        "secretary.json",
        "tokenizer.json",
        "keys.json",
        "settings.toml",
    ],
)
def test_code_and_data_stay_visible(path):
    assert not is_credential_file(Path("/project") / path)

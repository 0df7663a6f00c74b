"""Files of a project that experiments never see."""

import json
import os
from pathlib import Path

import pytest

from exploracoder_jupyter.core.secrets.credential_files import contains_credentials, is_credential_file

BODY = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQDB\n"
PRIVATE = f"-----BEGIN {{}}PRIVATE KEY-----\n{BODY}-----END {{}}PRIVATE KEY-----\n"
CERTIFICATE = f"-----BEGIN CERTIFICATE-----\n{BODY}-----END CERTIFICATE-----\n"
PUBLIC = f"-----BEGIN PUBLIC KEY-----\n{BODY}-----END PUBLIC KEY-----\n"


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
        "id_rsa",
        "keys/id_ed25519.old",
        "prod.env",
        "service-account.json",
        "gcp/service_account-1.json",
        "terraform.tfstate",
        "terraform.tfstate.backup",
        "prod.auto.tfvars",
        ".htpasswd",
        ".vault_pass",
        ".dockercfg",
        ".docker/config.json",
        ".Renviron",
        "kube/config",
        "staging.kubeconfig",
        "certs/server.p12",
        "release.jks",
        "passwords.kdbx",
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
        "id_rsa.pub",
        "id_mapping.csv",
        "environment.py",
        "cacert.pem",
        "service_account.py",
        "config/kube.py",
        "states.tf.json",
    ],
)
def test_code_and_data_stay_visible(path):
    assert not is_credential_file(Path("/project") / path)


@pytest.mark.parametrize(
    "name, content",
    {
        "key.pem": PRIVATE.format("RSA ", "RSA "),
        "bundle.pem": CERTIFICATE * 3 + PRIVATE.format("", ""),
        "deploy": PRIVATE.format("OPENSSH ", "OPENSSH "),
        "token.key": "0f8a2b6c4d1e",
        "notes.txt": f"the key:\n{PRIVATE.format('EC ', 'EC ')}",
        "account.json": json.dumps({"type": "service_account", "private_key": PRIVATE.format("", "")}),
        "app.json": json.dumps({"installed": {"client_id": "1", "client_secret": "d-FL95Q19q7MQmFpd7hHD0Ty"}}),
        "user.json": json.dumps({"refresh_token": "1//0dx8mk2rTyVCgYIARAAGA0SN"}),
        "cluster.yaml": "users:\n- user:\n    client-key-data: LS0tLS1CRUdJTiBSU0EgUFJJVkFURSB\n",
        "rclone.conf": "[s3]\nsecret_access_key = wJalrXUtnFEMI7MDENGbPxRfiCYEXAMPLEKEY\n",
        "app.ini": "[db]\nurl = postgres://me:s3cret-word@db.example/main\n",
        "settings.toml": 'openai = "sk-proj-0123456789abcdefghijABCDEFGHIJ"\n',
    }.items(),
)
def test_a_secret_file_is_known_by_its_content(tmp_path, name, content):
    """Issue 31, security 7."""
    (tmp_path / name).write_text(content)
    assert contains_credentials(tmp_path / name)


@pytest.mark.parametrize(
    "name, content",
    {
        "key.pem": PUBLIC,
        "cacert.pem": CERTIFICATE * 200,
        "server.crt": CERTIFICATE,
        "public.key": PUBLIC,
        "read_pem.py": f"HEADER = {PRIVATE.format('', '')!r}",
        "README.md": PRIVATE.format("", ""),
        "site-packages/trustme/key.pem": PRIVATE.format("", ""),
        "schema.json": '{"private_key": {"type": "string"}, "client_secret": "<your secret 123456>"}',
        "app.yaml": "client_secret: ${CLIENT_SECRET_1}\nprimary_key: customer_id_12345\n",
        "points.json": json.dumps([{"key": f"point-{number}", "value": number / 7} for number in range(500)]),
        "vocabulary.txt": "token\nsecret\nprivate key\npassword: none\n",
        "talk.key": "PK" + "x" * 100_000,
    }.items(),
)
def test_certificates_code_and_data_stay_visible(tmp_path, name, content):
    (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / name).write_text(content)
    assert not contains_credentials(tmp_path / name)


def test_a_named_pipe_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "key.pem")
    assert not contains_credentials(tmp_path / "key.pem")

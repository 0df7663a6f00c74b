"""Which environment variables are secrets, and which of their values are replaced everywhere."""

import pytest

from exploracoder_jupyter.core.secrets.secret_names import is_secret_variable, replaceable_values

SECRET = {
    "OPENAI_API_KEY": "k",
    "NUMBA_TOKEN": "t",
    "DB_PWD": "hunter2",
    "SMTP_PASS": "hunter2",
    "SSH_PASSPHRASE": "hunter2",
    "NPM_AUTH": "x",
    "MIRROR": "https://u:p@host/",
    "CACHE": "redis://:hunter2@host/",
    "A": "sk-12345678",
    "B": "AKIAIOSFODNN7EXAMPLE",
    "C": "gsk_abcdefghij0123456789",
    "D": "user=me key=ghp_abcdefghijklmnopqrstuvwxyz",
    "E": "https://hooks.slack.com/services/T0abcdef/B0abcdef/sl4ckh00ksl4ckh00k",
    "F": "-----BEGIN OpenVPN Static key V1-----",
}


@pytest.mark.parametrize("name", SECRET)
def test_a_variable_is_secret_by_name_or_value(name):
    assert is_secret_variable(name, SECRET[name])


@pytest.mark.parametrize(
    ("name", "value"),
    {
        "TOKENIZERS_PARALLELISM": "false",
        "GIT_AUTHOR_NAME": "Maria Chen",
        "PWD": "/home/me",
        "OLDPWD": "/home/me",
        "BYPASS": "1",
        "PIP_INDEX_URL": "https://user@host/simple",
    }.items(),
)
def test_others_are_not(name, value):
    assert not is_secret_variable(name, value)


@pytest.mark.parametrize(
    ("name", "value", "replaced"),
    [
        ("SSH_PASSPHRASE", "correct-horse-42", ["correct-horse-42"]),
        ("DB_PWD", "correct-horse-42", ["correct-horse-42"]),
        ("NPM_AUTH", "correct-horse-42", ["correct-horse-42"]),
        ("SESSION_COOKIE", "correct-horse-42", ["correct-horse-42"]),
        ("SECRET_KEY_BASE", "correct-horse-42", ["correct-horse-42"]),
        ("HARMLESS", "sk-12345678x", ["sk-12345678x"]),
        ("DATABASE_URL", "postgres://me:correct-h0rse@db/x", ["postgres://me:correct-h0rse@db/x", "correct-h0rse"]),
        ("CACHE", "use redis://:correct%2Dh0rse@db now", ["correct%2Dh0rse", "correct-h0rse"]),
        ("LOCAL_URL", "postgres://postgres:postgres@localhost/x", []),
        ("SSH_AUTH_SOCK", "/tmp/ssh-XXXX42/agent.1", []),
        ("JPY_SESSION_NAME", "work/analysis-2024.ipynb", []),
        ("SOME_KEY", "documentation", []),
        ("HARMLESS", "correct-horse-42", []),
    ],
)
def test_only_unordinary_values_are_replaced(name, value, replaced):
    assert list(replaceable_values({name: value})) == replaced

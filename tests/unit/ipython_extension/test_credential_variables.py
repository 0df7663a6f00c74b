"""Variables that look like credentials, which experiments in a fork could print."""

import pytest

from exploracoder_jupyter.ipython_extension.running.credential_variables import find_credential_variables


class Rude:
    """Fails on whatever is asked of it."""

    def __getattribute__(self, name):
        raise AssertionError(name)

    __class__ = property(lambda self: AssertionError)
    __eq__ = __hash__ = __bool__ = __len__ = __repr__ = lambda *_: 1 / 0


@pytest.mark.parametrize(
    "name, value",
    {
        "OPENAI_API_KEY": "abcdefghijklmnop",
        "hfToken": "abcdefghijklmnop",
        "client_secret": b"abcdefghijklmnop",
        "db_password": "hunter2",
        "x": "sk-proj-abcdefghijklmnopqrst",
        "url": "postgresql://me:hunter2@db/x",
        "pem": "-----BEGIN RSA PRIVATE KEY-----\nabc",
        "config": {"api_key": "abcdefghijklmnop"},
        "headers": {"Authorization": "Bearer ghp_abcdefghijklmnopqrstuvwxyz"},
        "any_headers": {"X": "Bearer abcdef0123456789abcdef"},
        "PGPASSWORD": "hunter2",
        "dbpassword": "hunter2",
        "authorization": "abcdef0123456789",
        "_token": "abcdefghijklmnop",
        "groq": "gsk_abcdefghij0123456789",
        "stripe": "sk_live_4eC39HqLyjWDarjtT1zdp7dc",
        "upload": "pypi-AgEIcHlwaS5vcmcCJDEyMzQ1Njc4LTEyMzQtMTIzNA",
        "npm": "npm_" + "a1B2" * 9,
        "hook": "https://hooks.slack.com/services/T0abcdef/B0abcdef/sl4ckh00ksl4ckh00k",
        "storage": "AccountName=x;AccountKey=" + "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1" * 2 + "==;",
        "remote": "https://0123456789abcdef0123@git.example/x.git",
    }.items(),
)
def test_what_looks_like_a_credential(name, value):
    assert find_credential_variables({"a": 1, name: value, "b": "text"}) == [name]


@pytest.mark.parametrize(
    "name, value",
    {
        "tokenizer": "abcdefghijklmnop",
        "tokens": "abcdefghijklmnop",
        "keyboard": "abcdefghijklmnop",
        "keys": "abcdefghijklmnop",
        "pad_token": "abcdefghijklmnop",
        "token": "short",
        "password_file": "/etc/passwd-file-name",
        "token_path": "abcdefghijklmnop",
        "api_key": None,
        "primary_key": "customer_identifier",
        "password": "",
        "text": "the password: is a secret, and so is the api_key",
        "link": "https://example.org:8080/a@b",
        "_i3": "key = 'sk-proj-abcdefghijklmnopqrst'",
        "by_id": {1: 2, "token": 3},
        "__": "sk-proj-abcdefghijklmnopqrst",
        "_12": "sk-proj-abcdefghijklmnopqrst",
        "low_pass": "butterworth-filter",
        "git": "ssh://git@github.com/me/x.git",
    }.items(),
)
def test_what_does_not(name, value):
    assert find_credential_variables({name: value}) == []


def test_other_values_are_not_touched_for_credentials():
    assert find_credential_variables({"secret": Rude(), "keys": {"secret": Rude(), 1: Rude()}}) == []

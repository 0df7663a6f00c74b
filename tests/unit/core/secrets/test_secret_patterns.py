"""Formats of secrets in text and addresses, in one place for variables, traces, queries and messages."""

from urllib.parse import urlsplit

import pytest

from exploracoder_jupyter.core.secrets.secret_patterns import (
    has_user_info,
    looks_like_key,
    mask_address,
    redact_patterns,
    replace_user_info,
)
from tests.unit.trace.test_redaction import OF_PERSON, OF_RUN, PLANTED


@pytest.mark.parametrize("text", [PLANTED[name] for name in PLANTED if name not in {*OF_RUN, *OF_PERSON}])
def test_what_is_redacted_marks_variables_as_secret(text):
    assert redact_patterns(text) != text
    assert looks_like_key(text)


@pytest.mark.parametrize(
    "text",
    [
        "postgres://{user}:{password}@host/x",
        "postgres://$USER:$PASSWORD@host/x",
        "postgres://$USER:${PASSWORD}@host/x",
        "https://***:***@host/x",
        "ssh://git@github.com/me/x.git",
        "http://localhost:8888/lab?mail=a@b.example",
        "https://example.org:8080/a@b",
    ],
)
def test_addresses_without_a_secret_stay(text):
    assert redact_patterns(text) == text


def test_an_address_is_shown_without_its_user():
    text = "see https://me:p@ss@host/v1?a=b@c and //tok@x"
    assert replace_user_info(text) == "see https://host/v1?a=b@c and //x"
    assert mask_address("https://me:pw@host/v1?key=abc&q={query}") == "https://***@host/v1?key=***&q={query}"
    assert mask_address("a?b=c") == "a?b=c"


@pytest.mark.parametrize(
    ("url", "has"), [("http://a@h", True), ("http://:b@h", True), ("http://@h", True), ("http://h/@", False)]
)
def test_user_info_in_an_address(url, has):
    assert has_user_info(urlsplit(url)) is has

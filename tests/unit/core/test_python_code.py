"""Parsing code that may be invalid: what it returns, and that the process keeps its own warnings."""

import threading
import warnings

import pytest

from exploracoder_jupyter.core.python_code import parse_python, parse_valid_python


@pytest.mark.parametrize("code", ["def f(:", "\0", "(" * 500, "'" + "\ud800"])
def test_invalid_code_is_an_empty_module(code):
    assert parse_python(code).body == []
    assert parse_valid_python(code) is None


def test_valid_code_warns_nobody_and_keeps_filters():
    before, long = list(warnings.filters), "x = '\\d'\n" * 5_000
    parsing = threading.Thread(target=lambda: [parse_python(long) for _ in range(5)])
    parsing.start()
    while parsing.is_alive():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            sum(range(50_000))
    assert list(warnings.filters) == before
    assert len(parse_python(long).body) == 5_000

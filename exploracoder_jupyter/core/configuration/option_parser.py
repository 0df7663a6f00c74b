"""Parses the options of commands and magics; a wrong one raises one plain sentence with a suggestion.

Keep imports light: `%load_ext` imports this module.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator
from typing import Any, NoReturn

from exploracoder_jupyter.core.errors import UsageError
from exploracoder_jupyter.core.message_formatting import did_you_mean

_CHOICE = re.compile(r"invalid choice: '(?P<unknown>.*)' \(choose from (?P<known>.*)\)$", re.DOTALL)
_EXPECTED = re.compile(r"takes (?P<known>.*), not '(?P<unknown>.*)'$", re.DOTALL)
_UNRECOGNIZED = "unrecognized arguments: "
_REPHRASED = {"expected one argument": "needs a value", "expected at least one argument": "needs at least one value"}
_INVALID_NUMBER = re.compile(r"invalid (int|float) value: ('.*')$", re.DOTALL)
_NUMBERS = {"int": "a whole number", "float": "a number"}


class OptionParser(argparse.ArgumentParser):
    """An argument parser without abbreviations whose errors are UsageErrors with one plain sentence."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **{"allow_abbrev": False, **kwargs})

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse as argparse does; with `--repo` the flag `--tests` may have a value, which selects the tests."""
        given = sys.argv[1:] if args is None else list(args)
        return super().parse_known_args(_with_test_selector(given), namespace)

    def error(self, message: str) -> NoReturn:
        """Raise argparse's message as a UsageError, with a suggestion for a misspelled word."""
        unknown, known = self._unknown(message)
        subject = "commands" if self._subparsers else "options"
        see = f"See `{self.prog}{'?' if self.prog.startswith('%') else ' --help'}` for the {subject}."
        raise UsageError(_to_sentence(message), remedy=f"{did_you_mean(unknown, known)}{see}")

    def _unknown(self, message: str) -> tuple[str, list[str]]:
        """Return the unknown word in argparse's message, and the words that are allowed in its place."""
        if choice := _CHOICE.search(message):
            return choice["unknown"], re.findall(r"[\w.-]+", choice["known"])
        if taken := _EXPECTED.search(message):
            return taken["unknown"], taken["known"].split(", ")
        flags = [flag for action in self._actions for flag in action.option_strings if flag.startswith("--")]
        return next(_unrecognized_options(message), ""), flags


def positive(text: str) -> int:
    """Parse the value of an option that takes a whole number from 1."""
    if text.isdecimal() and int(text) > 0:
        return int(text)
    raise argparse.ArgumentTypeError(f"takes a whole number of at least 1, not {text!r}")


def _with_test_selector(words: list[str]) -> list[str]:
    """Return the arguments with `--test-selector` in place of a `--tests` that has a value, if there is a `--repo`."""
    if not any(word == "--repo" or word.startswith("--repo=") for word in words):
        return words
    following = [*words[1:], "-"]
    return [
        f"--test-selector{word[len('--tests') :]}"
        if word.startswith("--tests=") or (word == "--tests" and not after.startswith("-"))
        else word
        for word, after in zip(words, following, strict=True)
    ]


def _to_sentence(message: str) -> str:
    if choice := _CHOICE.search(message):
        if message.startswith("argument COMMAND"):
            return f"There is no command {choice['unknown']!r}."
        known = choice["known"].replace("'", "")
        message = f"{message[: choice.start()]}takes {known}, not {choice['unknown']!r}"
    if message.startswith(_UNRECOGNIZED):
        flag = next(_unrecognized_options(message), "")
        return f"There is no option {flag}." if flag else f"Unexpected argument: {message.removeprefix(_UNRECOGNIZED)}."
    message = _INVALID_NUMBER.sub(lambda bad: f"takes {_NUMBERS[bad[1]]}, not {bad[2]}", message)
    sentence = re.sub(r"^argument (\S+?)(/\S+)?: ", r"\1 ", message)
    for old, new in _REPHRASED.items():
        sentence = sentence.replace(old, new)
    return f"{sentence[:1].upper()}{sentence[1:]}."


def _unrecognized_options(message: str) -> Iterator[str]:
    words = message.removeprefix(_UNRECOGNIZED).split() if message.startswith(_UNRECOGNIZED) else []
    yield from (word.partition("=")[0] for word in words if word.startswith("-"))

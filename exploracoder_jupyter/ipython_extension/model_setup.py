"""`%explora setup`: runs `jupyter explora setup` in a process, and lets the user choose a model in the notebook.

The process reads the key itself; this kernel never has it.
"""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable
from typing import Any, NamedTuple

from IPython.core.error import StdinNotImplementedError

from exploracoder_jupyter.core.configuration.options import OptionParser
from exploracoder_jupyter.core.configuration.sources import Layer, config_path, resolve
from exploracoder_jupyter.core.errors import UsageError
from exploracoder_jupyter.core.platforms import system
from exploracoder_jupyter.ipython_extension.running.engine import run_command

_CHOOSE = "Choose one with %explora setup --model NAME."
_OPTIONS = ("base_url", "model")


class _Choice(NamedTuple):
    base_url: str | None
    """None if the settings have the address, and it contains a secret."""
    url: str
    model: str


def set_up_model(line: str, configured: Layer, *, write: Callable[[str], None]) -> str:
    """Find the language models that can be used, let the user choose one, and configure it. Returns what was done.

    `line` has the options of `%explora setup`, `configured` is what `%config` has set, `write` displays a line.
    """
    given = _parse(line)
    python = resolve(configured, path=config_path()).sandbox.engine_python
    options = [f"--{name.replace('_', '-')}={value}" for name in _OPTIONS if (value := getattr(given, name))]
    answer = run_command("setup", *options, *(["--yes"] if given.yes else []), python=python)
    if not answer["written"]:
        choice = _choose(answer, write)
        write(f"Trying {choice.model} at {choice.url} ...")
        where = [f"--base-url={choice.base_url}"] if choice.base_url else []
        answer = run_command("setup", *where, f"--model={choice.model}", python=python)
    written = answer["written"]
    return f"{written['model']} answered in {written['seconds']:.1f} s and is now configured in {written['path']}."


def _parse(line: str) -> Namespace:
    parser = OptionParser(prog="%explora", add_help=False)
    parser.add_argument("--base-url")
    parser.add_argument("--model")
    parser.add_argument("--yes", action="store_true")
    try:
        return parser.parse_args(system.split_words(line))
    except ValueError as error:
        raise UsageError("The %explora setup line cannot be read.", remedy="Close every quote.") from error


def _choose(answer: dict[str, Any], write: Callable[[str], None]) -> _Choice:
    found = answer["endpoints"]
    choices = [_Choice(one["base_url"], one["url"], model) for one in found for model in one["models"]]
    if not choices:
        what = " ".join(one["status"] for one in found) or "No language model was found."
        raise UsageError(what, remedy=answer["remedy"])
    write("\n".join(f"{number:>3}  {one.model}  ({one.url})" for number, one in enumerate(choices, 1)))
    try:
        number = input(f"Which one? [1-{len(choices)}, Enter for 1] ").strip() or "1"
    except (StdinNotImplementedError, EOFError, KeyboardInterrupt):
        number = ""
    if not (number.isdecimal() and 1 <= int(number) <= len(choices)):
        raise UsageError("No model was chosen; nothing was changed.", remedy=_CHOOSE)
    return choices[int(number) - 1]

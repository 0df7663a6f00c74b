"""`%explora setup`: runs `jupyter explora setup` in a process, and lets the user choose a model in the notebook.

The process reads the key itself; this kernel never has it.
"""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from argparse import Namespace
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from exploracoder_jupyter.core.configuration.option_parser import OptionParser
from exploracoder_jupyter.core.configuration.settings_sources import Layer, config_path, resolve
from exploracoder_jupyter.core.errors import ExploraError, MissingRequirement, UsageError

_CHOOSE = "Choose one with %explora setup --model NAME."
_OPTIONS = ("base_url", "model")


class _Choice(NamedTuple):
    base_url: str | None
    """None if the settings have the address, and it contains a secret."""
    url: str
    model: str


def set_up_model(line: str, configured: Layer, *, write: Callable[[str], None]) -> str:
    """Find the language models that can be used, let the user choose one, and configure it. Returns what was done.

    Args:
        line: the options of `%explora setup`.
        configured: what `%config` has set.
        write: displays a line.

    Raises:
        ExploraError: no model can be used, none was chosen, or the one chosen does not answer.
    """
    given = _parse(line)
    python = resolve(configured, path=config_path()).sandbox.engine_python or sys.executable
    options = [f"--{name.replace('_', '-')}={value}" for name in _OPTIONS if (value := getattr(given, name))]
    answer = run_setup(python, [*options, *(["--yes"] if given.yes else [])])
    if not answer["written"]:
        choice = _choose(answer, write)
        write(f"Trying {choice.model} at {choice.url} ...")
        where = [f"--base-url={choice.base_url}"] if choice.base_url else []
        answer = run_setup(python, [*where, f"--model={choice.model}"])
    written = answer["written"]
    return f"{written['model']} answered in {written['seconds']:.1f} s and is now configured in {written['path']}."


def _parse(line: str) -> Namespace:
    parser = OptionParser(prog="%explora", add_help=False)
    parser.add_argument("--base-url")
    parser.add_argument("--model")
    parser.add_argument("--yes", action="store_true")
    try:
        return parser.parse_args(shlex.split(line))
    except ValueError as error:
        raise UsageError("The %explora setup line cannot be read.", remedy="Close every quote.") from error


def run_setup(python: str, options: Sequence[str], *, environ: Mapping[str, str] | None = None) -> dict[str, Any]:
    """Run `jupyter explora setup` and return its answer.

    Args:
        python: the interpreter.
        options: of the command.
        environ: the environment of the process; None: this one's.

    Raises:
        ExploraError: it failed, or reports an error.
    """
    # `-P`: a file in the user's folder must not shadow one of our modules.
    command = (python, "-P", "-m", "exploracoder_jupyter.cli", "setup", "--json", *options)
    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, env=environ
        )
        answer: dict[str, Any] = json.loads(done.stdout)
    except OSError as error:
        raise MissingRequirement(f"{python!r} cannot be started: {error.strerror}.") from error
    except ValueError as error:
        raise ExploraError(f"The setup ended without an answer: {done.stderr.strip()[-300:]}") from error
    except KeyboardInterrupt:
        raise UsageError("The setup was stopped; nothing was changed.") from None
    if "error" in answer:
        raise UsageError(answer["error"], remedy=answer["remedy"])
    return answer


def _choose(answer: dict[str, Any], write: Callable[[str], None]) -> _Choice:
    """List the models and ask for the number of one.

    Raises:
        UsageError: there is none, or none was chosen.
    """
    found = answer["endpoints"]
    choices = [_Choice(one["base_url"], one["url"], model) for one in found for model in one["models"]]
    if not choices:
        what = " ".join(one["status"] for one in found) or "No language model was found."
        raise UsageError(what, remedy=answer["remedy"])
    write("\n".join(f"{number:>3}  {one.model}  ({one.url})" for number, one in enumerate(choices, 1)))
    number = _ask(f"Which one? [1-{len(choices)}, Enter for 1] ").strip() or "1"
    if not (number.isdecimal() and 1 <= int(number) <= len(choices)):
        raise UsageError("No model was chosen; nothing was changed.", remedy=_CHOOSE)
    return choices[int(number) - 1]


def _ask(prompt: str) -> str:
    from IPython.core.error import StdinNotImplementedError

    try:
        return input(prompt)
    except (StdinNotImplementedError, EOFError, KeyboardInterrupt):
        raise UsageError("No model was chosen; nothing was changed.", remedy=_CHOOSE) from None

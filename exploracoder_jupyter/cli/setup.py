"""`jupyter explora setup`: finds the language models that can be used here, tries one, and writes the config file.

A key is never written: it stays in the environment, or where the config file already has it. Exit status: 0 if a model
was configured; 1 if none was found, or none was chosen.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from exploracoder_jupyter.cli.output import print_json, print_note, print_result
from exploracoder_jupyter.core.configuration.providers import KEY_VARIABLES, PROVIDERS, names, preset_url
from exploracoder_jupyter.core.errors import UsageError
from exploracoder_jupyter.core.messages import did_you_mean

if TYPE_CHECKING:
    from pathlib import Path

    from pydantic import JsonValue

    from exploracoder_jupyter.core.configuration.sections import Endpoint
    from exploracoder_jupyter.core.configuration.sources import Secrets, Value
    from exploracoder_jupyter.llm.endpoint.discovery import FoundEndpoint

_MAX_LISTED = 15
"""Models that are listed of one endpoint."""
_NOTHING = (
    "No language model was found: on this machine neither Ollama, LM Studio, vLLM nor llama.cpp lists one at its usual "
    "port (11434, 1234, 8000, 8080); no other address is configured, and no key of a provider is set."
)
_CHOOSE = "Choose a model with --model NAME; --yes takes the first one on this machine."
_START_ONE = (
    "Start one of them with a model, for example with `ollama pull qwen3-coder`; or name another address with "
    "--base-url; or set the key of a provider, such as OPENAI_API_KEY or ANTHROPIC_API_KEY. Then repeat this command."
)


class _Choice(NamedTuple):
    endpoint: FoundEndpoint
    model: str


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "--base-url", metavar="URL", help=f"look only here: {', '.join(names())}, or a URL ending in /v1"
    )
    parser.add_argument("--model", metavar="M", help="configure this model")
    parser.add_argument(
        "--yes", action="store_true", help="configure the first model that is found on this machine, without a question"
    )
    parser.add_argument("--dry-run", action="store_true", help="only try the model; write nothing")


def execute(arguments: argparse.Namespace) -> int:
    """Find models, choose one, try it, and write it to the config file. Returns the exit status."""
    import anyio

    from exploracoder_jupyter.core.configuration.sources import Layer, config_path, read_secrets, resolve
    from exploracoder_jupyter.llm.endpoint.connection import PRESETS
    from exploracoder_jupyter.llm.endpoint.discovery import find_endpoints

    layers: list[Layer] = [{"endpoint": {"base_url": arguments.base_url}}] if arguments.base_url else []
    path = config_path()  # given, because the file that EXPLORACODER_CONFIG names need not exist yet
    configured = resolve(*layers, path=path).endpoint
    secrets = read_secrets(path, base_url=configured.base_url)
    presets: Mapping[str, str] = {} if arguments.base_url else PRESETS
    hosted = {} if arguments.base_url else _hosted(path)
    found = anyio.run(find_endpoints, configured, secrets, presets, hosted)
    choices = [_Choice(endpoint, model) for endpoint in found for model in endpoint.models[:_MAX_LISTED]]
    if not arguments.json:
        print_result(_format_found(found, choices))
    choice = _choose(arguments, found, choices)
    tried = _try(arguments, choice, configured) if choice else None
    written = _write(arguments, choice, tried, configured) if choice and tried and not arguments.dry_run else None
    remedy = "" if tried else _CHOOSE if choices else next((one.probe.remedy for one in found), "") or _START_ONE
    if arguments.json:
        endpoints: list[JsonValue] = [_as_json(endpoint) for endpoint in found]
        print_json({"endpoints": endpoints, "tried": tried, "written": written, "remedy": remedy})
    elif remedy:
        print_note(remedy)
    return 0 if tried else 1


def _hosted(path: Path) -> dict[str, Secrets]:
    """Return the providers whose key is in the environment.

    OpenAI's may be that of any other endpoint. A key of this package's own variable belongs to the configured endpoint.
    """
    from exploracoder_jupyter.core.configuration.sources import read_secrets

    if os.environ.get(KEY_VARIABLES[0]):
        return {}
    offered = {
        _with_word(name, known.word): known.key_variable for name, known in PROVIDERS.items() if name != "openai"
    }
    return {name: read_secrets(path, base_url=name) for name, key in offered.items() if name and os.environ.get(key)}


def _with_word(name: str, word: str) -> str:
    """Return what `base_url` is for this provider; empty if the environment does not say which resource or region."""
    if not word:
        return name
    resource = re.match(r"https://([\w-]+)\.openai\.azure\.com\b", os.environ.get("AZURE_OPENAI_ENDPOINT", ""))
    region = os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION") or ""
    found = region if word == "REGION" else resource[1] if resource else ""
    return f"{name}:{found}" if preset_url(f"{name}:{found}") else ""


def _choose(
    arguments: argparse.Namespace, found: Sequence[FoundEndpoint], choices: Sequence[_Choice]
) -> _Choice | None:
    if arguments.model:
        return _named(arguments.model, found)
    if arguments.yes and choices:
        local = [choice for choice in choices if choice.endpoint.probe.local]
        if not local and len(choices) > 1:  # elsewhere the choice costs money
            raise UsageError(
                "Several models were found, none of them on this machine.", remedy="Name one with --model."
            )
        return (local or choices)[0]
    can_ask = sys.stdin.isatty() and sys.stderr.isatty() and not arguments.json
    return _ask(choices) if choices and can_ask else None


def _named(model: str, found: Sequence[FoundEndpoint]) -> _Choice:
    """Return the choice of this model: where it is listed, else at an endpoint that answers and lists none."""
    names = (model, f"{model}:latest")
    listed = [_Choice(one, name) for one in found for name in one.probe.models if name in names]
    unlisted = [_Choice(one, model) for one in found if one.probe.reachable and not one.probe.models]
    if choice := next(iter(listed or unlisted), None):
        return choice
    if known := [name for one in found for name in one.models]:
        meant = did_you_mean(model, known)
        raise UsageError(f"No model {model!r} was found.", remedy=f"{meant}Without --model, all are listed.")
    fault = next((one.probe for one in found if one.probe.remedy), None)
    raise UsageError(fault.sentence if fault else _NOTHING, remedy=fault.remedy if fault else _START_ONE)


def _ask(choices: Sequence[_Choice]) -> _Choice | None:
    while True:
        sys.stderr.write(f"Which one? [1-{len(choices)}, Enter for 1, q for none] ")
        sys.stderr.flush()
        answer = sys.stdin.readline()
        if not answer or answer.strip().lower() in ("q", "n", "no", "none"):
            return None
        number = answer.strip() or "1"
        if number.isdecimal() and 1 <= int(number) <= len(choices):
            return choices[int(number) - 1]


def _try(arguments: argparse.Namespace, choice: _Choice, configured: Endpoint) -> dict[str, JsonValue]:
    from dataclasses import replace

    import anyio

    from exploracoder_jupyter.llm.endpoint.discovery import try_model

    found, model = choice
    if found.has_secret_address and arguments.base_url and not arguments.dry_run:
        raise UsageError(
            "The address contains a password or a query, which is not written to a file.",
            remedy="Set it as EXPLORACODER_BASE_URL in the environment, and omit --base-url.",
        )
    print_note(f"Trying {model} at {found.url} ...")
    if found.base_url != configured.base_url:  # headers may hold a key of the configured endpoint
        configured = replace(configured, headers={}, extra_body={})
    endpoint = replace(configured, base_url=found.base_url, model=model)
    seconds = anyio.run(try_model, endpoint, found.secrets)
    if arguments.dry_run and not arguments.json:
        print_result(f"{model} answered in {seconds:.1f} s.")
    return {"url": found.url, "model": model, "seconds": round(seconds, 3)}


def _write(
    arguments: argparse.Namespace, choice: _Choice, tried: Mapping[str, JsonValue], configured: Endpoint
) -> dict[str, JsonValue]:
    from exploracoder_jupyter.core.configuration.sources import write_config

    found, model = choice
    values: dict[str, Value] = (
        {"model": model} if found.has_secret_address else {"base_url": found.base_url, "model": model}
    )
    left = [name for name in ("headers", "extra_body") if getattr(configured, name)]
    if found.base_url != configured.base_url and left:  # a key in a header is that of one endpoint
        values |= dict.fromkeys(left)
        print_note(f"{' and '.join(left)} of {configured.base_url or 'OpenAI'} are removed from the config file.")
    path = write_config(values, section="endpoint")
    if not arguments.json:
        print_result(f"{model} answered in {tried['seconds']:.1f} s and is now configured in {path}.")
        print_note("Explore with it: `jupyter explora run`, or a cell `%%explora LIBRARY` in a notebook.")
    return {"path": str(path), **tried}


def _format_found(found: Sequence[FoundEndpoint], choices: Sequence[_Choice]) -> str:
    numbers = {choice: number for number, choice in enumerate(choices, 1)}
    lines: list[str] = []
    for one in found:
        where = "on this machine" if one.probe.local else "tasks and outputs are sent there"
        lines.append(f"{one.url} ({where})" if one.models else one.probe.sentence)
        lines += [f"  {numbers[_Choice(one, name)]:>2}  {name}" for name in one.models[:_MAX_LISTED]]
        if (more := len(one.models) - _MAX_LISTED) > 0:
            lines.append(f"      and {more} more, which --model can name")
    return "\n".join(lines) or _NOTHING


def _as_json(found: FoundEndpoint) -> dict[str, JsonValue]:
    return {
        "base_url": None if found.has_secret_address else found.base_url,
        "url": found.url,
        "local": found.probe.local,
        "models": list(found.models),
        "status": found.probe.sentence,
        "remedy": found.probe.remedy,
    }

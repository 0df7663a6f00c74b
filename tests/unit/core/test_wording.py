"""Nouns by their number, suggestions for what was misspelt, and advice that fits the front end."""

import asyncio

import pytest

from exploracoder_jupyter.cli import main
from exploracoder_jupyter.core.configuration.settings import Settings
from exploracoder_jupyter.core.configuration.sources import Secrets
from exploracoder_jupyter.core.errors import UsageError
from exploracoder_jupyter.core.messages import choose_wording, did_you_mean, plural, terminal_wording
from exploracoder_jupyter.core.run_state import RunState
from exploracoder_jupyter.core.run_state.run_wording import describe_usage
from exploracoder_jupyter.core.types import Usage
from exploracoder_jupyter.ipython_extension.magic_line import parse_magic_line
from exploracoder_jupyter.llm.endpoint.faults import key_remedy
from exploracoder_jupyter.runs.factories import model_notices
from tests.unit.factories import started


@pytest.mark.parametrize(
    ("count", "text"),
    [(0, "0 APIs"), (1, "1 API"), (2, "2 APIs"), (1234, "1,234 APIs"), (1.0, "1 API"), (0.5, "0.5 APIs")],
)
def test_a_noun_agrees_with_its_count(count, text):
    """Issue 14, item 18: `1 API`, not `1 APIs`."""
    assert plural(count, "API") == text


def test_the_nearest_name_is_suggested_or_none():
    """Issue 14, item 18: whatever its case; nothing that is far away."""
    assert did_you_mean("serach", ["search", "status"]) == "Did you mean search? "
    assert did_you_mean("MODLE", ["model"]) == "Did you mean model? "
    assert did_you_mean("xyz", ["search", "status"]) == did_you_mean("", ["search"]) == ""


@pytest.mark.parametrize(
    ("line", "meant"),
    [
        ("serach networkx path", "search"),
        ("run --libary networkx -t x", "--library"),
        ("run --libary=networkx -t x", "--library"),
        ("run --library networkx -t x --preset quik", "quick"),
        ("check a.ipynb --selcted", "--selected"),
        ("replay a.ipynb --delay recoded", "recorded"),
        ("export a.ipynb --to scirpt", "script"),
        ("history --jsn", "--json"),
    ],
)
def test_a_misspelt_command_or_option_gets_a_suggestion(line, meant, capsys):
    """Issue 14, item 18: for every command, not for the options of `run` alone."""
    assert main(line.split()) == 2
    assert f"Did you mean {meant}?" in capsys.readouterr().err


@pytest.mark.parametrize("line", ["run --check", "run -t x --library networkx --candidates many", "search networkx"])
def test_what_is_spelt_right_is_not_suggested(line, capsys):
    """Issue 14, item 18: a value that is missing or bad is no misspelt option."""
    assert main(line.split()) == 2
    assert "Did you mean" not in capsys.readouterr().err


@pytest.mark.parametrize(
    ("line", "meant"), [("networkx --presett quick", "--preset"), ("networkx --show selcted", "selected")]
)
def test_a_misspelt_magic_option_gets_a_suggestion(line, meant):
    """Issue 14, item 18: in a notebook as well."""
    with pytest.raises(UsageError) as refused:
        parse_magic_line(line)
    assert f"Did you mean {meant}?" in refused.value.remedy and "%%explora?" in refused.value.remedy


def test_the_command_alone_shows_its_help(capsys):
    """Issue 14, item 18: with all commands, and exit status 0."""
    assert main([]) == 0
    shown = capsys.readouterr().out
    assert all(f"\n    {name} " in shown for name in ("run", "check", "search", "doctor", "export"))


def test_advice_names_what_the_front_end_has():
    """Issue 14, item 18: no magic at a terminal, and there only while its command runs."""
    offline, keys = Settings(), Secrets()
    assert "%explora setup" in model_notices(offline, keys)[0].text and "%explora config key" in key_remedy()
    with terminal_wording():
        assert "%" not in model_notices(offline, keys)[0].text + key_remedy() and "EXPLORACODER_" in key_remedy()
        assert asyncio.run(_asked()) == "terminal"
    assert choose_wording(terminal="terminal", notebook="notebook") == "notebook"


async def _asked():
    return await asyncio.to_thread(choose_wording, terminal="terminal", notebook="notebook")


def test_the_offline_model_makes_no_model_calls():
    """Issue 14, item 18: it is no language model, so what it is asked is not counted as that."""
    usage = Usage(calls=5, executions=1)
    assert describe_usage(RunState(started=started(model="offline"), spent=usage)) == "1 execution"
    assert describe_usage(RunState(started=started(model="toy"), spent=usage)) == "5 model calls, 0 tokens, 1 execution"

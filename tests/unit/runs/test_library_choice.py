"""The library of a task that names none: a model's choice, or the package that is clearly ahead."""

import json

import pytest

from exploracoder_jupyter.core.errors import UsageError
from exploracoder_jupyter.llm.scripted_model import ScriptedModel
from exploracoder_jupyter.runs.library_choice import choose_library
from tests.unit.knowledge.test_environment_search import GRAPHS, IMAGES, install

TASK = "Compute the average colour of a picture."


@pytest.fixture
def choose(tmp_path, config):
    """Choose a library in an environment of two packages, or with others."""
    config.parent.mkdir()
    config.write_text("")
    site = tmp_path / "site"
    install(site, "paintkit", IMAGES, summary="Work with pictures")
    install(site, "routes", GRAPHS, summary="Paths in graphs")
    python = tmp_path / "python"
    python.write_text(f"#!/bin/sh\necho '{json.dumps([[str(site)], '/lib'])}'\n")
    python.chmod(0o755)

    def call(task=TASK, model=None, **others):
        for name, summary in others.items():
            install(site, name, {f"{name}.py": f"def make():\n    '''{summary}'''\n"}, summary=summary)
        layers = [{"sandbox": {"python": str(python)}}]
        return choose_library(task, layers=layers, cache=tmp_path / "cache", model=model)

    return call


def test_the_package_clearly_ahead_is_taken(choose):
    choice = choose()
    assert (choice.module, choice.name, choice.version) == ("paintkit", "paintkit", "1.0")
    assert "paintkit 1.0" in choice.sentence


def test_two_equal_packages_leave_it_to_the_user(choose):
    with pytest.raises(UsageError) as raised:
        choose("cook a soup", potone="Cook a soup.", pottwo="Cook a soup.")
    assert "potone" in str(raised.value)
    assert "pottwo" in str(raised.value)


def test_a_task_that_nothing_fits_is_refused(choose):
    with pytest.raises(UsageError):
        choose("qwxzv")


@pytest.mark.parametrize(
    "reply",
    [
        '{"package": "pottwo", "why": "It is larger."}',
        'Sure!\n```json\n{"package": "PotTwo"}\n```',
        "<think>potone or pottwo?</think>I would use `pottwo` here.",
        '{"package": "pottwo", "why": ',
    ],
)
def test_a_model_chooses_among_the_best(choose, reply):
    model = ScriptedModel([reply])
    choice = choose("cook a soup", model, potone="Cook a soup.", pottwo="Cook a soup.")
    assert choice.module == "pottwo"
    assert "potone" in choice.others
    assert len(model.requests) == 1
    assert "Cook a soup." in model.requests[0].messages[0].content


@pytest.mark.parametrize("reply", ["none of these", '{"package": "numpy"}', "{}", '["paintkit"'])
def test_a_reply_without_package_counts_as_none(choose, reply):
    choice = choose(model=ScriptedModel([reply]))
    assert choice.module == "paintkit"  # clearly ahead


def test_packages_elsewhere_are_not_searched(config):
    config.parent.mkdir()
    config.write_text("")
    with pytest.raises(UsageError):
        choose_library(TASK, layers=[{"sandbox": {"kernel": "julia"}}])

"""What a kernel reports about itself for a task: which variables the task mentions, whether it will be forked."""

import collections
import subprocess
from statistics import median

import pytest

from exploracoder_jupyter.core.configuration.sandbox_settings import Sandbox
from exploracoder_jupyter.ipython_extension.mentioned_variables import find_mentioned, find_replaced
from exploracoder_jupyter.ipython_extension.running import fork_offer
from exploracoder_jupyter.ipython_extension.running.variable_sending import send_variables
from exploracoder_jupyter.protocol.engine_messages import Hazard, LiveOffer


def own():
    pass


own.__module__ = "__main__"


class Touchy:
    """Whoever touches it breaks."""

    def __getattribute__(self, name):
        raise AssertionError(name)


class Meta(type):
    @property
    def __module__(cls):
        raise AssertionError("touched")


NAMESPACE = {
    "prices": [1],
    "größe": 2,
    "df": Touchy(),
    "In": [],
    "open": own,
    "_last": 3,
    "json": collections,
    "median": median,
    "Counter": collections.Counter,
    "twice": own,
    "Odd": Meta("Odd", (), {}),
}
HIDDEN = {"In": NAMESPACE["In"], "open": open}


@pytest.mark.parametrize(
    ("task", "check", "names"),
    [
        ("Sort prices.", None, ["prices"]),
        ("Sort `prices`, by größe", None, ["prices", "größe"]),
        ("`df.prices` of df", None, ["df"]),
        ("pricestag, sub_prices, prices2, Prices", None, []),
        ("In open _last json", None, ["open"]),
        ("median Counter twice Odd", None, ["twice"]),
        ("sort", "assert result == sorted(prices) and twice('df') and a.größe", ["twice", "prices"]),
        ("sort", "prices = 1\nassert prices == 2", []),
        ("sort", ">>> twice(prices)\n2", ["twice", "prices"]),
        ("twice", "assert twice(prices)", ["twice", "prices"]),
    ],
)
def test_the_variables_that_a_task_speaks_of_are_found_by_name_alone(task, check, names):
    assert find_mentioned(task, check, NAMESPACE, hidden=HIDDEN) == names


def refused(kind):
    return LiveOffer(hazards=[Hazard(kind=kind, what="a pool")])


@pytest.mark.parametrize(
    ("offered", "settings", "expected"),
    [
        (LiveOffer(), {}, True),
        (LiveOffer(), {"state": "live"}, True),
        (refused("warn"), {}, True),
        (LiveOffer(secretive=["token"]), {"state": "live"}, True),
        (None, {}, False),
        (LiveOffer(), {"state": "fresh"}, False),
        (LiveOffer(), {"branching": "rerun"}, False),
        (LiveOffer(), {"kernel": "other"}, False),
        (LiveOffer(), {"gateway": "http://127.0.0.1:1"}, False),
        (refused("refuse"), {"state": "live"}, False),
        (LiveOffer(secretive=["token"]), {}, False),
    ],
)
def test_whether_the_kernel_will_be_forked_is_foreseen(monkeypatch, offered, settings, expected):
    monkeypatch.setattr(fork_offer, "_can_confine", lambda: True)
    assert fork_offer.will_be_forked(offered, Sandbox(**settings)) is expected


@pytest.mark.parametrize("output", ['{"namespaces": "denied"}', "nonsense"])
def test_where_forks_cannot_be_confined_only_state_live_forks(monkeypatch, output):
    done = subprocess.CompletedProcess([], 0, stdout=output)
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: done)
    fork_offer._can_confine.cache_clear()
    try:
        assert not fork_offer.will_be_forked(LiveOffer(), Sandbox())
        assert fork_offer.will_be_forked(LiveOffer(), Sandbox(state="live"))
    finally:
        fork_offer._can_confine.cache_clear()


def test_nothing_is_written_for_experiments_that_start_from_a_fork():
    folder, unsent = send_variables(["df"], NAMESPACE, None, Sandbox(), forks="will")
    assert (folder, unsent) == (None, "The variables of --use were not sent; --state fresh sends them.")


@pytest.mark.parametrize(
    ("code", "names"),
    [
        ("import json\nprices = [1]\ndef twice(x):\n    df = x\nother = df", ["prices", "twice"]),
        ("for df in prices: pass", ["df"]),
        ("print(prices)", []),
        ("%matplotlib inline\nprices = 1", []),
    ],
)
def test_the_variables_that_a_solution_replaces_are_those_that_it_binds_at_its_top_level(code, names):
    assert find_replaced(code, NAMESPACE, hidden=HIDDEN) == names

"""What a kernel reports about itself for a task: which variables the task mentions, whether it will be forked."""

import builtins
import collections
import subprocess
from contextlib import ExitStack
from fractions import Fraction
from pathlib import Path
from statistics import median

import pytest
from IPython.core.error import StdinNotImplementedError

from exploracoder_jupyter.core.configuration.sections import Sandbox
from exploracoder_jupyter.core.errors import UsageError
from exploracoder_jupyter.core.types import UserVariable
from exploracoder_jupyter.ipython_extension.running import offered_state
from exploracoder_jupyter.ipython_extension.running.offered_state import send_with_consent
from exploracoder_jupyter.ipython_extension.user_variables import describe_variables, find_mentioned, find_replaced
from exploracoder_jupyter.kernel_agent.variable_decoding import load
from exploracoder_jupyter.protocol.messages import Hazard, LiveOffer


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
def test_variables_of_a_task_are_found_by_name(task, check, names):
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
    monkeypatch.setattr(offered_state, "_can_confine", lambda _network: True)
    assert (not offered_state.reason_not_forked(offered, Sandbox(**settings))) is expected


DENIED = '{{"namespaces": "denied", "landlock": {}}}'


@pytest.mark.parametrize(
    ("output", "bubblewrap", "forks"),
    [
        (DENIED.format(6), True, False),
        (DENIED.format(6), False, True),
        (DENIED.format(2), False, False),
        ("nonsense", False, False),
    ],
)
def test_the_safest_way_decides_whether_forks_are_made(monkeypatch, output, bubblewrap, forks):
    """Issue 36: Landlock confines a fork better than nothing confines a kernel that is started."""

    def run(command, **_):
        if command[0] == "bwrap" and not bubblewrap:
            raise FileNotFoundError(command[0])
        return subprocess.CompletedProcess(command, 0, stdout=output)

    monkeypatch.setattr(subprocess, "run", run)
    offered_state._can_confine.cache_clear()
    try:
        assert (not offered_state.reason_not_forked(LiveOffer(), Sandbox())) is forks
        assert not offered_state.reason_not_forked(LiveOffer(), Sandbox(state="live"))
    finally:
        offered_state._can_confine.cache_clear()


def test_data_that_a_task_names_is_given():
    space = {"sales": Fraction(1, 3), "rows": [1], "total": 3, "key": 4}
    described = describe_variables(
        "Sum sales and rows, and store it in `total`", "assert total == key", ["rows"], space, hidden={}
    )
    assert [(one.name, one.type, one.given) for one in described] == [
        ("rows", "list", True),
        ("sales", "fractions.Fraction", True),
        ("total", "int", False),
        ("key", "int", False),
    ]


class Consent:
    """Sends a fraction, which has no plain form, and answers the question about it."""

    def __init__(self, monkeypatch, answer):
        self.questions = []

        def ask(question):
            self.questions.append(question)
            if isinstance(answer, Exception):
                raise answer
            return answer

        monkeypatch.setattr(builtins, "input", ask)

    def send(self, resources, space, required, **settings):
        variables = [UserVariable(name, type(space[name]).__name__) for name in space]
        return send_with_consent(
            variables, required, space, resources, Sandbox(**settings), withheld=["key"], why="a pool is open"
        )


def test_pickles_are_sent_only_if_the_user_agrees(monkeypatch):
    consent, space = Consent(monkeypatch, "y"), {"share": Fraction(1, 3), "n": 3}
    with ExitStack() as resources:
        sent = consent.send(resources, space, ["share", "n"])
        received = {}
        assert load(sent.folder, received, pickled=True) == {}
        assert received == space
        assert sent.pickled
    assert not Path(sent.folder).exists()
    assert len(consent.questions) == 1
    for part in ("a pool is open", "share (a Fraction)"):
        assert part in consent.questions[0]


@pytest.mark.parametrize("answer", ["n", "", StdinNotImplementedError(), EOFError()])
def test_without_consent_nothing_is_explored(monkeypatch, answer):
    consent = Consent(monkeypatch, answer)
    with ExitStack() as resources, pytest.raises(UsageError, match=r"'share' holds a fractions\.Fraction"):
        consent.send(resources, {"share": Fraction(1, 3)}, ["share"])


def test_only_what_is_required_is_asked_for(monkeypatch):
    consent = Consent(monkeypatch, AssertionError())
    with ExitStack() as resources:
        sent = consent.send(resources, {"share": Fraction(1, 3), "n": 3, "key": "k"}, ["n"])
        assert sorted(sent.problems) == ["key", "share"]
        assert not sent.pickled


def test_a_credential_is_never_sent_by_itself(monkeypatch):
    consent = Consent(monkeypatch, AssertionError())
    with ExitStack() as resources, pytest.raises(UsageError, match="looks like a credential"):
        consent.send(resources, {"key": "k"}, ["key"], pickle=True)


@pytest.mark.parametrize(
    ("code", "names"),
    [
        ("import json\nprices = [1]\ndef twice(x):\n    df = x\nother = df", ["prices", "twice"]),
        ("for df in prices: pass", ["df"]),
        ("print(prices)", []),
        ("%matplotlib inline\nprices = 1", []),
    ],
)
def test_replaced_variables_are_those_bound_at_top_level(code, names):
    assert find_replaced(code, NAMESPACE, hidden=HIDDEN) == names

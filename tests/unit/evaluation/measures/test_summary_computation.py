"""The summary of an evaluation."""

from dataclasses import replace

import pytest

from exploracoder_jupyter.evaluation.statistics import summarize
from tests.unit.evaluation.results import unit, units


def arms(summary):
    return {arm.name: arm for arm in summary.arms}


def values(arm, *keys):
    return [arm.estimates[key].value for key in keys]


def test_each_measure_of_an_arm():
    rows = [
        unit("p1", seconds=4, cost=0.5, recall=1.0, executions=3, calls=2),
        unit("p2", passed=False, ran=True, tests_passed=1, missing_apis=("lib.no",), cost=0.25, recall=0.5),
        unit("p3", passed=False, code="", prompt_tokens=380, tests=0, cost=0.75, fault="KeyError", failure="fault"),
        unit("p4", cost=0.0),
    ]
    [arm] = summarize(rows).arms
    assert values(arm, "pass@1", "success@1", "test_rate", "invented") == [0.5, 0.75, 2.5 / 3, pytest.approx(1 / 3)]
    assert values(arm, "recall", "precision", "faults", "calls") == [0.75, None, 0.25, 1.25]
    assert values(arm, "tokens", "prompt_tokens", "completion_tokens") == [175, 155, 20]
    assert values(arm, "tokens_per_solved", "cost", "cost_per_solved") == [350, 0.375, 0.75]
    assert values(arm, "seconds", "executions") == [2.5, 0.75]
    assert (arm.samples, arm.problems, arm.missing, arm.total_tokens, arm.total_cost) == (4, 4, 0, 700, 1.5)
    assert arm.estimates["test_rate"].problems == 3
    [unpriced] = summarize([unit("p1", cost=0.5), unit("p2")]).arms
    assert (values(unpriced, "cost", "cost_per_solved"), unpriced.total_cost) == ([None, None], None)
    assert all(one.low <= one.value <= one.high for one in arm.estimates.values() if one.value is not None)


def test_every_problem_has_the_same_weight():
    rows = [unit("p1", sample=at) for at in range(9)] + [unit("p2", passed=False, sample=at) for at in range(3)]
    [arm] = summarize([unit("p1", passed=False), *rows]).arms  # a unit done again counts once
    assert (arm.samples, values(arm, "pass@1")) == (12, [0.5])
    assert [*arm.pass_at] == [1, 2, 3]


def test_arms_are_measured_on_common_problems():
    summary = summarize(units("rag", "1100") + units("react", "?10?"))
    assert summary.measured == 2
    assert values(arms(summary)["rag"], "pass@1") == [0.5]
    assert (arms(summary)["react"].problems, arms(summary)["react"].missing) == (2, 2)
    assert any("react" in notice and "2 of 4" in notice for notice in summary.notices)
    assert [row.counts.count(None) for row in summary.problems] == [1, 0, 0, 1]
    apart = summarize(units("rag", "11??") + units("react", "??10"))  # each is measured on its own
    assert {name: values(arm, "pass@1") for name, arm in arms(apart).items()} == {"rag": [1], "react": [0.5]}
    assert (apart.measured, apart.pairs, [arm.alone for arm in apart.arms]) == (0, (), [(), ()])


def test_pairs_use_the_problems_that_the_two_share():
    rows = units("direct", "000000?", prompt_tokens=30) + units("rag", "1111110") + units("react", "1100???")
    summary = summarize(rows)
    assert summary.baseline == "direct"
    rag, react = (next(pair.comparison for pair in summary.pairs if pair.arm == arm) for arm in ("rag", "react"))
    assert (rag.problems, rag.only_arm, rag.only_baseline, rag.both, rag.neither) == (6, 6, 0, 0, 0)
    assert (rag.p_value, rag.pass_difference.value) == (pytest.approx(2 / 64), 1)
    assert (rag.token_difference.value, rag.token_ratio.value) == (50, 2)
    assert (react.problems, react.only_arm, react.neither) == (4, 2, 2)
    assert react.pass_difference.low < 0.5 < react.pass_difference.high
    assert [pair.adjusted_p_value for pair in summary.pairs if pair.arm == "rag"] == [pytest.approx(4 / 64)]


def test_arms_are_named_by_what_differs():
    def names(*rows):
        return sorted(arm.name for arm in summarize(rows).arms)

    assert names(unit(), unit(strategy="react")) == ["rag", "react"]
    assert names(unit(), unit(model="large")) == ["large", "small"]
    assert names(unit(), unit(strategy="react", model="large")) == ["rag, small", "react, large"]


def test_the_front_has_the_unbeaten_arms():
    rows = units("direct", "1000", prompt_tokens=10) + units("rag", "1110") + units("slow", "1110", calls=9)
    rows += units("react", "1100", prompt_tokens=900) + units("explore", "1111", prompt_tokens=999)
    arms = summarize(rows).arms
    assert {arm.name for arm in arms if arm.on_front} == {"direct", "rag", "slow", "explore"}
    assert {arm.name: [row.problem for row in arm.alone] for arm in arms if arm.alone} == {"explore": ["p3"]}


def test_failures_by_kind_with_examples_of_different_problems():
    rows = [unit("p1", passed=False, failure="KeyError", sample=at) for at in range(4)]
    rows += [unit("p2", passed=False, failure="KeyError"), unit("p2", passed=False, failure="timeout", sample=1)]
    [arm] = summarize(rows).arms
    assert [(kind.kind, kind.count) for kind in arm.failures] == [("KeyError", 5), ("timeout", 1)]
    assert [row.problem for row in arm.failures[0].examples] == ["p1", "p2"]


def test_mixed_settings_and_faults_are_named():
    rows = [unit("p1", settings={"k": 1}), replace(unit("p2"), settings={"k": 2}, fault="oops", packages={"x": "1"})]
    summary = summarize(rows)
    assert summary.arms[0].settings == ({"k": 1}, {"k": 2})
    assert summary.arms[0].packages == {"x": ("1",)}
    assert sum("settings" in notice or "fault" in notice for notice in summary.notices) == 2

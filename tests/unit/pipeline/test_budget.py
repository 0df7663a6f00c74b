"""The budget in money, and what a run costs where its model has a price."""

from dataclasses import replace

import pytest

from exploracoder_jupyter.core.configuration.sections import Budget, Price, Prices
from exploracoder_jupyter.core.errors import BudgetExceeded, UsageError
from exploracoder_jupyter.core.types import Usage
from exploracoder_jupyter.pipeline import Meter, run_task
from tests.unit.pipeline.test_task_run import answers
from tests.unit.world import a_run, happened

PRICES = Prices("EUR", {"scripted": Price(input=100, output=1_000, cached=10)})


def a_meter(cost=0.0, name="scripted", tokens=200_000):
    meter = Meter(Budget(tokens=tokens, cost=cost), PRICES)
    meter.use_model(name)
    return meter


def test_each_kind_of_tokens_has_its_price():
    priced = a_meter().priced(Usage(1, 10_000, 1_000, cached_tokens=4_000))
    assert priced.cost == pytest.approx(0.6 + 0.04 + 1.0)
    assert priced.currency == "EUR"


def test_a_spent_money_budget_stops_the_run():
    meter = a_meter(cost=2.0)
    meter.charge("plan", meter.priced(Usage(1, 10_000, 500)))
    meter.check()
    assert meter.tokens_left == 500
    meter.charge("plan", meter.priced(Usage(1, 0, 500)))
    assert meter.tokens_left == 0
    with pytest.raises(BudgetExceeded, match=r"The budget of 2\.00 EUR is spent") as spent:
        meter.check()
    assert "--budget-cost" in spent.value.remedy


def test_a_money_budget_needs_a_price():
    with pytest.raises(UsageError, match="'other' has none") as refused:
        a_meter(cost=1.0, name="other")
    assert '[prices.models."other"]' in refused.value.remedy
    a_meter(cost=1.0, name="offline").check()
    Meter(Budget(cost=1.0)).use_model("other", required=False)


async def test_a_run_is_priced_before_during_and_after():
    run = replace(a_run(answers()), meter=a_meter())
    await run_task(run)
    costs = [event.exchange.usage.cost for event in happened(run, "model_called")]
    [finished] = happened(run, "run_finished")
    assert all(costs) and finished.usage.cost == pytest.approx(sum(costs))
    assert sum(usage.cost or 0 for usage in finished.usage_by_step.values()) == pytest.approx(sum(costs))
    assert all(event.cost > 0 and event.currency == "EUR" for event in happened(run, "estimated"))


async def test_a_run_stops_where_its_money_is_spent():
    run = replace(a_run(answers()), meter=a_meter(cost=0.01))
    ending = await run_task(run)
    assert ending.verdict.stopped_by == "budget"
    assert "0.01" in ending.verdict.reason

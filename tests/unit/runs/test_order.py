"""What an order is refused for before anything starts."""

import pytest

from exploracoder_jupyter.core.errors import MissingRequirement, UsageError
from exploracoder_jupyter.core.types import Task
from exploracoder_jupyter.runs.order import Order, validate_order

TASK = Task("Compute the median.", ("statistics",))


def test_an_unknown_strategy_gets_a_suggestion():
    with pytest.raises(MissingRequirement) as refused:
        validate_order(Order(TASK, ({"exploration": {"strategy": "exlore"}},)))
    assert "explore" in refused.value.remedy


def test_a_registered_strategy_is_accepted():
    assert validate_order(Order(TASK, ({"exploration": {"strategy": "rag"}},))).exploration.strategy == "rag"


@pytest.mark.parametrize("task", [Task(" ", ("statistics",)), Task("x" * 64_001, ("statistics",)), Task("x", ())])
def test_a_task_that_cannot_be_run_is_refused(task):
    with pytest.raises(UsageError):
        validate_order(Order(task))

"""When a unit is tried again, and when an evaluation stops."""

import pytest

from exploracoder_jupyter.core.errors import EndpointError
from exploracoder_jupyter.evaluation.scheduling.retry_policy import MOST_ATTEMPTS
from exploracoder_jupyter.evaluation.scheduling.unit_queue import UnitQueue
from tests.scripted_units import ScriptedUnit, result_of, units


def test_a_unit_that_is_lost_is_the_next_and_is_given_up_at_last():
    queue = UnitQueue(units(2))
    for attempt in range(MOST_ATTEMPTS):
        unit = queue.take()
        assert unit.number == 0
        assert queue.lose(unit.digest) == (attempt < MOST_ATTEMPTS - 1)
    assert queue.take().number == 1


def test_only_failures_of_the_endpoint_in_a_row_end_the_evaluation():
    queue = UnitQueue([])
    for unit in units(30, fails="endpoint"):
        queue.finish(result_of(ScriptedUnit(99)))
        queue.finish(result_of(unit))
    with pytest.raises(EndpointError):
        for unit in units(30, fails="endpoint"):
            queue.finish(result_of(unit))

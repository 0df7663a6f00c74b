"""Every unit is finished once, whatever dies; when a unit is tried again, and when an evaluation stops."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exploracoder_jupyter.core.errors import EndpointError
from exploracoder_jupyter.evaluation.scheduling import MOST_ATTEMPTS, UnitQueue
from tests.scripted_units import ScriptedUnit, result_of, units


@given(st.integers(0, 12), st.sets(st.integers(0, 12)), st.lists(st.tuples(st.booleans(), st.integers(0, 9))))
def test_every_unit_ends_once(count, done, steps):
    everything = units(count)
    queue = UnitQueue([*everything, *everything], done={ScriptedUnit(number).digest for number in done})
    active, ended = [], []
    choices = iter(steps)
    while queue.left:
        while len(active) < 3 and (unit := queue.take()):
            active.append(unit)
        dies, place = next(choices, (False, 0))
        unit = active.pop(place % len(active))
        if not dies:
            queue.finish(result_of(unit))
            ended.append(unit.number)
        elif not queue.lose(unit.digest):
            ended.append(unit.number)
    assert sorted(ended) == sorted(set(range(count)) - done)


def test_a_lost_unit_is_next_until_given_up():
    queue = UnitQueue(units(2))
    for attempt in range(MOST_ATTEMPTS):
        unit = queue.take()
        assert unit.number == 0
        assert queue.lose(unit.digest) == (attempt < MOST_ATTEMPTS - 1)
    assert queue.take().number == 1


def test_successive_endpoint_failures_end_the_evaluation():
    queue = UnitQueue([])
    for unit in units(30, fails="endpoint"):
        queue.finish(result_of(ScriptedUnit(99)))
        queue.finish(result_of(unit))
    with pytest.raises(EndpointError):
        for unit in units(30, fails="endpoint"):
            queue.finish(result_of(unit))

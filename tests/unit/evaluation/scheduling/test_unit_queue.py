"""Every unit is finished once, whatever dies."""

from hypothesis import given
from hypothesis import strategies as st

from exploracoder_jupyter.evaluation.scheduling.unit_queue import UnitQueue
from tests.scripted_units import ScriptedUnit, result_of, units


@given(st.integers(0, 12), st.sets(st.integers(0, 12)), st.lists(st.tuples(st.booleans(), st.integers(0, 9))))
def test_every_unit_ends_once(count, done, steps):
    everything = units(count)
    queue = UnitQueue([*everything, *everything], done={ScriptedUnit(number).digest for number in done})
    active, ended = [], []
    choices = iter(steps)
    while not queue.is_over:
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
    assert queue.left == 0

"""Units in processes of this machine: deaths, a stop, and going on."""

import anyio

from exploracoder_jupyter.evaluation.local_workers import run_locally
from exploracoder_jupyter.evaluation.records import read_results
from exploracoder_jupyter.evaluation.scheduling import Limits, UnitExecution, UnitQueue
from tests.patience import patience, wait_until_async
from tests.scripted_units import ScriptedUnit, began, result_of, run_scripted, table, units


def execution(folder):
    return UnitExecution(run_scripted, folder, "e1", "scripted", Limits())


async def run(queue, folder, *, workers=2):
    seen = []
    with anyio.fail_after(patience(60)):
        await run_locally(queue, execution(folder), workers=workers, listen=seen.append)
    return seen


async def test_a_worker_killed_midway_changes_nothing(tmp_path):
    wanted = units(40)
    killing = [ScriptedUnit(unit.number, kills=int(unit.number == 17)) for unit in wanted]
    seen = await run(UnitQueue(killing), tmp_path)
    assert table(read_results(tmp_path)) == table(seen) == table(map(result_of, wanted))
    assert len(began(tmp_path)) == 41


async def test_a_unit_without_workers_is_a_fault(tmp_path):
    failing = [ScriptedUnit(0, kills=9), ScriptedUnit(1), ScriptedUnit(2, fails="raise"), ScriptedUnit(3)]
    seen = await run(UnitQueue(failing), tmp_path, workers=1)
    assert [bool(row.fault) for row in seen] == [True, False, True, False]
    assert sorted(row.problem for row in read_results(tmp_path) if row.fault) == ["p0", "p2"]
    assert len(list(tmp_path.glob("killed-*"))) == 3
    assert len({path.suffix for path in began(tmp_path)}) == 4  # a unit that raises ends no worker


async def test_a_stop_ends_active_units(tmp_path):
    everything = [*units(3), *(ScriptedUnit(number, seconds=600) for number in (3, 4, 5))]
    with anyio.fail_after(patience(60)):
        async with anyio.create_task_group() as group:
            group.start_soon(run, UnitQueue(everything), tmp_path)
            await wait_until_async(lambda: len(began(tmp_path)) == 5, 30)
            group.cancel_scope.cancel()
    first = read_results(tmp_path)
    assert len(first) == 3
    queue = UnitQueue(units(6), done={row.unit for row in first})
    assert len(await run(queue, tmp_path)) == 3
    assert table(read_results(tmp_path)) == table(map(result_of, units(6)))

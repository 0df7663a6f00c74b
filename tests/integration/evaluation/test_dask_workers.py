"""Units on a Dask cluster: workers that die, a scheduler that is lost, child processes, the shared rate limit."""

import gc
import json
import subprocess
import sys
import warnings
from contextlib import ExitStack, asynccontextmanager
from pathlib import Path

import anyio
import dask
import pytest

from exploracoder_jupyter.evaluation.dask_workers import SchedulerLost, connect, create_shared_times, run_on_cluster
from exploracoder_jupyter.evaluation.records import Manifest, prepare_folder, read_results
from exploracoder_jupyter.evaluation.scheduling import Limits, UnitExecution, UnitQueue
from tests.patience import patience, wait_until_async
from tests.scripted_units import ScriptedUnit, began, result_of, run_scripted, run_with_model, table, units

pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning")


@asynccontextmanager
async def cluster(**options):
    """A cluster of two workers with nannies on this machine."""
    from distributed import LocalCluster

    settings = {"distributed.comm.timeouts.connect": "60s", "distributed.nanny.environ.PYTHONPATH": str(Path.cwd())}
    with dask.config.set(settings):
        async with LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            asynchronous=True,
            dashboard_address="127.0.0.1:0",
            silence_logs=50,
            **options,
        ) as local:
            yield local
    with warnings.catch_warnings(action="ignore"):
        gc.collect()  # what Dask leaves open would be reported in a later test


@asynccontextmanager
async def scheduler_with_workers(folder):
    """A scheduler in a process of its own, which can be killed, its address, and two workers."""
    with ExitStack() as stack:
        connection = folder / "scheduler.json"
        to_scheduler = f"--scheduler-file={connection}"
        scheduler = dask_process(stack, "scheduler", to_scheduler, "--host=127.0.0.1", "--port=0", "--no-dashboard")
        dask_process(stack, "worker", to_scheduler, "--nworkers=2", "--nthreads=1", "--no-dashboard")
        await wait_until_async(
            lambda: connection.exists() and connection.read_text().endswith("}"), 60, "the scheduler"
        )
        yield scheduler, json.loads(connection.read_text())["address"]


def dask_process(stack, *arguments):
    process = subprocess.Popen([sys.executable, "-m", "dask", *arguments], stderr=subprocess.DEVNULL)
    stack.callback(process.wait)
    stack.callback(process.kill)  # the processes of a worker end with it
    return process


async def run(queue, folder, address, *, job=run_scripted, limits=None):
    seen, limits = [], limits or Limits()
    manifest = Manifest("toys", 1, "d", ("rag",), "scripted", 1)
    manifest = prepare_folder(folder, manifest, resume=(folder / "manifest.json").exists())
    execution = UnitExecution(job, folder, manifest.id, "scripted", limits)
    with anyio.fail_after(patience(90)):
        async with connect(address) as client:
            await create_shared_times(client, manifest.id)
            await run_on_cluster(queue, execution, client=client, listen=seen.append)
    return seen


async def test_units_survive_lost_workers_within_rate_limits(tmp_path):
    killing = [ScriptedUnit(number, kills=int(number == 17), child=number % 10 == 0) for number in range(40)]
    killed, stopped, limited = (tmp_path / name for name in ("killed", "stopped", "limited"))
    async with cluster() as local:
        seen = await run(UnitQueue(killing), killed, local.scheduler_address)
        async with anyio.create_task_group() as group:
            group.start_soon(run, UnitQueue(units(4, seconds=600)), stopped, local.scheduler_address)
            await wait_until_async(lambda: len(began(stopped)) == 2, 60)
            group.cancel_scope.cancel()
        limits = Limits(requests_per_minute=120, concurrent=1)  # the workers are free again
        await run(UnitQueue(units(8)), limited, local.scheduler_address, job=run_with_model, limits=limits)
    assert table(read_results(killed)) == table(seen) == table(map(result_of, units(40)))
    assert len(list(killed.glob("killed-*"))) == 1
    times = sorted(float(path.name.split("-")[1]) for path in limited.glob("request-*"))
    assert len(times) == 8
    assert times[-1] - times[0] > 2.5  # 3.5 by the limit; the first can be late


async def test_a_lost_scheduler_is_one_sentence(tmp_path):
    everything = [ScriptedUnit(number, seconds=0.0 if number < 10 else 600) for number in range(14)]
    async with scheduler_with_workers(tmp_path) as (scheduler, address):
        with pytest.raises(ExceptionGroup) as raised:
            async with anyio.create_task_group() as group:
                group.start_soon(run, UnitQueue(everything), tmp_path, address)
                await wait_until_async(lambda: len(read_results(tmp_path)) >= 10, 60)
                scheduler.kill()
        assert raised.group_contains(SchedulerLost, match="--resume")
    first = read_results(tmp_path)
    async with cluster() as local:
        queue = UnitQueue(units(14), done={row.unit for row in first})
        assert len(await run(queue, tmp_path, local.scheduler_address)) == 4
    assert table(read_results(tmp_path)) == table(map(result_of, units(14)))

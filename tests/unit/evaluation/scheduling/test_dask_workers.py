"""How errors of a Dask client are reported; tests/integration/evaluation/test_dask_workers.py runs real clusters."""

import pytest
from distributed.comm.core import CommClosedError

from exploracoder_jupyter.evaluation.scheduling.dask_workers import SchedulerLost, run_on_cluster
from exploracoder_jupyter.evaluation.scheduling.endpoint_rate_limit import Limits
from exploracoder_jupyter.evaluation.scheduling.unit_execution import UnitExecution
from exploracoder_jupyter.evaluation.scheduling.unit_queue import UnitQueue
from tests.scripted_units import run_scripted, units


class ClosingClient:
    """A client whose connection closes while it fetches a result."""

    def submit(self, *arguments, **options):
        return self

    def __await__(self):
        raise CommClosedError("in <TCP (closed) ConnectionPool.gather>: Stream is closed.")
        yield

    def release(self):
        pass


async def test_a_connection_that_closes_while_a_result_is_fetched_is_a_lost_scheduler(tmp_path):
    execution = UnitExecution(run_scripted, tmp_path, "evaluation", "scripted", Limits())
    with pytest.raises(ExceptionGroup) as raised:
        await run_on_cluster(UnitQueue(units(1)), execution, client=ClosingClient(), listen=print)
    assert raised.group_contains(SchedulerLost, match="--resume")

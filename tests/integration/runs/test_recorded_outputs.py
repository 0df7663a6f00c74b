"""The recorded run of CoCoST's figure 3, again on real kernels: the replies are the recorded ones, all else is not.

Its first program runs without an error and pairs NaN with NaN; that is seen in its outputs alone, and corrected.
"""

import json
from pathlib import Path

from exploracoder_jupyter.core.configuration.sections import Budget, Exploration, Sandbox
from exploracoder_jupyter.core.events import ModelCalled
from exploracoder_jupyter.core.types import Task
from exploracoder_jupyter.kernels import open_siblings
from exploracoder_jupyter.llm.recorded import ReplayModel
from exploracoder_jupyter.pipeline import Meter, Run, run_task
from exploracoder_jupyter.trace import load
from tests.patience import patience
from tests.unit.world import MATH, FewApis, NoSteering, happened

EXAMPLE = Path(__file__).parents[3] / "examples" / "3-judged-by-outputs-recorded.ipynb"
NOTEBOOK = json.loads(EXAMPLE.read_text())
NOTES = NOTEBOOK["metadata"]["exploracoder_jupyter"]
MISTAKE = "(nan, nan)"


def source(cell):
    return "".join(cell["source"])


async def test_a_wrong_program_is_corrected_by_its_output(tmp_path):
    records = load(EXAMPLE)
    exchanges = [record.event.exchange for record in records if isinstance(record.event, ModelCalled)]
    events = []
    async with open_siblings(Sandbox(), workdir=tmp_path) as siblings:
        [base] = await (await siblings.root()).fork(1)
        assert (await base.run(source(NOTEBOOK["cells"][1]), timeout=patience(60))).ran
        settings = Exploration(candidates=2, tests=True)
        task = Task(NOTES["task"]["text"], ("pandas",), uses=("df",))
        model, meter = ReplayModel(exchanges), Meter(Budget())
        run = Run(task, settings, model, FewApis(MATH), base, events.append, NoSteering(), meter, parallel=2)
        ending = await run_task(run)
    first, second = happened(run, "solution_tested")
    assert any(MISTAKE in result.observation.text for result in first.results)
    assert not any(MISTAKE in result.observation.text for result in second.results)
    assert (first.candidate, second.candidate) == ("s1", "s2")
    assert ending.verdict.outcome == "solved"
    assert "isna()" in ending.solution.code

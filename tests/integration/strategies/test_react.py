"""ReAct's session on real kernels, with scripted replies."""

import pytest

from exploracoder_jupyter.core.configuration.sections import Budget, Exploration
from exploracoder_jupyter.core.types import Task
from exploracoder_jupyter.llm.scripted_model import ScriptedModel
from exploracoder_jupyter.pipeline import Meter, Run, run_task
from exploracoder_jupyter.strategies.agents import react
from tests.integration.pipeline.test_correctness_testing import prepared
from tests.unit.strategies.replies import fenced, prompts
from tests.unit.world import MATH, FewApis, NoSteering, happened

pytestmark = pytest.mark.parametrize("branching", ["fork", "rerun"])

MAKE = "import pandas as pd\nfrom pathlib import Path\nfrom math import sqrt\ndf = pd.DataFrame({'a': [1.0, 4.0]})\ndf"
SPOIL = "df['a'] = 0\nPath('spoiled.txt').write_text('x')\n1 / 0"
LOOK = "df['root'] = df['a'].map(sqrt)\nprint(df.root.tolist(), Path('spoiled.txt').exists())"
PROGRAM = "import pandas as pd\nfrom math import sqrt\nroots = pd.Series([1.0, 4.0]).map(sqrt)"


def a_real_run(model, base, text, **more):
    task = Task(text, ("math",), **more)
    settings = Exploration(planners=0)
    return Run(task, settings, model, FewApis(MATH), base, [].append, NoSteering(), Meter(Budget()), parallel=2)


async def test_react_works_in_one_unspoiled_session(branching, tmp_path):
    steps = [f"Thought: next.\nAction: run\n{fenced(code)}" for code in (MAKE, SPOIL, LOOK)]
    model = ScriptedModel([*steps, "Action: finish", fenced(PROGRAM)])
    async with prepared(branching, tmp_path) as base:
        run = a_real_run(model, base, "Take the root of each value", check="assert roots.tolist() == [1.0, 2.0]")
        result = await run_task(run, react)
    assert result.verdict.outcome == "solved"
    shown = prompts(model)
    assert "ZeroDivisionError" in shown[2]
    assert "[1.0, 2.0] False" in shown[3]
    assert [event.status for event in happened(run, "subtask_finished")] == ["done", "failed", "done"]
    assert list(tmp_path.iterdir()) == []

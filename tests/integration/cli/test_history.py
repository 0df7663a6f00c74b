"""What real runs leave in the history: while they go on, killed, resumed, shown again, and where none is wanted."""

import shlex
import signal

from exploracoder_jupyter.core.configuration.sources import history_path
from tests.integration.runs.test_resume import COMMAND, TASK, author, cache, explora, run_of, start_run  # noqa: F401
from tests.patience import patience


def test_a_killed_run_is_listed_and_resumes(author, tmp_path):  # noqa: F811
    process = start_run(author, tmp_path, until="Subtask 2:")
    process.send_signal(signal.SIGSTOP)  # it must not end while the history is read
    [running] = explora(tmp_path, "history")["runs"]
    assert (running["status"], running["ended"], running["resume_with"]) == ("running", None, None)
    assert running["trace"] == str(tmp_path / "t.ipynb")
    process.send_signal(signal.SIGKILL)
    process.wait(patience(10))
    [cut] = explora(tmp_path, "history")["runs"]
    assert (cut["status"], cut["task"], cut["model"]) == ("cut off", TASK, "toy")
    assert cut["calls"] > 1 and cut["executions"] > 0 and list(cut["libraries"]) == ["statistics"]

    assert cut["resume_with"] == f"--resume {tmp_path}/t.ipynb"
    summary = explora(tmp_path, "run", *shlex.split(cut["resume_with"]))
    again, before = explora(tmp_path, "history")["runs"]
    assert (again["status"], again["resumes"], again["trace"]) == ("solved", cut["id"], summary["trace"])
    usage = summary["usage"]
    assert (again["calls"], again["executions"]) == (usage["calls"], usage["executions"])
    assert (again["seconds"], again["tokens"]) == (
        usage["seconds"],
        usage["prompt_tokens"] + usage["completion_tokens"],
    )
    assert again["ended"] and before == cut | {"resume_with": None, "resumed_by": again["id"]}

    explora(tmp_path, "replay", summary["trace"], "--out", "again.ipynb")
    assert len(explora(tmp_path, "history")["runs"]) == 2, "what is shown again was not explored again"
    assert b"sk-planted" not in history_path().read_bytes()

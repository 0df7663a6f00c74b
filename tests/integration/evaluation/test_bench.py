"""`jupyter explora bench`: real runs of the offline model, recorded and replayed, interrupted and resumed."""

import json
import signal
import subprocess
import sys

import psutil
import pytest

from exploracoder_jupyter.evaluation import evaluate
from exploracoder_jupyter.evaluation.records import read_results
from tests.integration import command_line
from tests.json_output import json_result
from tests.patience import patience, wait_until

COMMAND = [sys.executable, "-m", "exploracoder_jupyter.cli", "bench"]
QUICK = ["--strategy", "explore", "--model", "offline", "--preset", "quick"]
PRESET = {"exploration": {"preset": "quick"}}
PROBLEM = {
    "id": "median",
    "task": "Compute the median of [3, 1, 2] and store it in `middle`.",
    "libraries": ["statistics"],
    "tests": ["assert middle == 2"],
}


@pytest.fixture
def problems(tmp_path):
    path = tmp_path / "easy.jsonl"
    path.write_text("".join(json.dumps({**PROBLEM, "id": f"median{number}"}) + "\n" for number in range(3)))
    return path


def bench(*arguments, cwd):
    return command_line.explora("bench", *arguments, folder=cwd)


def outcome(rows):
    return sorted((row.problem, row.passed, row.code, row.calls) for row in rows)


def test_recorded_replies_give_the_same_table(problems, tmp_path):
    first = bench(problems, *QUICK, "--limit", 1, "--record", "replies", "--out", "first", "--json", cwd=tmp_path)
    assert first.returncode == 0, first.stderr
    found = json_result("bench", first.stdout)
    assert found["left"] == 0 and found["arms"][0]["estimates"]["pass@1"]["value"] == 1.0
    again = bench(problems, "--strategy", "explore", "--preset", "quick", "--limit", 1, "--replay", "replies",
                  "--out", "again", cwd=tmp_path)  # fmt: skip
    assert again.returncode == 0, again.stderr
    assert "explore" in again.stdout and (tmp_path / "again" / "report.html").exists()
    rows = read_results(tmp_path / "again")
    assert outcome(rows) == outcome(read_results(tmp_path / "first")) and not rows[0].fault
    python = evaluate(problems, strategies=["explore"], replay=tmp_path / "replies", settings=PRESET, workers=2,
                      out=tmp_path / "python")  # fmt: skip
    assert [row.passed for row in python.rows].count(True) == 1  # the others were not recorded
    assert (python.folder / "results.parquet").exists() and (python.folder / python.rows[0].trace).exists()
    shown = bench("report", "again", "--markdown", "--html", "page.html", cwd=tmp_path)
    assert shown.returncode == 0 and "| explore |" in shown.stdout and (tmp_path / "page.html").exists()
    reported = bench("report", "again", "--json", cwd=tmp_path)
    assert reported.returncode == 0 and json.loads(reported.stdout)["arms"][0]["samples"] == 1


def test_an_interrupted_folder_can_be_resumed(problems, tmp_path):
    arguments = [str(problems), *QUICK, "--workers", "1", "--out", "out"]
    process = subprocess.Popen([*COMMAND, *arguments], cwd=tmp_path, stderr=subprocess.PIPE, text=True)
    try:
        wait_until(lambda: len(read_results(tmp_path / "out")) == 1, 120)
        children = psutil.Process(process.pid).children(recursive=True)
        process.send_signal(signal.SIGINT)
        _, shown = process.communicate(timeout=patience(60))
    finally:
        process.kill()
    assert process.returncode == 1 and "--resume" in shown
    wait_until(lambda: not any(child.is_running() for child in children), 20, "the siblings")
    assert 1 <= len(read_results(tmp_path / "out")) < 3
    resumed = bench(*arguments, "--resume", cwd=tmp_path)
    assert resumed.returncode == 0, resumed.stderr
    assert [row.passed for row in read_results(tmp_path / "out")] == [True] * 3
    other = bench(*arguments, "--resume", "--samples", "2", cwd=tmp_path)
    assert other.returncode == 2 and "other samples" in other.stderr


def test_wrong_usage_is_one_sentence(problems, tmp_path):
    unknown = bench("--strategy", "rag,react", "--strategy", "explor", problems, "--model", "offline", cwd=tmp_path)
    assert unknown.returncode == 2 and "Did you mean explore?" in unknown.stderr
    cluster = bench(problems, *QUICK, "--scheduler", "tcp://127.0.0.1:9", "--out", "out", cwd=tmp_path)
    assert cluster.returncode == 2 and "cannot be reached" in cluster.stderr
    assert not (tmp_path / "out").exists()

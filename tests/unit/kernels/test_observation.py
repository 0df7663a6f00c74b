"""How an execution ended decides the status, in words that fit."""

import pytest

from exploracoder_jupyter.core.types import ErrorInfo
from exploracoder_jupyter.kernels.messages import SCHEMA_MIME
from exploracoder_jupyter.kernels.output_collector import CELL_MIME, OutputCollector
from exploracoder_jupyter.kernels.processes.processes import describe_exit
from exploracoder_jupyter.kernels.sibling_kernel import ExecutionResult, build_observation
from tests.unit.kernels.test_output_collector import CHANGES, DID, collect

ENDINGS = {
    "ok": (ExecutionResult("finished", {"status": "ok"}), "ok", None, ""),
    "error": (ExecutionResult("finished", {"status": "error", "ename": "E", "evalue": "m"}), "error", "E: m", ""),
    "aborted": (ExecutionResult("finished", {"status": "aborted"}), "error", "aborted", ""),
    "exit()": (
        ExecutionResult("finished", {"status": "ok", "payload": [{"source": "ask_exit"}]}),
        "died",
        "KernelDied: the code asked the kernel to exit",
        "the code asked the kernel to exit",
    ),
    "timeout": (
        ExecutionResult("timeout"),
        "timeout",
        "Timeout: did not finish within 3 s",
        "did not finish within 3 s",
    ),
    "flood": (
        ExecutionResult("flooded"),
        "interrupted",
        "OutputLimit: printed 0 characters and was stopped",
        "printed 0 characters and was stopped",
    ),
    "exit() with a process that ends first": (
        ExecutionResult("died", {"status": "ok", "payload": [{"source": "ask_exit"}]}, note="status 0"),
        "died",
        "KernelDied: the code asked the kernel to exit",
        "the code asked the kernel to exit",
    ),
    "death": (ExecutionResult("died", note="killed"), "died", "KernelDied: killed", "killed"),
}


@pytest.mark.parametrize("ending, status, headline, note", ENDINGS.values(), ids=ENDINGS)
def test_status_error_and_note(ending, status, headline, note):
    observation = build_observation(ending, OutputCollector(100), timeout=3)
    assert observation.status == status
    assert (observation.error.headline if observation.error else None) == headline
    assert observation.note == note
    assert observation.ran is (status == "ok")


ERROR = ("error", {"ename": "E", "evalue": "m", "traceback": ["E: m"]})


def test_what_a_cell_did_is_observed():
    collector = collect(ERROR, ("display_data", {"data": {CELL_MIME: DID}}))
    observation = build_observation(ExecutionResult("finished", {"status": "error"}), collector, timeout=3)
    assert observation.names == (("G", "networkx.Graph"),)
    assert observation.changes == tuple(CHANGES)
    assert (observation.warnings, observation.logs) == (("FutureWarning: use len",), ("lib: slow",))
    assert (observation.files, observation.memory) == (("out/a.csv",), 7_000_000)
    assert observation.error == ErrorInfo("E", "m", "E: m", "KeyError: 'x'", "KeyError", ("y",))


def test_where_an_endless_cell_was_is_observed():
    collector = collect(("display_data", {"data": {CELL_MIME: DID}}))
    error = build_observation(ExecutionResult("timeout"), collector, timeout=3).error
    assert (error.name, error.report) == ("Timeout", "KeyError: 'x'")


def test_texts_for_models_are_not_outputs():
    data = {"text/plain": "<G>", "text/llm+plain": "3 nodes of G: 'a'", SCHEMA_MIME: "3 nodes"}
    collector = collect(("stream", {"name": "stdout", "text": "a"}), ("execute_result", {"data": data}))
    observation = build_observation(ExecutionResult("finished", {"status": "ok"}), collector, timeout=3)
    assert observation.text == "a\n3 nodes of G: 'a'"
    assert observation.schema == "[printed 1 character in 1 line]\n3 nodes"
    assert [output.get("data") for output in observation.outputs] == [None, {"text/plain": "<G>"}]


@pytest.mark.parametrize(
    "status, supervised, words",
    [
        (-11, False, "SIGSEGV"),
        (139, True, "SIGSEGV"),
        (9, True, "status 9"),
        (139, False, "status 139"),
        (152, True, "CPU"),
    ],
)
def test_exits_are_described_in_words(status, supervised, words):
    assert words in describe_exit(status, supervised=supervised)

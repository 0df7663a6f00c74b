"""How an execution ended decides the status, in words that fit."""

import pytest

from exploracoder_jupyter.execution.kernel import Ending
from exploracoder_jupyter.execution.messages import Collector
from exploracoder_jupyter.execution.observe import observe, unrun
from exploracoder_jupyter.execution.started import describe_exit

ENDINGS = {
    "ok": (Ending("finished", {"status": "ok"}), "ok", None, ""),
    "error": (Ending("finished", {"status": "error", "ename": "E", "evalue": "m"}), "error", "E: m", ""),
    "aborted": (Ending("finished", {"status": "aborted"}), "error", "aborted", ""),
    "exit()": (
        Ending("finished", {"status": "ok", "payload": [{"source": "ask_exit"}]}),
        "died",
        "KernelDied: the code asked the kernel to exit",
        "the code asked the kernel to exit",
    ),
    "timeout": (Ending("timeout"), "timeout", "Timeout: did not end within 3 s", "did not end within 3 s"),
    "flood": (
        Ending("flooded"),
        "interrupted",
        "OutputLimit: printed 0 characters and was stopped",
        "printed 0 characters and was stopped",
    ),
    "death": (Ending("died", note="killed"), "died", "KernelDied: killed", "killed"),
}


@pytest.mark.parametrize("ending, status, headline, note", ENDINGS.values(), ids=ENDINGS)
def test_status_error_and_note(ending, status, headline, note):
    observation = observe(ending, Collector(100), timeout=3)
    assert observation.status == status
    assert (observation.error.headline if observation.error else None) == headline
    assert observation.note == note
    assert observation.ran is (status == "ok")


def test_a_lost_state_is_an_observation():
    assert unrun("why").error.headline == "StateLost: why"


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
def test_exits_are_told_in_words(status, supervised, words):
    assert words in describe_exit(status, supervised=supervised)

"""What a forked kernel closes of the kernel application that was in the process before."""

import os
import socket

import pytest
from IPython.core.events import EventManager

from exploracoder_jupyter.kernel_agent.forking import rebuilt_kernel


class Shell:
    """As much of a shell as announces that a cell begins."""

    def __init__(self):
        self.events = EventManager(self, {"pre_run_cell": lambda info: None})


@pytest.fixture
def begin(monkeypatch):
    """Have the first cell begin, with what was opened since the fixture was made."""
    monkeypatch.setattr(rebuilt_kernel, "_own_descriptors", {})
    shell = Shell()
    rebuilt_kernel._record_own_descriptors(shell, rebuilt_kernel.descriptor_targets())
    return lambda: shell.events.trigger("pre_run_cell", None)


def is_open(descriptor):
    try:
        os.fstat(descriptor)
    except OSError:
        return False
    return True


def test_a_forks_line_survives_the_first_cell(begin):
    ours, line = socket.socketpair()
    begin()
    rebuilt_kernel.close_own_descriptors(keep=[line.fileno()])
    assert not is_open(ours.detach())
    assert is_open(line.fileno())
    line.close()


def test_a_reused_number_is_left_alone(begin, tmp_path):
    ours, line = socket.socketpair()
    begin()
    number = line.fileno()
    with (tmp_path / "of the user").open("w") as file:
        os.dup2(file.fileno(), number)
        assert rebuilt_kernel.own_descriptors() == {ours.fileno()}
        rebuilt_kernel.close_own_descriptors(keep=[])
        assert is_open(number)
    line.close()
    ours.detach()

"""The system call filter: compiled for each level, with a permit of its own, and left out where there is no library."""

import sys

import pytest

from exploracoder_jupyter.kernel_agent.confinement.linux_calls import PERMIT_WORDS
from exploracoder_jupyter.kernels.sandbox.syscall_filter import compile_filter

LEVELS = ("bubblewrap", "namespaces", "landlock", "limits")


@pytest.fixture
def compiled():
    filters = {level: compile_filter(level, network=False) for level in LEVELS}
    if None in filters.values():
        pytest.skip("there is no libseccomp here")
    return filters


def test_each_level_has_a_program_of_its_own(compiled):
    """Issue 14, item 7."""
    programs = {one.program for one in compiled.values()}
    assert len(programs) == len(LEVELS)
    assert all(program and len(program) % 8 == 0 for program in programs)


def test_permits_are_random(compiled):
    again = compile_filter("namespaces", network=False)
    assert len(again.permit) == 8 * PERMIT_WORDS
    assert again.permit != compiled["namespaces"].permit
    assert again.program != compiled["namespaces"].program


def test_without_the_library_there_is_no_filter(monkeypatch):
    monkeypatch.setitem(sys.modules, "pyseccomp", None)
    assert compile_filter("namespaces", network=False) is None

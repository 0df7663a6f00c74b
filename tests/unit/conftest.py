"""Errors that a run survives still fail its test."""

import pytest


@pytest.fixture(autouse=True)
def _no_failing_heuristic(request, caplog):
    """A heuristic that raised in a run, which goes on without it, fails the test unless that is what it tries."""
    yield
    if not request.node.get_closest_marker("failing_heuristics"):
        failed = [one for one in caplog.get_records("call") if one.name == "exploracoder_jupyter.pipeline.heuristics"]
        assert not failed, [one.getMessage() for one in failed]

"""Where experiments start and how states are branched: the safest way that is allowed, and why."""

import sys

import pytest

from exploracoder_jupyter.core.configuration.sections import Sandbox
from exploracoder_jupyter.core.errors import MissingRequirement
from exploracoder_jupyter.kernels.live_kernel import LiveKernel
from exploracoder_jupyter.kernels.sandbox.fork_sandbox import SandboxLevel, remedy_for_isolation
from exploracoder_jupyter.kernels.sibling_choice import choose_siblings
from exploracoder_jupyter.protocol.messages import Hazard

FULL = (SandboxLevel("namespaces", overlay=True), False)
LESS = (SandboxLevel("landlock", why="namespaces are refused here"), True)
ALONE = (LESS[0], False)
"""Landlock without bubblewrap, as in most containers (issue 36)."""
LEAST = (SandboxLevel("limits", why="namespaces are refused here"), False)


async def never(address):
    raise AssertionError("a choice forks nothing")


def live(*hazards, secretive=()):
    return LiveKernel(never, tuple(hazards), tuple(secretive))


POLARS = Hazard(kind="refuse", library="polars", what="polars keeps a thread pool that does not survive a fork")
TASKS = Hazard(kind="warn", what="2 asyncio tasks are not there")
SECRETIVE = "variables look like credentials (api_key, a, b); --state live includes them anyway"


@pytest.mark.parametrize(
    ("settings", "level", "kernel", "state", "forks"),
    [
        ({}, FULL, live(), "live: every variable is seen as it is", True),
        ({}, FULL, live(TASKS), "live: every variable is seen as it is", True),
        ({}, FULL, None, "fresh: there is no live kernel", True),
        ({}, LESS, None, "fresh: there is no live kernel", False),
        ({}, ALONE, None, "fresh: there is no live kernel", True),
        ({}, ALONE, live(), "live: every variable is seen as it is", True),
        ({}, ALONE, live(secretive=["api_key", "a", "b", "c"]), f"fresh: {SECRETIVE}", True),
        ({}, LEAST, live(), "fresh: forks cannot be confined well here; --state live forks anyway", False),
        ({"state": "fresh"}, FULL, live(), "fresh: as requested", True),
        ({}, FULL, live(TASKS, POLARS), f"fresh: {POLARS.what}", True),
        ({"state": "live"}, FULL, live(POLARS), f"fresh: {POLARS.what}", True),
        ({"state": "live"}, LESS, live(), "live: every variable is seen as it is", True),
        ({"state": "live"}, FULL, live(secretive=["api_key"]), "live: every variable is seen as it is", True),
        ({"kernel": "other"}, FULL, live(), "fresh: only forks start from the live kernel", True),
        ({"branching": "rerun"}, FULL, live(), "fresh: only forks start from the live kernel", False),
        ({"branching": "fork"}, LESS, None, "fresh: there is no live kernel", True),
        ({}, LESS, live(), "fresh: forks cannot be confined well here; --state live forks anyway", False),
        ({}, FULL, live(secretive=["api_key", "a", "b", "c"]), f"fresh: {SECRETIVE}", True),
    ],
)
def test_the_choice_is_safe_and_gives_its_reason(settings, level, kernel, state, forks):
    choice = choose_siblings(Sandbox(**settings), level[0], kernel, bubblewrap=level[1])
    assert (choice.state, choice.fork) == (state, forks)


def test_live_state_without_a_live_kernel_is_refused():
    with pytest.raises(MissingRequirement, match="no live kernel"):
        choose_siblings(Sandbox(state="live"), FULL[0], None, bubblewrap=False)


@pytest.mark.parametrize(
    ("name", "text", "remedy"),
    [
        ("sys/kernel/apparmor_restrict_unprivileged_userns", "1\n", "kernel.apparmor_restrict_unprivileged_userns=0"),
        ("sys/kernel/unprivileged_userns_clone", "0\n", "kernel.unprivileged_userns_clone=1"),
        ("sys/user/max_user_namespaces", "0\n", "user.max_user_namespaces=1000"),
        ("self/status", "Name:\tpython\nSeccomp:\t2\n", "starts this container"),
        ("self/status", "Name:\tpython\nSeccomp:\t0\n", "Install bubblewrap"),
    ],
)
@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has these settings")
def test_the_remedy_fits_what_refuses_namespaces(tmp_path, name, text, remedy):
    (tmp_path / name).parent.mkdir(parents=True)
    (tmp_path / name).write_text(text)
    assert remedy in remedy_for_isolation(tmp_path)

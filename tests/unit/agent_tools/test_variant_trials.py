"""Variants run side by side in branches: order, states, checks, equal results, failures of ours."""

import anyio
import pytest

from exploracoder_jupyter.agent_tools.sibling_hosts import MAX_STATES, Host
from exploracoder_jupyter.agent_tools.variant_trials import (
    Variant,
    VariantTrials,
    plain_trial,
    plan_check,
    plan_variants,
)
from exploracoder_jupyter.core.errors import KernelError, UsageError
from exploracoder_jupyter.core.types import ErrorInfo, Observation


class FakeBranch:
    """A state that is the list of what ran in it; `say ...` prints, `fail ...` fails, `lose` raises an error."""

    def __init__(self, world, steps=()):
        self.world, self.steps, self.closed = world, steps, False
        world.append(self)

    def expect(self, n):
        """Nothing is prepared."""

    async def fork(self, n):
        return [FakeBranch(self.world, self.steps) for _ in range(n)]

    async def close(self):
        self.closed = True

    async def run(self, code, *, timeout):
        await anyio.sleep(0)
        self.steps = (*self.steps, code)
        what, _, rest = code.partition(" ")
        if what == "lose":
            raise KernelError("The kernel is gone.")
        if what == "hang":
            return Observation("timeout", error=ErrorInfo("Timeout", "too long"))
        if what == "say":
            return Observation("ok", text=rest)
        if what == "steps":
            return Observation("ok", text="; ".join(self.steps))
        failed = what == "fail" or ("assert" in code and not any("good" in step for step in self.steps[:-1]))
        return Observation("error", error=ErrorInfo("ValueError", rest)) if failed else Observation("ok")


def trials(check=""):
    world = []
    host = Host("1", "fresh", None, FakeBranch(world))
    return VariantTrials(host, "1", plan_check(check), 5.0), world


async def try_all(*variants, check="", earlier=None):
    made, world = trials(check)
    planned = plan_variants([Variant(*one) for one in variants])
    return await made.run(planned, earlier or {}), world, made.host


async def test_each_variant_starts_from_the_root():
    results, _, _ = await try_all(("a", "say 1"), ("b", "steps"))
    assert [one.observation.text for one in results] == ["1", "steps"]


async def test_a_variant_after_another_has_its_state():
    results, _, _ = await try_all(("a", "say 1"), ("b", "say 2", "a"), ("c", "steps", "b"))
    assert results[2].observation.text == "say 1; say 2; steps"
    assert [one.reference for one in results] == ["1/a", "1/b", "1/c"]


async def test_an_earlier_state_is_not_changed():
    earlier = FakeBranch([], ("say 0",))
    results, _, _ = await try_all(("a", "steps", "old"), earlier={"old": earlier})
    assert results[0].observation.text == "say 0; steps" and earlier.steps == ("say 0",)


async def test_a_lost_state_is_not_started_from():
    results, world, host = await try_all(("a", "hang"), ("b", "say 1", "a"), ("c", "lose"), ("d", "say 2"))
    assert [one.observation.status for one in results] == ["timeout", "died", "died", "ok"]
    assert [one.reference for one in results] == ["", "", "", "1/d"]
    kept = [*host.states.values()]
    assert all(one.closed for one in world[1:] if one not in kept) and not kept[0].closed


async def test_a_check_leaves_no_mark_in_the_state():
    results, _, host = await try_all(("a", "say good"), ("b", "say bad"), check="assert x == 1")
    assert [one.checked for one in results] == ["passed", "failed"]
    assert all("assert" not in step for state in host.states.values() for step in state.steps)


async def test_equal_results_are_grouped():
    results, _, _ = await try_all(
        ("a", "say [1, 2, 5000]"), ("b", "fail x"), ("c", "say [1, 2, 5000]"), ("d", "fail x"), ("e", "say [9]")
    )
    assert [one.same_as for one in results] == ["", "", "a", "b", ""]


async def test_old_states_end_when_there_are_too_many():
    host = Host("1", "fresh", None, FakeBranch([]))
    for number in range(MAX_STATES + 3):
        await host.keep(f"1/{number}", FakeBranch([]))
    assert next(iter(host.states)) == "1/3" and len(host.states) == MAX_STATES


async def test_shared_results_follow_the_settings():
    [result], _, _ = await try_all(("a", "say secret"))
    assert "secret" in plain_trial(result, "values")["shows"]
    assert "secret" not in str({**plain_trial(result, "none"), "code": ""})


@pytest.mark.parametrize(
    "variants",
    [
        [],
        [("a", "x")] * 2,
        [(str(number), "x") for number in range(9)],
        [("a", "  ")],
        [("a", "x", "b"), ("b", "x")],
        [("a", "x", "a")],
        [("a b", "x")],
    ],
)
def test_malformed_variants_are_refused(variants):
    with pytest.raises(UsageError):
        plan_variants([Variant(*one) for one in variants])


def test_a_check_that_cannot_fail_is_refused():
    with pytest.raises(UsageError):
        plan_check("x = 1")

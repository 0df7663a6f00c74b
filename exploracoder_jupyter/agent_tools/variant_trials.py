"""Tries variants of code side by side: each runs in a branch of its own, and may start from the state of another.

The results are what a model needs to go on: whether it ran, the report of an error with hints, outputs, what changed,
files, and which variants gave the same.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Final, Literal

import anyio

from exploracoder_jupyter.agent_tools.sibling_hosts import Host
from exploracoder_jupyter.agent_tools.tool_limits import MAX_CODE, MAX_VARIANTS, Answer, check_label, check_text
from exploracoder_jupyter.core.configuration.sections import Sharing
from exploracoder_jupyter.core.errors import BranchingChanged, ExploraError, UsageError
from exploracoder_jupyter.core.types import Candidate, ErrorInfo, Experience, Observation, Subtask, Task
from exploracoder_jupyter.pipeline.exploring.selection import failure_kind, outputs_agree
from exploracoder_jupyter.pipeline.ports import Branch
from exploracoder_jupyter.pipeline.prompting.observations import MOST_CHARACTERS, format_observation, redact_experience
from exploracoder_jupyter.pipeline.solving.user_check import CheckCode, build_check

_VARIANT: Final = Subtask("1", "Variant")
_PNG: Final = b"\x89PNG\r\n\x1a\n"
_MAX_IMAGE: Final = 1_400_000
"""Characters of base64: about a megabyte."""
_MAX_REPORT: Final = 100_000
"""Characters that an answer has at most of one variant, before the client's own limit cuts it."""


@dataclass(frozen=True, slots=True)
class Variant:
    """Code to try."""

    label: str
    code: str
    after: str = ""
    """The variant from whose state it starts, of this call or an earlier one; empty: the state of the kernel now."""


@dataclass(slots=True)
class Trial:
    """A variant that was tried."""

    variant: Variant
    observation: Observation
    reference: str
    """Names its state for later calls; empty if that is lost."""
    checked: Literal["passed", "failed"] | None = None
    check: Observation | None = None
    same_as: str = ""
    """Label of the first variant of the call that gave the same result or failed the same way."""

    @property
    def experience(self) -> Experience:
        """The same in the form of the pipeline."""
        return Experience(_VARIANT, Candidate(self.variant.label, _VARIANT.id, self.variant.code), self.observation)


def plan_variants(variants: Sequence[Variant]) -> tuple[Variant, ...]:
    """Return the variants in order. Raises UsageError: there are none or too many, or one is malformed."""
    if not 1 <= len(variants) <= MAX_VARIANTS:
        raise UsageError(
            f"There are {len(variants)} variants; from 1 to {MAX_VARIANTS} are allowed.",
            remedy="Send the others in another call.",
        )
    labels: set[str] = set()
    for variant in variants:
        if check_label(variant.label) in labels:
            raise UsageError(f"Two variants have the label {variant.label!r}.", remedy="Give each its own label.")
        check_text(variant.code, f"code of variant {variant.label!r}", MAX_CODE)
        later = {one.label for one in variants} - labels
        if variant.after in later:
            raise UsageError(
                f"{variant.label!r} starts after {variant.after!r}, which is not listed before it.",
                remedy="List it after that variant.",
            )
        labels.add(variant.label)
    return tuple(variants)


def plan_check(check: str) -> CheckCode | None:
    """Return the code of a check; `None` without one. Raises UsageError: it cannot fail, or is not a check."""
    if not check.strip():
        return None
    return build_check(Task("", (), check=check_text(check, "check", MAX_CODE)))


@dataclass(slots=True)
class VariantTrials:
    """Tries the variants of one call on one host."""

    host: Host
    number: str
    """The number of the call, the first part of the references."""
    check: CheckCode | None
    timeout: float
    """Seconds for each variant, and for each check."""
    _states: dict[str, Branch] = field(default_factory=dict)
    _done: dict[str, anyio.Event] = field(default_factory=dict)
    _trials: dict[str, Trial] = field(default_factory=dict)

    async def run(self, variants: Sequence[Variant], earlier: Mapping[str, Branch]) -> list[Trial]:
        """Try the variants at once, as far as they do not wait for one another; return the results in order.

        `earlier` are the states of earlier calls that are started from, by what `after` says. Raises KernelError: the
        state of the kernel can no longer be forked.
        """
        self._done = {one.label: anyio.Event() for one in variants}
        first = [one for one in variants if not one.after]
        if first:
            self.host.root.expect(len(first))
        async with anyio.create_task_group() as tasks:
            for variant in variants:
                tasks.start_soon(self._try, variant, earlier)
        trials = [self._trials[one.label] for one in variants]
        _find_equal(trials)
        return trials

    async def _try(self, variant: Variant, earlier: Mapping[str, Branch]) -> None:
        try:
            if variant.after in self._done:
                await self._done[variant.after].wait()
            base = self._states.get(variant.after) or earlier.get(variant.after)
            if variant.after and base is None:
                lost = f"the state of {variant.after!r} is lost"
                self._trials[variant.label] = Trial(
                    variant, Observation("died", error=ErrorInfo("StateLost", lost)), ""
                )
                return
            self._trials[variant.label] = await self._run(variant, base or self.host.root)
        finally:
            self._done[variant.label].set()

    async def _run(self, variant: Variant, base: Branch) -> Trial:
        """Run a variant in a fork of this state; an error of ours is its result, so that the others go on."""
        try:
            branch = await _fork(base)
        except ExploraError as error:
            return Trial(variant, Observation("died", error=ErrorInfo("KernelError", str(error))), "")
        kept = False
        try:
            step = partial(branch.run, timeout=self.timeout)
            if self.check and self.check.before:
                await step(self.check.before)
            trial = Trial(variant, await step(variant.code), "")
            if trial.observation.ran and self.check:
                await self._check(trial, branch, self.check)
            if trial.observation.status in ("ok", "error"):
                trial.reference = f"{self.number}/{variant.label}"
                await self.host.keep(trial.reference, branch)
                self._states[variant.label] = branch
                kept = True
            return trial
        except ExploraError as error:
            return Trial(variant, Observation("died", error=ErrorInfo("KernelError", str(error))), "")
        finally:
            if not kept:
                with anyio.CancelScope(shield=True):
                    await branch.close()

    async def _check(self, trial: Trial, branch: Branch, check: CheckCode) -> None:
        """Run the check in a fork, so that the state of the variant is what the variant left."""
        fork = await _fork(branch)
        try:
            trial.check = await fork.run(check.code, timeout=self.timeout)
            trial.checked = "passed" if trial.check.ran else "failed"
        finally:
            with anyio.CancelScope(shield=True):
                await fork.close()


async def _fork(base: Branch) -> Branch:
    """Fork a state; where its forks turn out to hang, repeat what led to it instead."""
    try:
        [branch] = await base.fork(1)
    except BranchingChanged:
        [branch] = await base.fork(1)
    return branch


def _find_equal(trials: Sequence[Trial]) -> None:
    """Note of each trial the first one with the same result, or the same failure."""
    for place, trial in enumerate(trials):
        for other in trials[:place]:
            if other.same_as or other.checked != trial.checked or other.observation.ran != trial.observation.ran:
                continue
            ran = trial.observation.ran
            one, another = other.experience, trial.experience
            if outputs_agree(one, another) if ran else failure_kind(one) == failure_kind(another):
                trial.same_as = other.variant.label
                break


def shown_images(trials: Sequence[Trial], most: int) -> list[tuple[str, bytes]]:
    """Return at most so many PNG images that the variants displayed, each with the label of its variant.

    Images over a megabyte are left out. The content is what the code of a variant made: it may be no image at all.
    """
    found: list[tuple[str, bytes]] = []
    for trial in trials:
        for encoded in _encoded_images(trial.observation):
            with suppress(binascii.Error, ValueError):
                content = base64.b64decode(encoded, validate=True) if len(encoded) <= _MAX_IMAGE else b""
                if content.startswith(_PNG) and len(found) < most:
                    found.append((trial.variant.label, content))
    return found


def _encoded_images(observation: Observation) -> Iterator[str]:
    for output in observation.outputs:
        data = output.get("data")
        encoded = data.get("image/png") if isinstance(data, dict) else None
        if isinstance(encoded, str):
            yield "".join(encoded.split())


def _with_all_printed(observation: Observation) -> Observation:
    """Return the observation with its whole text where nothing but printing gave it, of which a prompt shows a part.

    An agent that prints a long text wants to read it, and limits the answer itself.
    """
    outputs = observation.outputs
    if not outputs or any((one.get("output_type"), one.get("name")) != ("stream", "stdout") for one in outputs):
        return observation
    printed = "".join(str(one.get("text", "")) for one in outputs)
    return replace(observation, text=printed) if len(printed) > len(observation.text) else observation


def plain_trial(trial: Trial, sharing: Sharing) -> Answer:
    """Convert a trial to JSON, with what may be shared of its results."""
    seen = redact_experience(
        replace(trial, observation=_with_all_printed(trial.observation)).experience, sharing
    ).observation
    answer: Answer = {
        "label": trial.variant.label,
        "state": trial.reference or None,
        "result": "ran" if seen.ran else {"error": "failed", "timeout": "timed out"}.get(seen.status, seen.status),
    }
    if trial.same_as:
        answer["same_as"] = trial.same_as
    if trial.checked:
        answer["check"] = trial.checked
    if trial.check and not trial.check.ran:
        failed = redact_experience(replace(trial, observation=trial.check).experience, sharing).observation
        answer["check_report"] = format_observation(failed, MOST_CHARACTERS)
    shown = format_observation(seen, _MAX_REPORT)
    if trial.same_as and not seen.ran:
        shown = seen.error.headline if seen.error else shown
    if shown:
        answer["shows"] = shown
    if images := sum(1 for _ in _encoded_images(seen)):
        answer["images"] = images
    if seen.files:
        answer["files"] = [*seen.files]
    answer["seconds"] = round(seen.seconds, 3)
    return answer

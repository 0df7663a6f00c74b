"""Recognizes failures of the same kind, so that each kind is repaired once."""

from __future__ import annotations

from collections.abc import Sequence

from exploracoder_jupyter.core.types import Experience
from exploracoder_jupyter.pipeline.exploring.output_similarity import strip_addresses
from exploracoder_jupyter.pipeline.guarded_heuristics import heuristic


def distinct_failures(experiences: Sequence[Experience]) -> list[Experience]:
    """Return one experience per kind of failure, the one with the shortest code, so that each kind is repaired once."""
    by_kind: dict[str, Experience] = {}
    for item in sorted(experiences, key=lambda item: len(item.candidate.code)):
        by_kind.setdefault(failure_kind(item), item)
    return list(by_kind.values())


@heuristic("comparing failures", lambda item: item.observation.status)
def failure_kind(item: Experience) -> str:
    """Return the kind of a failure: status and first line of the error."""
    error = item.observation.error
    return strip_addresses(f"{item.observation.status} {error.headline if error else ''}".strip())

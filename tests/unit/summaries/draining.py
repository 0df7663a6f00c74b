"""Collects all facts that a describer yields."""

from typing import Any

from exploracoder_jupyter.kernel_agent.summaries.summarizer_registry import find
from exploracoder_jupyter.kernel_agent.summaries.summary_facts import Fact
from exploracoder_jupyter.kernel_agent.summaries.summary_options import SummaryOptions


def look(**changes: Any) -> SummaryOptions:
    return SummaryOptions(**{"short": lambda value: repr(value)[:40], "deadline": float("inf"), **changes})


def drain(value: Any, **changes: Any) -> list[Fact]:
    known = find(value)
    assert known is not None and known.describe is not None, f"nobody describes {type(value)}"
    return list(known.describe(value, look(**changes)))


def text(value: Any, **changes: Any) -> str:
    return "\n".join(fact.text for fact in drain(value, **changes))


def schema(value: Any, **changes: Any) -> str:
    """The description where values are not shared."""
    lines = (fact.schema if fact.shows else fact.text for fact in drain(value, **changes))
    return "\n".join(line for line in lines if line is not None)


def measure(value: Any) -> str:
    known = find(value)
    assert known is not None and known.measure is not None, f"nobody measures {type(value)}"
    return known.measure(value)

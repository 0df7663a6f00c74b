"""The output of a describer for a value, without budgets and processes, and the summary that is made of it."""

from typing import Any

from exploracoder_jupyter.kernel_agent.summaries import summarizer_registry
from exploracoder_jupyter.kernel_agent.summaries.facts import Fact, SummaryOptions
from exploracoder_jupyter.kernel_agent.summaries.short_values import ShortFormatter
from exploracoder_jupyter.kernel_agent.summaries.summarizer import Summarizer, Summary


def facts(value: Any, **options: Any) -> list[Fact]:
    """The facts on a value, by the describer that is found for its type."""
    known = summarizer_registry.find(value)
    assert known is not None and known.describe is not None
    return [
        *known.describe(value, SummaryOptions(**{"short": ShortFormatter(True), "deadline": float("inf"), **options}))
    ]


def text(value: Any, **options: Any) -> str:
    return "\n".join(fact.text for fact in facts(value, **options))


def schema(value: Any, **options: Any) -> str:
    """What is left where only the schema is shared."""
    lines = (fact.schema if fact.shows else fact.text for fact in facts(value, **options))
    return "\n".join(line for line in lines if line)


def measure(value: Any) -> str:
    known = summarizer_registry.find(value)
    assert known is not None and known.measure is not None
    return known.measure(value)


def summarize(value: Any) -> Summary:
    (summary,) = Summarizer().tell([value])
    return summary

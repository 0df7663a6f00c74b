"""The output of a describer for a value, without budgets and processes."""

from exploracoder_jupyter.kernel_agent.summaries import summarizer_registry
from exploracoder_jupyter.kernel_agent.summaries.short_values import ShortFormatter
from exploracoder_jupyter.kernel_agent.summaries.summary_options import SummaryOptions


def facts(value):
    """The facts on a value, by the describer that is found for its type."""
    return [
        *summarizer_registry.find(value).describe(
            value, SummaryOptions(ShortFormatter(apart=True), deadline=float("inf"))
        )
    ]


def text(value):
    return "\n".join(fact.text for fact in facts(value))


def schema(value):
    """What is left where only the schema is shared."""
    lines = (fact.schema if fact.shows else fact.text for fact in facts(value))
    return "\n".join(line for line in lines if line)


def measure(value):
    return summarizer_registry.find(value).measure(value)

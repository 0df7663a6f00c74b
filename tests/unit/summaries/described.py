"""What a describer says of a value, without budgets and processes."""

from exploracoder_jupyter.inside.summaries import registry
from exploracoder_jupyter.inside.summaries.facts import Look
from exploracoder_jupyter.inside.summaries.short import Short


def facts(value):
    """The facts on a value, by the describer that is found for its type."""
    return [*registry.find(value).describe(value, Look(Short(apart=True), until=float("inf")))]


def text(value):
    return "\n".join(fact.text for fact in facts(value))


def schema(value):
    """What is left where only the schema is shared."""
    said = (fact.schema if fact.shows else fact.text for fact in facts(value))
    return "\n".join(line for line in said if line)


def measure(value):
    return registry.find(value).measure(value)

"""Which limit has cut a reply off, and what to change so that the next one is complete."""

from __future__ import annotations

from typing import Final

TRUNCATED: Final = "truncated"
"""Problem of a reply that the server cut off, at a limit of its own or at the end of the model's context."""
MAX_TOKENS: Final = "endpoint.max_tokens"
TIMEOUT: Final = "endpoint.timeout"
BUDGET: Final = "budget.tokens"
LENGTH: Final = "its length"
"""The limits of ours: settings, and a fixed limit."""

_REMEDIES: Final = {
    MAX_TOKENS: ("endpoint.max_tokens", "Raise endpoint.max_tokens in the config file."),
    TIMEOUT: (
        "the time that endpoint.timeout allows",
        "Raise endpoint.timeout in the config file, or use a faster model.",
    ),
    BUDGET: ("the tokens that were left of the budget", "Raise budget.tokens (--budget-tokens)."),
    LENGTH: ("the largest size that is read", "Choose another model with --model."),
}
_SERVER: Final = (
    "the limit of the endpoint for one reply",
    "Raise that limit at the server (the length of a reply, or the context), ask for longer replies with"
    " endpoint.max_tokens in the config file, or choose another model with --model.",
)


def truncated_by(limit: str) -> str:
    """Return the problem of a reply that this limit of ours has cut off."""
    return f"{TRUNCATED} by {limit}"


def describe_cut(problem: str) -> tuple[str, str]:
    """Return a sentence on the limit behind this problem of a reply, and the remedy; both empty for other problems."""
    if not problem.startswith(TRUNCATED):
        return "", ""
    limit, remedy = _REMEDIES.get(problem.removeprefix(f"{TRUNCATED} by "), _SERVER)
    return f"The model's reply was cut off at {limit}.", remedy

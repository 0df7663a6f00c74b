"""Words how many values are missing."""

from __future__ import annotations

from exploracoder_jupyter.kernel_agent.summaries.number_format import percentage


def missing_note(count: int, total: int, *, exact: bool = True, word: str = "missing") -> tuple[str, ...]:
    """Format the number of missing values, or their approximate share where only a sample was counted."""
    if not count:
        return ()
    if count == total:
        return (f"all {word}" if exact else f"all {word} in the sample",)
    return (f"{count:,} {word} ({percentage(count, total)})" if exact else f"about {percentage(count, total)} {word}",)

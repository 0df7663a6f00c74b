"""The fields of a row as they are indexed: stems, which our tokenizer makes, separated by spaces."""

from __future__ import annotations

from exploracoder_jupyter.knowledge.environment.public_paths import PublicApi
from exploracoder_jupyter.text.tokenizer import tokens

FORMAT = 2
"""Version of the stored rows and of their indexed terms; incrementing it makes stored environments be read again."""

FIELDS = ("name", "path", "summary", "rest")
WEIGHTS = (3.0, 1.0, 2.0, 0.7)
_MAX_TERMS = 60


def indexed_fields(row: PublicApi) -> tuple[str, str, str, str]:
    """Return the terms of each field: name, path without the library, first sentence, parameters and what follows."""
    owner, _, name = row.path.rpartition(".")
    rest = list(dict.fromkeys([*tokens(row.signature), *tokens(row.opening)]))
    return (
        " ".join(dict.fromkeys(tokens(name))),
        " ".join(dict.fromkeys(tokens(owner.replace(".", " ")))),
        " ".join(dict.fromkeys(tokens(row.summary))),
        " ".join(rest[:_MAX_TERMS]),
    )


def dense_text(row: PublicApi) -> str:
    """Return the text whose meaning is compared; name and first sentence are repeated to count more."""
    owner, _, name = row.path.rpartition(".")
    inner = owner.partition(".")[2].replace(".", " ")
    return "\n".join((inner, name, name, row.summary, row.summary, row.opening))

"""Introductions and planners, extracted verbatim from the README and from example programs."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence

from pydantic import JsonValue

from exploracoder_jupyter.llm.offline.inputs.example_slices import called_names

_MARKUP = re.compile(r"^\s*(?:[#=*\-~+^`|<!\[.>:]|https?:)")


def summarize_readme(readme: str, *, limit: int = 1200) -> str:
    """Return the first paragraphs of prose in a README, or its first lines if it has none."""
    paragraphs = [" ".join(part.split()) for part in re.split(r"\n\s*\n", readme)]
    prose = [text for text in paragraphs if len(text.split()) >= 6 and not _MARKUP.match(text)]
    chosen = ""
    for text in prose:
        if chosen and len(chosen) + len(text) > limit:
            break
        chosen = f"{chosen}\n\n{text[:limit]}".strip()
    return chosen or readme.strip()[:limit] or "No introductory documentation was found."


def extract_planners(examples: Sequence[str], count: int) -> list[JsonValue]:
    """Extract worked plans from example programs, whose comments or calls are the steps."""
    found: list[JsonValue] = []
    for code in examples:
        steps = _steps(code)
        if len(steps) >= 2 and len(found) < count:
            found.append({"requirement": _requirement(code), "steps": list[JsonValue](steps[:8])})
    return found


def _requirement(code: str) -> str:
    comment = next((line.strip().lstrip("# ") for line in code.splitlines() if line.strip().startswith("#")), "")
    return comment or "A documented example of the library"


def _steps(code: str) -> list[str]:
    try:
        body = ast.parse(code).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    names = [sorted(called_names(node)) for node in body if not isinstance(node, (ast.Import, ast.ImportFrom))]
    return [f"Call {', '.join(names_called[:2])}" for names_called in names if names_called]

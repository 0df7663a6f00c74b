"""The introduction and the planners: extracts of the README and of example programs, nothing written anew."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence

from pydantic import JsonValue

from exploracoder_jupyter.llm.offline.inputs.example_slices import called

_MARKUP = re.compile(r"^\s*(?:[#=*\-~+^`|<!\[.>:]|https?:)")


def summary(readme: str, *, most: int = 1200) -> str:
    """The first paragraphs of prose in a README; its first lines when it has none."""
    paragraphs = [" ".join(part.split()) for part in re.split(r"\n\s*\n", readme)]
    prose = [text for text in paragraphs if len(text.split()) >= 6 and not _MARKUP.match(text)]
    chosen = ""
    for text in prose:
        if chosen and len(chosen) + len(text) > most:
            break
        chosen = f"{chosen}\n\n{text[:most]}".strip()
    return chosen or readme.strip()[:most] or "No introductory documentation was found."


def planners(examples: Sequence[str], count: int) -> list[JsonValue]:
    """Example programs read as worked plans: their comments or calls are the steps."""
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
    names = [sorted(called(node)) for node in body if not isinstance(node, (ast.Import, ast.ImportFrom))]
    return [f"Call {', '.join(found[:2])}" for found in names if found]

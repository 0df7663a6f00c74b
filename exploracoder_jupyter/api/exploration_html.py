"""An exploration as HTML and as plain text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from exploracoder_jupyter.core.messages import describe_tokens, plural
from exploracoder_jupyter.core.types import Usage
from exploracoder_jupyter.export.html import outputs_html
from exploracoder_jupyter.ipython_extension.searching.search_results import highlight_python
from exploracoder_jupyter.text.characters import escape_html, without_controls

if TYPE_CHECKING:
    from exploracoder_jupyter.api.exploration import Exploration, TriedCode

_PRE: Final = (
    "font-family:var(--jp-code-font-family, monospace);font-size:var(--jp-code-font-size, 13px);line-height:1.4;"
    "color:var(--jp-content-font-color1, inherit);background:var(--jp-cell-editor-background, transparent);"
    "border:1px solid var(--jp-border-color2, rgba(128,128,128,.4));border-radius:3px;margin:4px 0;padding:6px 8px;"
    "overflow-x:auto;white-space:pre"
)


def text(exploration: Exploration) -> str:
    """Status and reason, the solution, the cost, and the path of the trace."""
    trace = f"\nTrace: {exploration.trace}" if exploration.trace else ""
    parts = (_headline(exploration), exploration.solution, f"{_cost(exploration.usage)}{trace}")
    return without_controls("\n\n".join(filter(None, parts)))


def html(exploration: Exploration) -> str:
    """The same, with the solution's output and a list of everything that was tried. No script, no style sheet."""
    shown = [f"<p><strong>{escape_html(_headline(exploration))}</strong></p>"]
    if exploration.solution:
        shown.append(_code(exploration.solution))
        solutions = [one for one in exploration.candidates if one.subtask == "solution" and one.selected]
        shown += [str(outputs_html(one.outputs, "the solution")) for one in solutions[:1]]
    shown.append(_tried(exploration.candidates))
    where = f" Trace: <code>{escape_html(str(exploration.trace))}</code>" if exploration.trace else ""
    shown.append(f"<p>{escape_html(_cost(exploration.usage))}{where}</p>")
    return f"<div>{''.join(shown)}</div>"


def _headline(exploration: Exploration) -> str:
    return f"{exploration.status.capitalize()}: {exploration.reason or 'no reason was recorded.'}"


def _cost(usage: Usage) -> str:
    return f"{plural(usage.calls, 'model call')}, {describe_tokens(usage)}, {plural(usage.executions, 'execution')}."


def _tried(candidates: tuple[TriedCode, ...]) -> str:
    if not candidates:
        return ""
    failed = sum(one.status not in ("ok", None) for one in candidates)
    items = ""
    for one in candidates:
        state = one.error or ("selected" if one.selected else one.status or "not run")
        line = f"{escape_html(one.subtask)} <code>{escape_html(one.id)}</code>: {escape_html(state[:300])}"
        items += f"<li>{line}{_code(one.code)}</li>"
    label = f"{plural(len(candidates), 'candidate')}, {failed} failed"
    return f"<details><summary>{label}</summary><ol>{items}</ol></details>"


def _code(code: str) -> str:
    return f'<pre style="{_PRE}" tabindex="0">{highlight_python(code)}</pre>'

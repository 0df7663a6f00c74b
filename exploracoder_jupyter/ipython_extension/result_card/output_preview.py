"""The outputs of the solution as the result card shows them: shortened, as HTML and as plain text.

They were sanitized by the engine. HTML is used as it is then; everything else is escaped here.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator, Sequence
from html import escape

from pydantic import JsonValue

from exploracoder_jupyter.core.types import Output
from exploracoder_jupyter.text.terminal_text import apply_carriage_returns, strip_ansi

_MAX_LINES = 20
_MAX_CHARACTERS = 4_000
_MAX_RICH = 400_000
"""How many characters of HTML and images a card has; outputs beyond are shown as text."""
_IMAGES = ("image/png", "image/jpeg", "image/gif")
_PRE = (
    "font-family:var(--jp-code-font-family, monospace);font-size:var(--jp-code-font-size, 13px);"
    "margin:4px 0;background:transparent;white-space:pre-wrap;overflow-wrap:anywhere"
)
_SCROLLED = "overflow:auto;max-height:24em;margin:4px 0"


def preview(text: str) -> str:
    """Return the first lines of a text."""
    return _shorten(text.strip("\n"), 6)


def outputs_as_text(outputs: Sequence[Output]) -> str:
    """Render the outputs as plain text, shortened."""
    return _shorten("\n".join(filter(None, (text.strip("\n") for text, _ in _merged(outputs)))), _MAX_LINES)


def outputs_as_html(outputs: Sequence[Output]) -> str:
    """Render the outputs as HTML, shortened."""
    parts: list[str] = []
    left = _MAX_RICH
    for text, output in _merged(outputs):
        rich = _rich(output, text)
        if rich and len(rich) <= left:
            left -= len(rich)
            parts.append(rich)
        elif text.strip():
            parts.append(f'<pre style="{_PRE}">{escape(_shorten(text.strip(chr(10)), _MAX_LINES))}</pre>')
    return "".join(parts)


def _merged(outputs: Sequence[Output]) -> Iterator[tuple[str, Output]]:
    printed = ""
    for output in outputs:
        if output.get("output_type") == "stream":
            printed += _text(output.get("text"))
            continue
        if printed:
            yield _plain(printed), {}
            printed = ""
        data = output.get("data")
        text = _text(data.get("text/plain")) if isinstance(data, dict) else ""
        if output.get("output_type") == "error":
            text = f"{_text(output.get('ename'))}: {_text(output.get('evalue'))}"
        yield _plain(text), output
    if printed:
        yield _plain(printed), {}


def _rich(output: Output, text: str) -> str:
    data = output.get("data")
    bundle = data if isinstance(data, dict) else {}
    if page := _text(bundle.get("text/html")):
        return f'<div role="region" aria-label="Output" tabindex="0" style="{_SCROLLED}">{page}</div>'
    for mime in _IMAGES:
        if content := _text(bundle.get(mime)):
            return _image(mime, content, text)
    if svg := _text(bundle.get("image/svg+xml")):
        return _image("image/svg+xml", base64.b64encode(svg.encode()).decode(), text)
    return ""


def _image(mime: str, content: str, text: str) -> str:
    style = "display:block;max-width:100%;max-height:24em;margin:4px 0"
    return f'<img src="data:{mime};base64,{escape(content)}" alt="{escape(text or "Figure")}" style="{style}">'


def _plain(text: str) -> str:
    return apply_carriage_returns(strip_ansi(text))


def _shorten(text: str, most: int) -> str:
    lines = text.splitlines()
    shown = "\n".join(lines[:most])
    if len(shown) > _MAX_CHARACTERS:
        return f"{shown[:_MAX_CHARACTERS]}…"
    return f"{shown}\n… {len(lines) - most:,} more lines" if len(lines) > most else shown


def _text(value: JsonValue) -> str:
    return "".join(map(str, value)) if isinstance(value, list) else value if isinstance(value, str) else ""

"""Renders sanitized outputs as HTML, each in the richest format that works without scripts."""

from __future__ import annotations

import json
import re
from base64 import b64encode
from collections.abc import Callable, Iterable, Mapping
from html import escape
from typing import Final

from markupsafe import Markup
from pydantic import JsonValue

from exploracoder_jupyter.core.types import Output
from exploracoder_jupyter.export.markdown_html import adapt_fragment
from exploracoder_jupyter.text.terminal_text import apply_carriage_returns, strip_ansi
from exploracoder_jupyter.trace.comparing.output_comparison import join_lines

_COLOR_STYLE: Final = re.compile(r"(?:color|background)\s*[:=]", re.IGNORECASE)


def outputs_html(outputs: Iterable[Output], label: str) -> Markup:
    """Render the outputs in order; `label` names the code that produced them."""
    return Markup("\n".join(_output(output, label) for output in outputs))


def _output(output: Output, label: str) -> str:
    match output.get("output_type"):
        case "stream":
            name = "Standard error" if output.get("name") == "stderr" else "Output"
            kind = "stream stderr" if output.get("name") == "stderr" else "stream"
            return _text(apply_carriage_returns(join_lines(output.get("text"))), f"{name} of {label}", kind)
        case "error":
            trace = output.get("traceback")
            lines = [join_lines(line) for line in trace] if isinstance(trace, list) else []
            return _text(
                "\n".join(lines) or f"{output.get('ename')}: {output.get('evalue')}", f"Error of {label}", "error"
            )
        case _:
            data = output.get("data")
            return _rich(data if isinstance(data, dict) else {}, label)


def _rich(data: Mapping[str, JsonValue], label: str) -> str:
    plain = strip_ansi(join_lines(data.get("text/plain")))
    for mime, show in _RENDERERS.items():
        if mime in data and (shown := show(data[mime], f"{plain or 'Result'}, of {label}")):
            return shown
    return _text(plain, f"Result of {label}", "result")


def _text(text: str, label: str, kind: str) -> str:
    clean = escape(strip_ansi(text).rstrip("\n"))
    return f'<pre class="{kind}" tabindex="0" role="group" aria-label="{escape(label)}">{clean}</pre>' if clean else ""


def _html(value: JsonValue, label: str) -> str:
    markup = adapt_fragment(join_lines(value))
    paper = " paper" if _COLOR_STYLE.search(markup) else ""
    return (
        f'<div class="wide shown{paper}" tabindex="0" role="group" aria-label="{escape(_clip(label))}">{markup}</div>'
    )


def _latex(value: JsonValue, label: str) -> str:
    return f"<figure>{_text(join_lines(value), label, 'result')}<figcaption>LaTeX source</figcaption></figure>"


def _json(value: JsonValue, label: str) -> str:
    return _text(json.dumps(value, indent=2, ensure_ascii=False), label, "result")


def _svg(value: JsonValue, label: str) -> str:
    return _picture("image/svg+xml", b64encode(join_lines(value).encode()).decode(), label)


def _image_renderer(mime: str) -> Callable[[JsonValue, str], str]:
    return lambda value, label: _picture(mime, "".join(join_lines(value).split()), label)


def _picture(mime: str, content: str, label: str) -> str:
    return f'<img class="paper" src="data:{mime};base64,{content}" alt="{escape(_clip(label))}">'


def _clip(label: str) -> str:
    return " ".join(label.split())[:120]


_RENDERERS: Final[dict[str, Callable[[JsonValue, str], str]]] = {
    "text/html": _html,
    "image/svg+xml": _svg,
    "image/png": _image_renderer("image/png"),
    "image/jpeg": _image_renderer("image/jpeg"),
    "image/gif": _image_renderer("image/gif"),
    "text/latex": _latex,
    "application/json": _json,
}
"""Renderers by MIME type, richest first; anything else is shown as plain text."""

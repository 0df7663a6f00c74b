"""Sanitizes the outputs of siblings for the user's notebook; SVG is rebuilt from known elements."""

from __future__ import annotations

import base64
import binascii
import json
import math
import re
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate
from typing import Final
from xml.etree import ElementTree

from pydantic import JsonValue

from exploracoder_jupyter.core.types import Output
from exploracoder_jupyter.text.characters import encodable
from exploracoder_jupyter.trace.markup_sanitizer import has_acting_formula, safe_html, safe_latex, safe_markdown
from exploracoder_jupyter.trace.storage import omitted_values

# Sanitizes SVG from candidates by rebuilding it from known elements, attributes and style properties.
#
# Front ends show SVG as an image, but exporters embed it in the page, where scripts, event handlers, foreign HTML
# and external references would be active. So the image is parsed as XML and rebuilt from allow-lists; other
# elements are removed with all their content, as are comments and processing instructions. References may only
# point into the image itself, and values may only call functions that load nothing.

_SVG = "{http://www.w3.org/2000/svg}"
_HREFS = frozenset({"href", "{http://www.w3.org/1999/xlink}href"})
_XML_SPACE = "{http://www.w3.org/XML/1998/namespace}space"

_ELEMENT_NAMES = """svg g defs symbol use title desc path rect circle ellipse line polyline polygon text tspan
textPath clipPath mask pattern marker linearGradient radialGradient stop filter feGaussianBlur feOffset feBlend
feColorMatrix feMerge feMergeNode feFlood feComposite image style switch"""
_PAINT_NAMES = """fill fill-opacity fill-rule stroke stroke-dasharray stroke-dashoffset stroke-linecap stroke-linejoin
stroke-miterlimit stroke-opacity stroke-width color opacity stop-color stop-opacity flood-color flood-opacity font
font-family font-size font-size-adjust font-stretch font-style font-variant font-weight kerning letter-spacing
word-spacing line-height text-anchor text-decoration text-rendering dominant-baseline alignment-baseline
baseline-shift writing-mode direction unicode-bidi shape-rendering image-rendering color-interpolation
color-interpolation-filters color-rendering vector-effect paint-order clip-rule mix-blend-mode isolation white-space"""
_OTHER_PROPERTY_NAMES = """clip-path mask filter marker marker-start marker-mid marker-end display visibility overflow
transform transform-origin"""
_OTHER_ATTRIBUTE_NAMES = """id class style type version role aria-label aria-hidden aria-labelledby aria-describedby
aria-roledescription lang width height x y x1 y1 x2 y2 cx cy r rx ry fx fy fr d dx dy rotate points pathLength viewBox
preserveAspectRatio textLength lengthAdjust startOffset method spacing side offset gradientUnits gradientTransform
spreadMethod patternUnits patternContentUnits patternTransform clipPathUnits maskUnits maskContentUnits markerUnits
markerWidth markerHeight refX refY orient filterUnits primitiveUnits in in2 result stdDeviation edgeMode mode values
operator k1 k2 k3 k4"""
_FUNCTION_NAMES = """rgb rgba hsl hsla calc var translate translatex translatey scale scalex scaley rotate skewx skewy
matrix blur drop-shadow"""

_ELEMENTS: Final = frozenset(_ELEMENT_NAMES.split())
_PAINT: Final = frozenset(_PAINT_NAMES.split())
"""Style properties, which are attributes as well, that may also be in style sheets: these apply to the whole page."""
_PROPERTIES: Final = _PAINT.union(_OTHER_PROPERTY_NAMES.split())
_ATTRIBUTES: Final = _PROPERTIES.union(_OTHER_ATTRIBUTE_NAMES.split())
_HARMLESS_FUNCTIONS: Final = frozenset(_FUNCTION_NAMES.split())
_FUNCTION: Final = re.compile(r"([\w-]*)\s*\(\s*(['\"]?#)?")
_INLINE_IMAGE: Final = re.compile(r"data:image/(?:png|jpeg|gif);base64,[A-Za-z0-9+/=\s]+")
_COMMENT: Final = re.compile(r"/\*.*?(?:\*/|\Z)", re.DOTALL)
_RULE: Final = re.compile(r"([^{}]*)\{([^{}]*)\}")
_SELECTOR: Final = re.compile(r"[\w\s.#*,>:+~-]*")
_STRING: Final = re.compile(r"'[^'\"\n]*'|\"[^'\"\n]*\"")
_TEXTS: Final = frozenset({"aria-label", "id", "class"})
"""Attributes whose parentheses call nothing."""

ElementTree.register_namespace("", _SVG.strip("{}"))
ElementTree.register_namespace("xlink", "http://www.w3.org/1999/xlink")


def safe_svg(text: str) -> str | None:
    """Reduce SVG to known elements and attributes; `None` if it is not SVG, too deep, or has entities or acting TeX."""
    if "<!ENTITY" in text.upper():
        return None
    try:
        root = ElementTree.fromstring(text)
        if root.tag != _SVG + "svg":
            return None
        for element in list(root.iter()):
            _reduce(element)
        if has_acting_formula("".join(root.itertext())):  # typeset where the image is embedded in a page
            return None
        return ElementTree.tostring(root, encoding="unicode")
    except (ElementTree.ParseError, ValueError, RecursionError):
        return None


def _reduce(element: ElementTree.Element) -> None:
    for child in list(element):
        namespace, _, name = str(child.tag).rpartition("}")
        if namespace + "}" != _SVG or name not in _ELEMENTS:
            element.remove(child)
    for name, value in list(element.items()):
        if name == "style":
            element.set(name, _safe_declarations(value, _PROPERTIES))
        elif not _is_harmless_attribute(name, value):
            del element.attrib[name]
    if element.tag == _SVG + "style":
        element.text = _safe_sheet(element.text or "")


def _is_harmless_attribute(name: str, value: str) -> bool:
    if name in _HREFS:
        return value.startswith("#") or _INLINE_IMAGE.fullmatch(value) is not None
    known = name == _XML_SPACE or name in _ATTRIBUTES
    return known and (name in _TEXTS or _is_harmless_value(value))


def _safe_sheet(text: str) -> str:
    """Return the rules with a plain selector, reduced to properties that paint."""
    rules = [(selector.strip(), body) for selector, body in _RULE.findall(_COMMENT.sub(" ", text))]
    kept = [(selector, body) for selector, body in rules if _SELECTOR.fullmatch(selector)]
    return "".join(f"{selector}{{{_safe_declarations(body, _PAINT)}}}" for selector, body in kept)


def _safe_declarations(text: str, names: frozenset[str]) -> str:
    declarations = [part.partition(":") for part in _COMMENT.sub(" ", text).split(";")]
    kept = [(name.strip(), value) for name, _, value in declarations if name.strip().lower() in names]
    return ";".join(f"{name}:{value}" for name, value in kept if _is_harmless_value(value))


def _is_harmless_value(value: str) -> bool:
    """Whether the value calls only functions that load nothing; `url` only with a part of the image itself."""
    if any(sign in _STRING.sub("", value) for sign in "\\@<'\"") or any(sign in value for sign in "\\<"):
        return False
    called = _FUNCTION.findall(_COMMENT.sub(" ", value))
    return all(bool(local) if name.lower() == "url" else name.lower() in _HARMLESS_FUNCTIONS for name, local in called)


# Sanitizes the outputs of sibling kernels for the user's notebook.
#
# The outputs of a candidate are written into the user's notebook and marked as trusted, so they must not contain
# active content: MIME types, HTML tags, attributes, style properties and TeX commands are restricted by
# allow-lists, SVG is rebuilt from known elements, and Markdown is rendered as HTML. What cannot be made safe is
# left out; its plain text stays, with a note if nothing else is left. Sizes are limited, and a note marks each cut.
# Any input gives valid nbformat outputs. `docs/trace-format.md` lists what happens to each type.

_MAX_OUTPUT: Final = 1_000_000
"""Maximum size of each MIME type of an output, in bytes of UTF-8."""
_MAX_CELL: Final = 5_000_000
"""Maximum size of all outputs of a cell, in bytes of UTF-8."""
_MAX_COUNT: Final = 200
"""Maximum number of outputs of a cell."""
_FOR_PROGRAMS: Final = re.compile(r"application/vnd\.exploracoder\..*|text/llm\+plain")
"""Types that no front end shows, so that nothing is lost without them."""
_UNSAFE: Final = "it cannot be shown safely here"
_NOTE: Final = re.compile(rf"\n?\[[^\[\]\n]{{1,400}} left out: (?:{_UNSAFE}|more than [\d,]+ bytes)\]")
_LINK: Final = re.compile(r"<(?=[aA]\s)")
"""What VS Code takes for a link in a traceback, where it renders all that stands between the tags as HTML."""


def without_notes(text: str) -> str:
    """Remove the notes on types that were left out, which earlier versions did not write beside plain text."""
    return _NOTE.sub("", text)


def sanitize(outputs: Sequence[Output]) -> tuple[Output, ...]:
    """Return outputs that are safe to show, in nbformat's form. Never raises, whatever the outputs contain."""
    safe: list[Output] = []
    remaining = _MAX_CELL
    for index, output in enumerate(outputs):
        if index >= _MAX_COUNT or remaining < _MAX_OUTPUT // 10:
            safe.append(_note(f"{len(outputs) - index} further outputs left out: too many or too large for one cell"))
            break
        clean = _sanitize_output(output, min(_MAX_OUTPUT, remaining))
        remaining -= int(_json_size(clean))
        safe.append(clean)
    return tuple(safe)


def _sanitize_output(output: Output, limit: int) -> Output:
    match output.get("output_type"):
        case "stream":
            name = "stderr" if output.get("name") == "stderr" else "stdout"
            return {"output_type": "stream", "name": name, "text": _trim(_text(output.get("text")), limit)}
        case "error":
            return _error(output, limit)
        case "display_data" | "execute_result" as kind:
            return _rich(str(kind), output, limit)
        case _:
            return _note("an output of unknown type was left out")


def _error(output: Output, limit: int) -> Output:
    traceback = output.get("traceback")
    lines = (
        [_without_links(_trim(_text(line), limit // 8)) for line in traceback] if isinstance(traceback, list) else []
    )
    return {
        "output_type": "error",
        "ename": _without_links(_trim(_text(output.get("ename")), 1000)) or "Error",
        "evalue": _without_links(_trim(_text(output.get("evalue")), limit // 8)),
        "traceback": [*_shorten_lines(lines, limit // 4)],
    }


def _without_links(text: str) -> str:
    return _LINK.sub("\N{SINGLE LEFT-POINTING ANGLE QUOTATION MARK}", text)


def _shorten_lines(lines: list[str], limit: int) -> list[str]:
    if sum(map(len, lines)) <= limit:
        return lines
    head, tail = (
        [line for line, until in zip(side, accumulate(map(len, side)), strict=True) if until <= limit // 2]
        for side in (lines, lines[::-1])
    )
    return [*head, f"[... {len(lines) - len(head) - len(tail):,} lines left out ...]", *tail[::-1]]


def _rich(kind: str, output: Output, limit: int) -> Output:
    data = output.get("data")
    bundle = data if isinstance(data, dict) else {}
    safe: dict[str, JsonValue] = dict(_safe_items(bundle, limit))
    if omitted := ", ".join(name for name in omitted_values(output) if name not in bundle):
        # part of the cells in existing traces: another wording would make them look edited
        note = f"[{omitted} left out: no room in this trace]"
        safe["text/plain"] = f"{safe.get('text/plain', '')}\n{note}".lstrip()
    lost = [name for name in bundle if name != "text/plain" and not _FOR_PROGRAMS.fullmatch(name)]
    if not safe or (lost and safe.keys() == {"text/plain"}):
        names = ", ".join(sorted(re.sub(r"[\[\]\n]", "", _text(name)[:60]) for name in lost or bundle)[:5]) or "no data"
        large = any(_json_size(bundle[name]) > limit for name in lost or bundle)
        note = f"[{names} left out: {f'more than {limit:,} bytes' if large else _UNSAFE}]"
        safe["text/plain"] = f"{without_notes(str(safe.get('text/plain', '')))}\n{note}".lstrip("\n")
    clean: Output = {"output_type": kind, "data": safe, "metadata": _image_sizes(output.get("metadata"), safe)}
    return {**clean, "execution_count": None} if kind == "execute_result" else clean


def _safe_items(bundle: dict[str, JsonValue], limit: int) -> Iterator[tuple[str, JsonValue]]:
    # Markdown becomes HTML, unless there is HTML
    for mime, value in sorted(bundle.items(), key=lambda item: item[0] == "text/markdown", reverse=True):
        if mime == "text/plain":
            yield mime, _trim(_text(value), limit)
        elif mime == "application/json" and _json_size(value) <= limit:
            yield mime, _finite(value)
        elif clean := _CLEANERS.get(mime):
            # check the size first, because the cost of cleaning grows with it
            safe = clean(text) if len(text := _text(value)) <= limit else None
            if safe is not None and len(safe.encode()) <= limit:
                yield _SHOWN_AS.get(mime, mime), safe


def _base64(signature: bytes) -> Callable[[str], str | None]:
    def clean(text: str) -> str | None:
        compact = "".join(text.split())
        try:
            content = base64.b64decode(compact, validate=True)
        except (binascii.Error, ValueError):
            return None
        return compact if content.startswith(signature) else None

    return clean


_CLEANERS: dict[str, Callable[[str], str | None]] = {
    "text/html": safe_html,
    "text/markdown": safe_markdown,
    "text/latex": safe_latex,
    "image/png": _base64(b"\x89PNG"),
    "image/jpeg": _base64(b"\xff\xd8"),
    "image/gif": _base64(b"GIF8"),
    "image/svg+xml": safe_svg,
}
_SHOWN_AS: Final = {"text/markdown": "text/html"}


def _image_sizes(metadata: JsonValue, data: dict[str, JsonValue]) -> dict[str, JsonValue]:
    """Keep only image sizes from an output's metadata: nothing else is needed, and front ends act on other entries."""
    sizes: dict[str, JsonValue] = {}
    for mime, entry in metadata.items() if isinstance(metadata, dict) else ():
        if mime.startswith("image/") and mime in data and isinstance(entry, dict):
            size: dict[str, JsonValue] = {
                key: value
                for key in ("width", "height")
                if isinstance(value := entry.get(key), int) and 0 < value < 10_000
            }
            sizes.update({mime: size} if size else {})
    return sizes


def _text(value: object) -> str:
    """Return nbformat's multi-line strings, and anything else, as one encodable string."""
    return encodable("".join(map(str, value)) if isinstance(value, list) else value if isinstance(value, str) else "")


def _trim(text: str, limit: int) -> str:
    content = text.encode()
    if len(content) <= limit:
        return text
    head, tail = content[: limit * 3 // 4], content[len(content) - limit // 8 :]
    left_out = len(content) - len(head) - len(tail)
    return f"{head.decode(errors='ignore')}\n[... {left_out:,} bytes left out ...]\n{tail.decode(errors='ignore')}"


def _finite(value: JsonValue) -> JsonValue:
    """Convert a value to strict JSON: non-finite numbers become strings."""
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, list):
        return [_finite(item) for item in value]
    if isinstance(value, dict):
        return {_text(key): _finite(item) for key, item in value.items()}
    return _text(value) if isinstance(value, str) else value


def _note(text: str) -> Output:
    return {"output_type": "stream", "name": "stderr", "text": f"[{text}]\n"}


def _json_size(value: JsonValue) -> float:
    """Return the length of the value's JSON; infinite if it is nested too deeply to serialize."""
    try:
        return len(json.dumps(_finite(value)))
    except RecursionError:
        return math.inf

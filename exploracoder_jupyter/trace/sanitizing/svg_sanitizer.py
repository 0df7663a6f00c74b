"""Sanitizes SVG from candidates by rebuilding it from known elements, attributes and style properties.

Front ends show SVG as an image, but exporters embed it in the page, where scripts, event handlers, foreign HTML and
external references would be active. So the image is parsed as XML and rebuilt from allow-lists; other elements are
removed with all their content, as are comments and processing instructions. References may only point into the image
itself, and values may only call functions that load nothing.
"""

from __future__ import annotations

import re
from typing import Final
from xml.etree import ElementTree

from exploracoder_jupyter.trace.sanitizing.tex_commands import has_acting_formula

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

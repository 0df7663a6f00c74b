"""Sanitizes SVG from candidates by rebuilding it from known elements and attributes.

Front ends show SVG as an image, but exporters embed it in the page, where scripts, event handlers, foreign HTML and
external references would be active. So the image is parsed as XML and rebuilt from an allow-list; other elements are
removed with all their content. References may only point into the image itself.
"""

from __future__ import annotations

import re
from xml.etree import ElementTree

_SVG = "{http://www.w3.org/2000/svg}"
_HREFS = frozenset({"href", "{http://www.w3.org/1999/xlink}href"})
_XML_SPACE = "{http://www.w3.org/XML/1998/namespace}space"

_ELEMENTS = (
    "svg g defs symbol use title desc path rect circle ellipse line polyline polygon text tspan textPath clipPath mask"
    " pattern marker linearGradient radialGradient stop filter feGaussianBlur feOffset feBlend feColorMatrix feMerge"
    " feMergeNode feFlood feComposite image style switch"
)
_PLAIN_ATTRIBUTE = re.compile(r"(?!on|src|base)[A-Za-z][A-Za-z0-9-]*", re.IGNORECASE)
_EXTERNAL = re.compile(r"url\(\s*['\"]?(?!\s*['\"]?#)|@import|expression\(|(?:java|vb)script:|\\|<", re.IGNORECASE)
_INLINE_IMAGE = re.compile(r"data:image/(?:png|jpeg|gif);base64,[A-Za-z0-9+/=\s]+")

ElementTree.register_namespace("", _SVG.strip("{}"))
ElementTree.register_namespace("xlink", "http://www.w3.org/1999/xlink")


def safe_svg(text: str) -> str | None:
    """Reduce SVG to known elements and attributes; `None` if it is not SVG, defines entities or is too deep."""
    if "<!ENTITY" in text.upper():
        return None
    try:
        root = ElementTree.fromstring(text)
        if root.tag != _SVG + "svg":
            return None
        for element in list(root.iter()):
            for child in list(element):
                if not _is_allowed(child):
                    element.remove(child)
            for name, value in list(element.items()):
                if not _is_harmless(name, value):
                    del element.attrib[name]
        return ElementTree.tostring(root, encoding="unicode")
    except (ElementTree.ParseError, ValueError, RecursionError):
        return None


def _is_allowed(element: ElementTree.Element) -> bool:
    namespace, _, name = str(element.tag).rpartition("}")
    if namespace + "}" != _SVG or name not in _ELEMENTS.split():
        return False
    return name != "style" or not _EXTERNAL.search(element.text or "")


def _is_harmless(name: str, value: str) -> bool:
    if name in _HREFS:
        return value.startswith("#") or _INLINE_IMAGE.fullmatch(value) is not None
    return (name == _XML_SPACE or _PLAIN_ATTRIBUTE.fullmatch(name) is not None) and not _EXTERNAL.search(value)

"""Compares the outputs of an execution with those of its re-execution."""

from __future__ import annotations

import base64
import math
import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import partial, reduce
from io import BytesIO
from itertools import zip_longest
from typing import Any, Final, Literal, TypeAlias

from pydantic import JsonValue

from exploracoder_jupyter.core.types import Observation
from exploracoder_jupyter.trace.markdown import clip
from exploracoder_jupyter.trace.text_normalization import normalize

# Compares two images: by their pixels if Pillow is installed, else by their bytes.
#
# Images count as the same if less than one percent of the pixels differ, because machines render edges slightly
# differently, and if no small area has several pixels that differ strongly, because that is all that another digit
# in a title changes.

_SAME_SHARE: Final = 0.01
_STRONG: Final = 64
"""Difference of a color channel that counts as strong, of 255."""
_RADIUS: Final = 4
"""A small area is a square with a side of twice as many pixels and one."""
_DETAIL_PIXELS: Final = 5
"""Strongly different pixels in such a square that count as a difference. Fewer cannot turn one digit into another, at
10 points and 72 dpi."""


def describe_image_difference(one: str, other: str) -> str:
    """Describe how two base64 images differ; empty if they look the same."""
    if one == other:
        return ""
    old, new = _open(one), _open(other)
    if old is None or new is None:
        return "a different picture"
    if old.size != new.size:
        return f"a picture of {' -> '.join(f'{width} by {height}' for width, height in (old.size, new.size))} pixels"
    from PIL import ImageChops, ImageFilter, ImageOps

    distance: Any = reduce(ImageChops.lighter, ImageChops.difference(old, new).split())
    share = 1 - distance.histogram()[0] / (old.width * old.height)
    if share >= _SAME_SHARE:
        return f"{share:.1%} of the pixels differ"
    strong: Any = ImageOps.expand(distance.point(lambda value: 255 * (value > _STRONG)), border=_RADIUS)
    share_of_square = strong.filter(ImageFilter.BoxBlur(_RADIUS)).getextrema()[1] / 255
    pixels = round(share_of_square * (2 * _RADIUS + 1) ** 2)
    return "a detail differs" if pixels >= _DETAIL_PIXELS else ""


def _open(text: str) -> Any:
    """Decode an image; `None` if it cannot be read here."""
    try:
        from PIL import Image

        with warnings.catch_warnings():
            warnings.simplefilter("error")  # Pillow warns about decompression bombs
            return Image.open(BytesIO(base64.b64decode(text))).convert("RGBA")
    except Exception:  # Pillow is not installed, or the file is broken, which can raise anything
        return None


# The parts of an execution's output (texts, pictures, JSON trees) in comparable form, and how two of them differ.

TOLERANCE: Final = 1e-6
"""Relative tolerance for floating-point numbers."""
MAX_SHOWN: Final = 80
"""Length to which texts are clipped in descriptions of differences."""

_CONTEXT: Final = 20
"""Characters shown before the first difference."""
_FLOAT = re.compile(r"[-+]?(?<!\d)(?:\d+\.\d*|\.\d+|\d+(?=[eE]))(?:[eE][-+]?\d+)?")
_NUMBER = re.compile(r"[-+]?\d+(?:[.,]\d+)*(?:[eE][-+]?\d+)?")
_SPACES = re.compile(r"(?<=\S)[ \t]+")
_TAG = re.compile(r"<[^<>]*>")
_PICTURES: Final = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp", "image/bmp"})
_MARKUP: Final = frozenset({"text/html", "image/svg+xml", "application/xml", "text/xml"})
_WIDGET_MIME: Final = "application/vnd.jupyter.widget-"


@dataclass(frozen=True, slots=True)
class Text:
    """A normalized text."""

    text: str
    unordered: bool = False
    """Whether several threads or processes wrote it, so that its order does not matter."""


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture in base64."""

    content: str


@dataclass(frozen=True, slots=True)
class Tree:
    """A JSON value with normalized texts."""

    value: JsonValue


Part: TypeAlias = Text | Picture | Tree


def part_of(mime: str, value: JsonValue, day: date) -> Part:
    """Convert an output of this MIME type, made on this day, to comparable form."""
    if mime.startswith(_WIDGET_MIME):
        return Text(mime)  # its content is an id that is random each time
    if mime in _PICTURES and isinstance(value, str):
        return Picture(value.strip())
    if isinstance(value, dict) or mime.endswith("json"):
        return Tree(map_strings(value, partial(normalize, day=day)))
    text = join_lines(value)
    if mime in _MARKUP:  # each tag on a separate line, so that the text between tags can be compared
        text = "\n".join(filter(str.strip, _TAG.sub(lambda found: f"\n{found[0]}\n", text).split("\n")))
    return Text(normalize(text, day=day))


def describe_part_difference(old: Part, new: Part, tolerance: float) -> str:
    """Describe the first line or place that differs: old, then new. Empty if both are the same."""
    match old, new:
        case Text(), Text():
            return _describe_text_difference(old, new, tolerance)
        case Picture(), Picture():
            return describe_image_difference(old.content, new.content)
        case Tree(), Tree():
            return _describe_tree_difference(old.value, new.value, tolerance, "")
    return "another kind of output"


def structure_of(part: Part) -> object:
    """Return the structure of a part without values.

    Of a text these are the words, without white space, which depends on the widths and signs of the numbers.
    """
    match part:
        case Text(text):
            return "".join(_NUMBER.sub("#", text).split())
        case Tree(value):
            return _shape(value)
    return "picture"


def join_lines(value: JsonValue) -> str:
    """Join a text that a notebook may store as a list of lines."""
    return "".join(map(str, value)) if isinstance(value, list) else "" if value is None else str(value)


def map_strings(value: JsonValue, change: Callable[[str], str]) -> JsonValue:
    """Apply a function to every string in a JSON value, except keys."""
    if isinstance(value, dict):
        return {key: map_strings(item, change) for key, item in value.items()}
    if isinstance(value, list):
        return [map_strings(item, change) for item in value]
    return change(value) if isinstance(value, str) else value


def texts_match(one: str, other: str, tolerance: float) -> bool:
    """Whether two normalized texts are the same.

    Floating-point numbers may differ within the relative tolerance, and so may the widths of columns, which depend on
    their digits. All else must be equal.
    """
    if one == other:
        return True
    if _SPACES.sub(" ", _FLOAT.sub("#", one)) != _SPACES.sub(" ", _FLOAT.sub("#", other)):
        return False
    pairs = zip(_FLOAT.findall(one), _FLOAT.findall(other), strict=True)
    return all(math.isclose(float(a), float(b), rel_tol=tolerance) for a, b in pairs)


def _describe_text_difference(old: Text, new: Text, tolerance: float) -> str:
    if texts_match(old.text, new.text, tolerance) or (
        old.unordered and _match_unordered(old.text, new.text, tolerance)
    ):
        return ""
    pairs = zip_longest(old.text.split("\n"), new.text.split("\n"), fillvalue="")
    return next((_show_change(one, two) for one, two in pairs if not texts_match(one, two, tolerance)), "")


def _match_unordered(one: str, other: str, tolerance: float) -> bool:
    """Whether two texts have the same lines in another order, or the same numbers and other characters in any order.

    If interleaved output has joined numbers, their digits are compared instead.
    """
    lines = ["\n".join(sorted(filter(str.strip, text.split("\n")))) for text in (one, other)]
    if texts_match(lines[0], lines[1], tolerance):
        return True
    numbers = [sorted(_NUMBER.findall(text)) for text in (one, other)]
    if len(numbers[0]) != len(numbers[1]):
        numbers = [sorted("".join(found)) for found in numbers]
    rest = [sorted("".join(_NUMBER.sub("", text).split())) for text in (one, other)]
    return numbers[0] == numbers[1] and rest[0] == rest[1]


def _show_change(old: str, new: str) -> str:
    first = next((place for place, (one, two) in enumerate(zip_longest(old, new)) if one != two), 0)
    start = first - _CONTEXT if first > MAX_SHOWN // 2 else 0
    return " -> ".join(f"{'…' if start else ''}{clip(text[start:], MAX_SHOWN)}" or "nothing" for text in (old, new))


def _describe_tree_difference(old: JsonValue, new: JsonValue, tolerance: float, at: str) -> str:
    parts: list[tuple[JsonValue, JsonValue, str]] = []
    if isinstance(old, dict) and isinstance(new, dict) and old.keys() == new.keys():
        parts = [(old[key], new[key], f"{at}.{key}") for key in old]
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        parts = [(a, b, f"{at}[{n}]") for n, (a, b) in enumerate(zip(old, new, strict=True))]
    elif not _leaves_match(old, new, tolerance):
        return f"{at.lstrip('.')}: {_show_change(str(old), str(new))}"
    return next((why for a, b, place in parts if (why := _describe_tree_difference(a, b, tolerance, place))), "")


def _leaves_match(old: JsonValue, new: JsonValue, tolerance: float) -> bool:
    """Whether two values without parts are the same; numbers may differ within the relative tolerance."""
    if isinstance(old, str) and isinstance(new, str):
        return texts_match(old, new, tolerance)
    if _is_number(old) and _is_number(new):  # a saved notebook has 1 for 1.0
        integers = isinstance(old, int) and isinstance(new, int)
        return old == new or (not integers and math.isclose(float(str(old)), float(str(new)), rel_tol=tolerance))
    return type(old) is type(new) and old == new


def _shape(value: JsonValue) -> object:
    if isinstance(value, dict):
        return {key: _shape(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_shape(item) for item in value]
    return "number" if _is_number(value) else type(value).__name__


def _is_number(value: JsonValue) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


# Compares the outputs of an execution with those of its re-execution.
#
# Observations are compared in normalized form, without what depends on the time, machine or process (`normalize`).
# First comes their structure: status, type of error, bound names and kinds of outputs. Then come the outputs, part
# by part. Several re-executions show which differences are inherent to the code: where they differ from one
# another, the output varies, and the difference does not count as a change.

Result = Literal["same", "varies", "changed"]

_THREADS = re.compile(
    r"\b(threading|_thread|concurrent|multiprocessing|asyncio|joblib|\w*ThreadPool\w*|n_jobs|anyio)\b"
)


@dataclass(frozen=True, slots=True)
class ComparableResult:
    """The result of an execution in comparable form."""

    status: str
    error: str
    """Type of the error; empty if there was none."""
    names: Mapping[str, str]
    """New and rebound names with their types."""
    kinds: tuple[tuple[str, ...], ...]
    """The MIME types of each display, in order."""
    parts: Mapping[str, Part]
    """The outputs by place: `stdout`, `message`, `text/html`, `output 2, text/plain`."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """How an execution compares with its record, and a description of the difference."""

    result: Result
    why: str = ""


def comparable_result(observation: Observation, *, day: date, code: str = "") -> ComparableResult:
    """Convert an observation to comparable form.

    `day` is when it was made; dates of that day are masked. If `code` uses threads or processes, the order of its
    output does not matter.
    """
    error, streams, displays = observation.error, {"stdout": "", "stderr": ""}, []
    for output in observation.outputs:
        if output.get("output_type") == "stream":
            name = str(output.get("name"))
            streams[name] = streams.get(name, "") + join_lines(output.get("text"))
        elif isinstance(data := output.get("data"), dict):
            displays.append({mime: data[mime] for mime in sorted(data, key=lambda mime: (mime != "text/plain", mime))})
    unordered = bool(_THREADS.search(code))
    texts = {**streams, "message": error.message if error else ""}
    parts: dict[str, Part] = {where: Text(normalize(text, day=day), unordered) for where, text in texts.items()}
    for number, data in enumerate(displays, 1):
        for mime, value in data.items():
            parts[mime if len(displays) == 1 else f"output {number}, {mime}"] = part_of(mime, value, day)
    names = dict(observation.names)
    return ComparableResult(observation.status, error.name if error else "", names, tuple(map(tuple, displays)), parts)


def compare_with_record(
    recorded: ComparableResult, again: Sequence[ComparableResult], *, tolerance: float = TOLERANCE
) -> Comparison:
    """Compare a record with several re-executions: `same`, `varies`, or `changed`.

    It varies if the re-executions differ from one another while at least one has the recorded structure. One
    re-execution cannot show that, so any difference counts as changed. The outputs of re-executions with another
    structure are ignored.
    """
    comparable = [one for one in again if not _structural_difference(recorded, one)]
    if not comparable:
        return Comparison("changed", _structural_difference(recorded, again[0]))
    if len(comparable) > 1 or len(comparable) == len(again):
        for where, part in recorded.parts.items():
            if why := _describe_change(part, [one.parts[where] for one in comparable], tolerance):
                return Comparison("changed", f"{where}: {why}")
    why = describe_difference(recorded, again[0], tolerance=tolerance)
    return Comparison("varies", why) if why else Comparison("same")


def describe_difference(old: ComparableResult, new: ComparableResult, *, tolerance: float = TOLERANCE) -> str:
    """Describe the first difference between two results; empty if they are the same."""
    if structure := _structural_difference(old, new):
        return structure
    for where, part in old.parts.items():
        if why := describe_part_difference(part, new.parts[where], tolerance):
            return f"{where}: {why}"
    return ""


def _describe_change(recorded: Part, shown: Sequence[Part], tolerance: float) -> str:
    """Describe how a part differs from all re-executions, if these agree with one another in content or in form."""
    why = [describe_part_difference(recorded, part, tolerance) for part in shown]
    if not all(why):
        return ""
    if not any(describe_part_difference(shown[0], part, tolerance) for part in shown[1:]):
        return why[0]
    forms = [structure_of(part) for part in shown]
    return "" if structure_of(recorded) in forms or any(form != forms[0] for form in forms[1:]) else why[0]


def _structural_difference(old: ComparableResult, new: ComparableResult) -> str:
    if (old.status, old.error) != (new.status, new.error):
        return f"{_outcome(old)} -> {_outcome(new)}"
    if old.kinds != new.kinds:
        return f"outputs: {_list_kinds(old)} -> {_list_kinds(new)}"
    lost, more = ([name for name in a if name not in b] for a, b in ((old.names, new.names), (new.names, old.names)))
    parts = [f"no {clip(', '.join(lost), MAX_SHOWN)}"] if lost else []
    parts += [f"also {clip(', '.join(more), MAX_SHOWN)}"] if more else []
    other = [name for name in old.names if name in new.names and old.names[name] != new.names[name]]
    parts += [f"{name} {old.names[name]} -> {new.names[name]}" for name in other[:3]]
    return f"names: {'; '.join(parts)}" if parts else ""


def _outcome(one: ComparableResult) -> str:
    message = one.parts["message"]
    more = clip(message.text, MAX_SHOWN) if isinstance(message, Text) else ""
    return one.status if not one.error else f"{one.error}: {more}" if more else one.error


def _list_kinds(one: ComparableResult) -> str:
    return "; ".join(", ".join(mimes) for mimes in one.kinds) or "none"

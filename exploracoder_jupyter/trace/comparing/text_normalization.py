"""Removes from a text what depends on the time, the machine and the process, so that the rest can be compared.

Each function is one rule; `normalize` applies them all, in an order in which no rule hides what a later one looks for.
Masked text is not compared at all, so each rule is as narrow as possible. Dates are masked only if they are the day of
the run: dates in data stay.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date, datetime, timedelta
from functools import partial
from typing import Final

from exploracoder_jupyter.text.terminal_text import apply_carriage_returns, strip_ansi

MASK: Final = "…"

_ADDRESS = re.compile(r"\b0x[0-9a-fA-F]{9,16}\b|(?<=\bat )0x[0-9a-fA-F]{6,8}\b")
"""Shorter hexadecimal numbers are more likely data, such as colors and checksums, except after "at"."""
_OBJECT_ID = re.compile(r"(?<![\w.])(?:1[34]\d{13}|9[34]\d{12})(?![\w.])")
"""Values of `id()` in the address ranges of Linux. On other systems, ids are recognized because they vary from run to
run."""
_UUID = re.compile(r"\b[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}\b")
_RANDOM_ID = re.compile(r"\b(altair-viz-|T_(?=[0-9a-f]{5}(?:_|\b))|sk-container-id-)[0-9a-f]+")
"""Random ids that libraries put into their HTML."""
_PROCESS = re.compile(
    r"\b([Pp][Ii][Dd][ =:]{1,3}|[Pp]rocess(?: id)?[ =:#]{1,2}(?=\d{3})|\w*(?:Process|Worker|Thread|Executor)[-_])\d+"
)
_PORT = re.compile(r"(\bport[ =:#]{1,3}|\b(?:localhost|127\.0\.0\.1|0\.0\.0\.0|\[::1?\]):)\d+", re.IGNORECASE)

_IPYKERNEL = re.compile(
    r"(?:/[\w.-]{1,80}){0,9}/?ipykernel_\d+[/\\]\d+\.py(?::\d+)?|<ipython-input-[\w-]+>|Cell In\[\d+\], line \d+"
)
_RANDOM_NAME = re.compile(r"\btmp[a-z0-9_]{8}(?![a-z0-9_])|\bxplora-[\w]{8}")
_BELOW_TEMPORARY = re.compile(r"(?<=/tmp/)([\w.-]{0,60}?)(?=[a-z0-9_]{0,7}[0-9_])[a-z0-9_]{8}(?=[/\s'\").,:;]|$)")
_PATH = re.compile(
    r"(?<![\w.:/~…])(?:~|/(?:home|root|Users|tmp|var|private|mnt|media|opt|usr|srv|work|workspaces?|content|data|app))"
    r"(?:/[^\s/'\"<>:;,()\[\]{}|*?]+)*/(?=[^\s/'\"<>:;,()\[\]{}|*?])"
    r"|(?<![\w/])[A-Za-z]:\\{1,2}(?:[^\s\\'\"<>:;,()\[\]{}|*?]+\\{1,2})+"
)
_LINE = re.compile(rf"({MASK}/[\w.-]+\.pyx?):\d+")

_NUMBER: Final = r"\d{1,20}(?:[.,]\d{1,20}){0,6}"
_EXPONENT: Final = r"(?:e[-+]?\d{1,3})?"
_TIMEIT = re.compile(
    rf"(?<![\w.,]){_NUMBER}{_EXPONENT} ?(\w{{1,3}}) ± {_NUMBER}{_EXPONENT} ?\w{{1,3}}( per loop)?( \([^)]*\))?"
)
_WALL = re.compile(r"^(CPU times|Wall time):.*$", re.MULTILINE)
_SHORT_TIME = re.compile(rf"(?<![\w.]){_NUMBER}{_EXPONENT} ?(ns|µs|μs|us|ms|nsec|usec|msec|milliseconds?)\b")
_SECONDS = re.compile(rf"(?<![\w.])\d+\.\d+{_EXPONENT} ?(s|secs?|seconds?|mins?|minutes?)\b")
_RATE = re.compile(rf"(?<![\w.])(?:{_NUMBER}|\?) ?(it/s|s/it|[kMG]i?B/s)\b")

_MONTHS: Final = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_MONTH: Final = rf"(?:{'|'.join(_MONTHS)})[a-z]*"
_TIME: Final = r"\d{1,2}:\d\d(?::\d\d(?:[.,]\d+)?)?(?: ?[AaPp][Mm])?(?: ?(?:Z|UTC|GMT|[+-]\d\d:?\d\d))?"
_ISO_DAY = re.compile(rf"(?<!\d)(\d{{4}})([-/_]?)(\d\d)\2(\d\d)(?!\d)(?:[T _-](?:{_TIME}|\d{{6}}))?")
_WORDY_DAY = re.compile(
    rf"(?:\b[A-Z][a-z]{{2,8}},? +)?(?:\b(?P<d1>\d{{1,2}}) +(?P<m1>{_MONTH})|\b(?P<m2>{_MONTH}) +(?P<d2>\d{{1,2}}),?)"
    rf"(?: +{_TIME})? +(?P<y>\d{{4}})\b(?:,? +{_TIME})?"
)
_MADE_DAY = re.compile(r"\bdate(?:time)?\((\d{4}), (\d{1,2}), (\d{1,2})[^()]*(?:\([^()]*\))?\)")
_CLOCK = re.compile(r"(?<!\d{4}-\d\d-\d\d[ T])(?<![\w:.])\d{1,2}:\d\d:\d\d(?:[.,]\d+)?(?![\w:])")
_EPOCH = re.compile(r"(?<![\w.])1[5-9]\d{8}(?:\d{3}|\d{6}|\d{9})?(?:\.\d+)?(?!\w)")

_PERCENT = re.compile(r"(?<!\d)\d{1,3}%\s{0,9}\|[^|]{0,200}\|\s{0,9}[\d?][^\s/]{0,20}/\S|\dit \[\d")
_BLOCKS = re.compile(r"[━╸╺█▏▎▍▌▋▊▉░▒▓]{3,}")
_MOVING = re.compile(r"\d:\d\d|-:--|/s(?:tep)?\b")
"""Times and speeds, which progress bars show and charts made of block characters do not."""

_KEYS = re.compile(r"\bdict_keys\(\[([^\[\]{}()]*)\]\)")
_BRACES = re.compile(r"\{([^{}]*)\}")
_PLACEHOLDER = re.compile(r"\0(\d+)\0")
_MAX_NESTING: Final = 20
"""Maximum nesting of sets, which are sorted from the innermost out."""

_MAX_TIME_ZONE_OFFSET: Final = timedelta(days=1)
"""Maximum difference between the clocks of two time zones."""


def normalize(text: str, *, day: date) -> str:
    """Remove what depends on the time, the machine and the process; `day` is when the text was made."""
    for rule in (
        strip_ansi,
        apply_carriage_returns,
        without_progress,
        without_cell_files,
        without_temporary_names,
        without_folders,
        without_uuids,
        without_addresses,
        partial(without_days, day=day),
        partial(without_epochs, day=day),
        without_clocks,
        without_durations,
        without_processes,
        without_ports,
        sorted_sets,
        without_trailing_spaces,
    ):
        text = rule(text)
    return text


def without_progress(text: str) -> str:
    """Reduce progress bars to their words, without numbers and blocks."""
    return "\n".join(_progress_words(line) if _is_progress_bar(line) else line for line in text.split("\n"))


def _is_progress_bar(line: str) -> bool:
    return bool(_PERCENT.search(line) or (_BLOCKS.search(line) and _MOVING.search(line)))


def _progress_words(line: str) -> str:
    return " ".join(re.findall(r"[^\W\d_]{3,}", re.sub(r"\[[^\[\]]*\]", "", line))) + f" {MASK}"


def without_cell_files(text: str) -> str:
    """Mask the file names and line numbers that kernels give to cells."""
    return _IPYKERNEL.sub(f"<cell {MASK}>", text)


def without_temporary_names(text: str) -> str:
    """Mask the random parts in the names of temporary files and folders."""
    return _BELOW_TEMPORARY.sub(rf"\1{MASK}", _RANDOM_NAME.sub(f"tmp{MASK}", text))


def without_folders(text: str) -> str:
    """Reduce absolute paths to their last part, because folders differ between machines.

    Line numbers in code files at such paths are masked too.
    """
    return _LINE.sub(rf"\1:{MASK}", _PATH.sub(f"{MASK}/", text))


def without_uuids(text: str) -> str:
    """Mask UUIDs and the random ids that libraries put into their HTML."""
    return _RANDOM_ID.sub(rf"\1{MASK}", _UUID.sub(MASK, text))


def without_addresses(text: str) -> str:
    """Mask memory addresses and object ids."""
    return _OBJECT_ID.sub(MASK, _ADDRESS.sub(MASK, text))


def without_days(text: str, *, day: date) -> str:
    """Mask dates of the day on which the text was made, including an adjacent time."""
    text = _ISO_DAY.sub(lambda found: _mask_if_near(found, (found[1], found[3], found[4]), day), text)
    text = _MADE_DAY.sub(lambda found: _mask_if_near(found, (found[1], found[2], found[3]), day), text)
    return _WORDY_DAY.sub(lambda found: _mask_if_near(found, _parse_words(found), day), text)


def _parse_words(found: re.Match[str]) -> tuple[str, str, str]:
    month = str(_MONTHS.index((found["m1"] or found["m2"])[:3]) + 1)
    return found["y"], month, found["d1"] or found["d2"]


def _mask_if_near(found: re.Match[str], parts: tuple[str, str, str], day: date) -> str:
    try:
        near = abs(date(*map(int, parts)) - day) <= _MAX_TIME_ZONE_OFFSET
    except ValueError:
        near = False
    return MASK if near else found[0]


def without_epochs(text: str, *, day: date) -> str:
    """Mask Unix timestamps (also in ms, µs or ns) of the day on which the text was made."""

    def masked(found: re.Match[str]) -> str:
        moment = datetime.fromtimestamp(int(found[0][:10])).date()
        return MASK if abs(moment - day) <= _MAX_TIME_ZONE_OFFSET else found[0]

    return _EPOCH.sub(masked, text)


def without_clocks(text: str) -> str:
    """Mask times of day with seconds. Durations in the same format are masked too."""
    return _CLOCK.sub(MASK, text)


def without_durations(text: str) -> str:
    """Mask measured durations and speeds. Whole seconds stay, because they are more often data than measurements."""
    text = _WALL.sub(rf"\1: {MASK}", _TIMEIT.sub(MASK, text))
    for rule in (_SHORT_TIME, _SECONDS, _RATE):
        text = rule.sub(f"{MASK} time", text)
    return text


def without_processes(text: str) -> str:
    """Mask process and thread numbers."""
    return _PROCESS.sub(rf"\1{MASK}", text)


def without_ports(text: str) -> str:
    """Mask port numbers."""
    return _PORT.sub(rf"\1{MASK}", text)


def sorted_sets(text: str) -> str:
    """Sort the elements of sets, frozen sets and key views. Dictionaries keep their order."""
    replaced: list[str] = []

    def replace(found: re.Match[str]) -> str:
        elements = restore(found[1])
        replaced.append("{" + (elements if _is_mapping(elements) else _sort_elements(elements)) + "}")
        return f"\0{len(replaced) - 1}\0"

    def restore(part: str) -> str:
        return _PLACEHOLDER.sub(lambda found: replaced[int(found[1])], part)

    text = _KEYS.sub(lambda found: f"dict_keys([{_sort_elements(found[1])}])", text.replace("\0", " "))
    for _ in range(_MAX_NESTING):
        text, count = _BRACES.subn(replace, text)
        if not count:
            break
    return restore(text)


def _is_mapping(elements: str) -> bool:
    return any(":" in _without_strings(element) for element in _split_elements(elements))


def _sort_elements(elements: str) -> str:
    return ", ".join(sorted(" ".join(element.split()) for element in _split_elements(elements)))


def _without_strings(element: str) -> str:
    return re.sub(r"'[^']*'|\"[^\"]*\"|\([^()]*\)|\[[^\[\]]*\]|\{[^{}]*\}", "", element)


def _split_elements(text: str) -> Iterator[str]:
    depth, quote, start = 0, "", 0
    for place, char in enumerate(text):
        if quote:
            quote = "" if char == quote else quote
        elif char in "'\"":
            quote = char
        elif char in "([{":
            depth += 1
        elif char in ")]}":
            depth -= 1
        elif char == "," and depth == 0:
            yield text[start:place]
            start = place + 1
    yield text[start:]


def without_trailing_spaces(text: str) -> str:
    """Strip spaces at the ends of lines, and empty lines around the text."""
    return "\n".join(line.rstrip() for line in text.split("\n")).strip("\n")

"""Removes from a text what depends on the time, the machine and the process, so that the rest can be compared.

`normalize` applies all rules, in an order in which no rule hides what a later one looks for. Masked
text is not compared at all, so each rule is as narrow as possible. Dates are masked only if they are the day of the
run: dates in data stay.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from datetime import date, datetime, timedelta
from typing import Final

from exploracoder_jupyter.text.characters import apply_carriage_returns, strip_ansi

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
"""Line numbers in code files at such paths."""

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
_NESTED = re.compile(r"'[^']*'|\"[^\"]*\"|\([^()]*\)|\[[^\[\]]*\]|\{[^{}]*\}")
"""Strings and brackets in an element of a set or a dictionary."""
_PLACEHOLDER = re.compile(r"\0(\d+)\0")
_MAX_NESTING: Final = 20
"""Maximum nesting of sets, which are sorted from the innermost out."""

_MAX_TIME_ZONE_OFFSET: Final = timedelta(days=1)
"""Maximum difference between the clocks of two time zones."""


_PLACES: Final = (
    (_IPYKERNEL, f"<cell {MASK}>"),
    (_RANDOM_NAME, f"tmp{MASK}"),
    (_BELOW_TEMPORARY, rf"\1{MASK}"),
    (_PATH, f"{MASK}/"),
    (_LINE, rf"\1:{MASK}"),
    (_UUID, MASK),
    (_RANDOM_ID, rf"\1{MASK}"),
    (_ADDRESS, MASK),
    (_OBJECT_ID, MASK),
)
"""Rules for what depends on the machine, with their replacements. Of paths the last part stays."""
_TIMES: Final = (
    (_CLOCK, MASK),
    (_TIMEIT, MASK),
    (_WALL, rf"\1: {MASK}"),
    (_SHORT_TIME, f"{MASK} time"),
    (_SECONDS, f"{MASK} time"),
    (_RATE, f"{MASK} time"),
    (_PROCESS, rf"\1{MASK}"),
    (_PORT, rf"\1{MASK}"),
)
"""Rules for times of day, measured durations and speeds, and numbers of processes and ports. Whole seconds stay,
because they are more often data than measurements."""


def normalize(text: str, *, day: date) -> str:
    """Remove what depends on the time, the machine and the process; `day` is when the text was made."""
    text = _mask(_without_progress(apply_carriage_returns(strip_ansi(text))), _PLACES)
    text = _sort_sets(_mask(_without_days(text, day), _TIMES))
    return "\n".join(line.rstrip() for line in text.split("\n")).strip("\n")


def _mask(text: str, rules: Iterable[tuple[re.Pattern[str], str]]) -> str:
    for pattern, replacement in rules:
        text = pattern.sub(replacement, text)
    return text


def _without_progress(text: str) -> str:
    """Reduce progress bars to their words, without numbers and blocks."""
    lines = text.split("\n")
    for place, line in enumerate(lines):
        if _PERCENT.search(line) or (_BLOCKS.search(line) and _MOVING.search(line)):
            words = re.findall(r"[^\W\d_]{3,}", re.sub(r"\[[^\[\]]*\]", "", line))
            lines[place] = f"{' '.join(words)} {MASK}"
    return "\n".join(lines)


def _without_days(text: str, day: date) -> str:
    """Mask dates of the day on which the text was made with an adjacent time, and Unix timestamps of that day."""

    def is_near(year: str, month: str, of_month: str) -> bool:
        try:
            return abs(date(int(year), int(month), int(of_month)) - day) <= _MAX_TIME_ZONE_OFFSET
        except ValueError:
            return False

    def mask_words(found: re.Match[str]) -> str:
        month = str(_MONTHS.index((found["m1"] or found["m2"])[:3]) + 1)
        return MASK if is_near(found["y"], month, found["d1"] or found["d2"]) else found[0]

    def mask_epoch(found: re.Match[str]) -> str:
        moment = datetime.fromtimestamp(int(found[0][:10])).date()
        return MASK if abs(moment - day) <= _MAX_TIME_ZONE_OFFSET else found[0]

    text = _ISO_DAY.sub(lambda found: MASK if is_near(found[1], found[3], found[4]) else found[0], text)
    text = _MADE_DAY.sub(lambda found: MASK if is_near(found[1], found[2], found[3]) else found[0], text)
    return _EPOCH.sub(mask_epoch, _WORDY_DAY.sub(mask_words, text))


def _sort_sets(text: str) -> str:
    """Sort the elements of sets, frozen sets and key views. Dictionaries keep their order."""
    replaced: list[str] = []

    def replace(found: re.Match[str]) -> str:
        elements = restore(found[1])
        is_mapping = any(":" in _NESTED.sub("", element) for element in _split_elements(elements))
        replaced.append("{" + (elements if is_mapping else _sort_elements(elements)) + "}")
        return f"\0{len(replaced) - 1}\0"

    def restore(part: str) -> str:
        return _PLACEHOLDER.sub(lambda found: replaced[int(found[1])], part)

    text = _KEYS.sub(lambda found: f"dict_keys([{_sort_elements(found[1])}])", text.replace("\0", " "))
    for _ in range(_MAX_NESTING):
        text, count = _BRACES.subn(replace, text)
        if not count:
            break
    return restore(text)


def _sort_elements(elements: str) -> str:
    return ", ".join(sorted(" ".join(element.split()) for element in _split_elements(elements)))


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

"""What of a text depends on when, where and in which process it was made, taken out: what is left can be compared.

One rule a function; `normal` applies them all, in an order in which none hides what another one looks for. Whatever is
masked is the same in both texts or is not compared at all, so each rule is as narrow as its subject allows. Days are
masked only where they are the day of the run: dates in data stay.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date, datetime, timedelta
from functools import partial
from typing import Final

MASK: Final = "…"

_ANSI = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b[@-Z\\-_]")
_ADDRESS = re.compile(r"\b0x[0-9a-fA-F]{9,16}\b|(?<=\bat )0x[0-9a-fA-F]{6,8}\b")
"""Shorter ones are rather data, such as colours and checksums, but for what is said to be at one."""
_OBJECT_ID = re.compile(r"(?<![\w.])(?:1[34]\d{13}|9[34]\d{12})(?![\w.])")
"""Where Linux puts what a process allocates; other systems' ids vary from run to run and are found by that."""
_UUID = re.compile(r"\b[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}\b")
_MADE_UP = re.compile(r"\b(altair-viz-|T_(?=[0-9a-f]{5}(?:_|\b))|sk-container-id-)[0-9a-f]+")
"""Ids that libraries make up for their HTML."""
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
_TIMEIT = re.compile(rf"(?<![\w.,]){_NUMBER} ?(\w{{1,3}}) ± {_NUMBER} ?\w{{1,3}}( per loop)?( \([^)]*\))?")
_WALL = re.compile(r"^(CPU times|Wall time):.*$", re.MULTILINE)
_SHORT_TIME = re.compile(rf"(?<![\w.]){_NUMBER}(?:e[-+]?\d+)? ?(ns|µs|μs|us|ms|nsec|usec|msec|milliseconds?)\b")
_SECONDS = re.compile(r"(?<![\w.])\d+\.\d+(?:e[-+]?\d+)? ?(s|secs?|seconds?|mins?|minutes?)\b")
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
"""What bars of blocks show beside them, and charts of blocks do not: times and speeds."""
_DIGITS = re.compile(_NUMBER)

_KEYS = re.compile(r"\bdict_keys\(\[([^\[\]{}()]*)\]\)")
_BRACES = re.compile(r"\{([^{}]*)\}")
_HELD = re.compile(r"\0(\d+)\0")
_INNER: Final = 20
"""Sets in sets are sorted from the innermost out, this many deep."""

_NEAR: Final = timedelta(days=1)
"""Clocks of two time zones are at most so far apart."""


def normal(text: str, *, day: date) -> str:
    """The text without what depends on the moment, the machine and the process; `day` is when it was made."""
    for rule in (
        without_colours,
        last_states,
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


def without_colours(text: str) -> str:
    """No escape sequences of terminals."""
    return _ANSI.sub("", text)


def last_states(text: str) -> str:
    """Lines that were rewritten after a carriage return, as they were left."""
    return "\n".join(line.rstrip("\r").rpartition("\r")[2] for line in text.split("\n"))


def without_progress(text: str) -> str:
    """Of progress bars, what they say beside numbers and blocks."""
    return "\n".join(_bar(line) if _is_bar(line) else line for line in text.split("\n"))


def _is_bar(line: str) -> bool:
    return bool(_PERCENT.search(line) or (_BLOCKS.search(line) and _MOVING.search(line)))


def _bar(line: str) -> str:
    return " ".join(re.findall(r"[^\W\d_]{3,}", re.sub(r"\[[^\[\]]*\]", "", line))) + f" {MASK}"


def without_cell_files(text: str) -> str:
    """No names and line numbers of the files that a kernel takes cells for."""
    return _IPYKERNEL.sub(f"<cell {MASK}>", text)


def without_temporary_names(text: str) -> str:
    """No made-up parts in the names of temporary files and folders."""
    return _BELOW_TEMPORARY.sub(rf"\1{MASK}", _RANDOM_NAME.sub(f"tmp{MASK}", text))


def without_folders(text: str) -> str:
    """Of absolute paths into the folders of a machine, the last part: where things lie differs between machines.

    Nor the lines in code that lies there."""
    return _LINE.sub(rf"\1:{MASK}", _PATH.sub(f"{MASK}/", text))


def without_uuids(text: str) -> str:
    """No UUIDs, and no ids that libraries make up for what they show."""
    return _MADE_UP.sub(rf"\1{MASK}", _UUID.sub(MASK, text))


def without_addresses(text: str) -> str:
    """No addresses in memory, and no ids of objects."""
    return _OBJECT_ID.sub(MASK, _ADDRESS.sub(MASK, text))


def without_days(text: str, *, day: date) -> str:
    """No dates of the day on which the text was made, with the time beside them."""
    text = _ISO_DAY.sub(lambda found: _masked(found, (found[1], found[3], found[4]), day), text)
    text = _MADE_DAY.sub(lambda found: _masked(found, (found[1], found[2], found[3]), day), text)
    return _WORDY_DAY.sub(lambda found: _masked(found, _of_words(found), day), text)


def _of_words(found: re.Match[str]) -> tuple[str, str, str]:
    month = str(_MONTHS.index((found["m1"] or found["m2"])[:3]) + 1)
    return found["y"], month, found["d1"] or found["d2"]


def _masked(found: re.Match[str], parts: tuple[str, str, str], day: date) -> str:
    try:
        near = abs(date(*map(int, parts)) - day) <= _NEAR
    except ValueError:
        near = False
    return MASK if near else found[0]


def without_epochs(text: str, *, day: date) -> str:
    """No seconds since 1970 (or thousandths and so on) that lie on the day on which the text was made."""

    def masked(found: re.Match[str]) -> str:
        moment = datetime.fromtimestamp(int(found[0][:10])).date()
        return MASK if abs(moment - day) <= _NEAR else found[0]

    return _EPOCH.sub(masked, text)


def without_clocks(text: str) -> str:
    """No times of day with seconds, which are also what spans of time look like."""
    return _CLOCK.sub(MASK, text)


def without_durations(text: str) -> str:
    """No measured times and speeds. Whole seconds stay: they are more often data than measured."""
    text = _WALL.sub(rf"\1: {MASK}", _TIMEIT.sub(MASK, text))
    for rule in (_SHORT_TIME, _SECONDS, _RATE):
        text = rule.sub(f"{MASK} time", text)
    return text


def without_processes(text: str) -> str:
    """No numbers of processes and threads."""
    return _PROCESS.sub(rf"\1{MASK}", text)


def without_ports(text: str) -> str:
    """No numbers of ports."""
    return _PORT.sub(rf"\1{MASK}", text)


def sorted_sets(text: str) -> str:
    """The elements of sets, frozen sets and views of keys in one order. Dictionaries keep theirs."""
    held: list[str] = []

    def hold(found: re.Match[str]) -> str:
        elements = shown(found[1])
        held.append("{" + (elements if _is_mapping(elements) else _in_order(elements)) + "}")
        return f"\0{len(held) - 1}\0"

    def shown(part: str) -> str:
        return _HELD.sub(lambda found: held[int(found[1])], part)

    text = _KEYS.sub(lambda found: f"dict_keys([{_in_order(found[1])}])", text.replace("\0", " "))
    for _ in range(_INNER):
        text, count = _BRACES.subn(hold, text)
        if not count:
            break
    return shown(text)


def _is_mapping(elements: str) -> bool:
    return any(":" in _without_strings(element) for element in _elements(elements))


def _in_order(elements: str) -> str:
    return ", ".join(sorted(" ".join(element.split()) for element in _elements(elements)))


def _without_strings(element: str) -> str:
    return re.sub(r"'[^']*'|\"[^\"]*\"|\([^()]*\)|\[[^\[\]]*\]|\{[^{}]*\}", "", element)


def _elements(text: str) -> Iterator[str]:
    """What stands between the commas that are in no string and no bracket."""
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
    """No spaces at the ends of lines, and no empty lines around the text."""
    return "\n".join(line.rstrip() for line in text.split("\n")).strip("\n")

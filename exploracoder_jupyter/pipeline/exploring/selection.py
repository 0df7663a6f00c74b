"""Which of a subtask's experiences is carried forward, by what its results show."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from itertools import islice
from typing import Final

from exploracoder_jupyter.core.python_code import parse_python
from exploracoder_jupyter.core.task import find_invented
from exploracoder_jupyter.core.types import ErrorInfo, Experience, Observation, Selection, Task
from exploracoder_jupyter.pipeline.code_analysis import names_in
from exploracoder_jupyter.pipeline.context import heuristic
from exploracoder_jupyter.pipeline.solving.check_rewriting import can_fail

# What candidates show of their results, whether it is informative, and which show the same result or failure.
#
# Printed output counts first, then the values of changed names. Two values are the same if they are equal, with
# numbers compared as numbers; two texts are the same if most of their facts are the same in the same order, and no
# name has values of different kinds. A few small numbers may be equal by coincidence, so they must not be named
# differently.

_FACT = re.compile(r"(?<![\w.])-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|'[^'\n]*'|\"[^\"\n]*\"|\b(?:True|False)\b")
"""A quotation ends on its line, so that an apostrophe in prose does not start one that spans lines."""
_STATES: Final = re.compile(
    r"(?:->|=>|→|==|\b(?:is|are|be|equals?|gives?|returns?|yields?|prints?|shows?|results? in|expected)\b:?)"
    r"\s*(?:exactly\s+|about\s+)?`?(?P<value>[-\[({'\"\d][^\n;`]{0,200})"
)
_NEXT: Final = re.compile(r"\. |,? (?:and|but|where|when|if|for|with|which|because|so)\b")
_MOST_FACTS = 400
_FEW_FACTS = 2
_SMALL = 1000
_NAME_PART = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_GENERIC = frozenset(
    "the and for with value result answer output number count total size length len type int float list dict".split()  # noqa: SIM905
)
_ADDRESS = re.compile(r"0x[0-9a-fA-F]{6,}")
_TYPE = re.compile(r"[A-Za-z_][\w.]*:? ")
_NO_ROWS = re.compile(r"Empty DataFrame\s+Columns: [^\n]*\s+Index: \[[^\n]*")
_NOTHING = re.compile(
    r"(?:[A-Za-z_][\w.]*:? )?(?:None|nan|empty|\[\]|\{\}|\(\)|''|\"\"|\w+\(\)|\w+\(\[\].*\)|<module .*>)|module: .*"
)
_EMPTY = re.compile(r"\b0 (?:nodes|rows|items|values)\b|, empty$")
_NO_DATA = ("module", "type", "ABCMeta", "EnumType", "function", "builtin_function_or_method", "method", "NoneType")
_KINDS = {"int": "number", "float": "number", "complex": "number", "tuple": "sequence", "list": "sequence"}


@heuristic("comparing outputs", lambda one, other: False)
def outputs_agree(one: Experience, other: Experience) -> bool:
    """Whether both ran and show the same result.

    What one printed and the other bound to a name can be the same; an empty result counts as none.
    """
    if not (one.observation.ran and other.observation.ran):
        return False
    left, right = result_text(one.observation), result_text(other.observation)
    if not (is_informative(left) and is_informative(right)):
        return False
    kinds, other_kinds = _kinds(one.observation), _kinds(other.observation)
    if any(kinds[name] != other_kinds[name] for name in kinds.keys() & other_kinds.keys()):
        return False
    facts, other_facts = find_facts(left), find_facts(right)
    all_facts = {*facts, *other_facts}
    small = all(isinstance(fact, float) and fact.is_integer() and abs(fact) < _SMALL for fact in all_facts)
    if small and len(all_facts) <= _FEW_FACTS:  # two quantities may have these numbers in common
        names, others = _quantity_words(one.observation), _quantity_words(other.observation)
        if names and others and not names & others:
            return False
    values = _value(left), _value(right)
    if None not in values:
        return values[0] == values[1]
    if strip_addresses(left).split() == strip_addresses(right).split():
        return True
    data, other_data = set(kinds.values()) - {""}, set(other_kinds.values()) - {""}
    if data and other_data and not data & other_data:
        return False
    blocks = SequenceMatcher(None, facts, other_facts, autojunk=False).get_matching_blocks()
    # Measured against the longer list: one fact does not agree with every richer output.
    return sum(block.size for block in blocks) * 2 > max(len(facts), len(other_facts))


def distinct_failures(experiences: Sequence[Experience]) -> list[Experience]:
    """Return one experience per kind of failure, the one with the shortest code, so that each kind is repaired once."""
    by_kind: dict[str, Experience] = {}
    for item in sorted(experiences, key=lambda item: len(item.candidate.code)):
        by_kind.setdefault(failure_kind(item), item)
    return list(by_kind.values())


@heuristic("comparing failures", lambda item: item.observation.status)
def failure_kind(item: Experience) -> str:
    """Return the kind of a failure: status and first line of the error."""
    error = item.observation.error
    return strip_addresses(f"{item.observation.status} {error.headline if error else ''}".strip())


@heuristic("judging how informative an output is", lambda text: bool(text.strip()))
def is_informative(text: str) -> bool:
    """Whether the text shows more than `None`, modules and empty values."""
    plain = _NO_ROWS.sub("[]", strip_addresses(text)).strip()
    heads = [line.strip() for line in plain.splitlines() if line.strip() and not line.startswith(" ")]
    return any(not _NOTHING.fullmatch(head) and not _EMPTY.search(head) for head in heads)


def strip_addresses(text: str) -> str:
    """Remove object addresses, so that two runs of the same code read alike."""
    return _ADDRESS.sub("", text)


@heuristic("choosing what an output shows", lambda observation: observation.text)
def result_text(observation: Observation) -> str:
    """Return what the observation shows of the results: informative output, else the summaries of changed names."""
    if is_informative(observation.text):
        return observation.text
    data = [change for change in observation.changes if _kind(change.type)]
    return "\n".join(change.summary for change in data if change.summary)


def _quantity_words(observation: Observation) -> frozenset[str]:
    """Return the words that are printed beside the values, or else the words in the names that were bound."""
    text = observation.text if is_informative(observation.text) else ""
    bound = " ".join(change.name for change in observation.changes if _kind(change.type))
    found = [[word.lower().rstrip("s") for word in _NAME_PART.findall(one)] for one in (_FACT.sub(" ", text), bound)]
    plain = [frozenset(word for word in words if len(word) > 2 and word not in _GENERIC) for words in found]
    return plain[0] or plain[1]


@heuristic("comparing outputs", lambda text: [])
def find_facts(text: str) -> list[object]:
    """Return numbers, quoted strings and truth values, in order."""
    found: list[object] = []
    for match in islice(_FACT.finditer(strip_addresses(text)), _MOST_FACTS):
        item = match.group()
        value = float(item) if item[0] in "-0123456789" else _literal(item)
        found.append(item[1:-1] if value is None else value)
    return found


def stated_facts(text: str) -> list[object]:
    """Return the facts that the text gives as results: `is 42`, `returns "a"`, `-> [1, 2]`."""
    found = (find_facts(_NEXT.split(match["value"])[0]) for match in _STATES.finditer(text))
    return [fact for facts in found for fact in facts]


def _value(text: str) -> object:
    """Return the value that the text is a literal of, perhaps after a type, or that a summary shows; else `None`."""
    text = text.strip()
    literals = [text]
    if type_ := _TYPE.match(text):
        literals.append(text[type_.end() :])
    head, _, rest = text.partition("\n")
    if re.match(r"(?:list|tuple|set|dict): \d+ items?", head):
        line = rest.partition("\n")[0].strip()
        literals.append(f"{{{line}}}" if head.startswith("dict") else line)
    return next((value for value in map(_literal, literals) if value is not None), None)


def _literal(text: str) -> object:
    """Return the normalized value that the text is a literal of; `None` if it is none."""
    try:
        return _normalize_value(ast.literal_eval(text))
    except (ValueError, SyntaxError, TypeError, OverflowError, MemoryError, RecursionError):
        return None


def _normalize_value(value: object) -> object:
    """Return an object that is equal for values that a person would call the same."""
    if isinstance(value, bool):
        return ("bool", value)
    if isinstance(value, (int, float)):
        return float(f"{value:.9g}")
    if isinstance(value, (list, tuple)):
        return tuple(_normalize_value(item) for item in value)
    if isinstance(value, set):
        return frozenset(_normalize_value(item) for item in value)
    if isinstance(value, dict):
        return frozenset((_normalize_value(key), _normalize_value(item)) for key, item in value.items())
    return value


def _kinds(observation: Observation) -> Mapping[str, str]:
    types = {**dict(observation.names), **{change.name: change.type for change in observation.changes}}
    return {name: _kind(type_) for name, type_ in types.items()}


def _kind(type_: str) -> str:
    """Return the kind of values of a type; empty for types that are not data."""
    last = type_.rpartition(".")[2]
    if last in _NO_DATA:
        return ""
    return "number" if type_.startswith("numpy.") and last[-1:].isdigit() else _KINDS.get(last, last)


# Finds what contradicts a task or subtask in the result of a cell that ran without an error.
#
# Code that makes up a variable which the task treats as given counts as failed, whatever it computes. Three kinds
# of objections cost a candidate its preference and a repair, and are recognized only where little else can be
# meant: a warning that a statement had no effect, a number of rows or items that differs from the number that the
# subtask asks for, and a name that the subtask is to store and that does not exist.

_NO_EFFECT: Final = re.compile(
    r"\b(?:does(?:n't| not) allow|(?:has|had|have|having) no effect|(?:is|are|was|were|will be|being) ignored"
    r"|did nothing|nothing (?:was|is) (?:done|changed|written|added))\b",
    re.IGNORECASE,
)
_NUMBERS: Final = {word: n for n, word in enumerate("one two three four five six seven eight nine ten".split(), 1)}  # noqa: SIM905
_NOUNS: Final = r"rows?|records?|entr(?:y|ies)|items?|elements?|results?|pairs?"
_ASKED: Final = re.compile(
    r"\b(?:take|keep|select|pick|get|return|find|list|choose|extract|fetch|query)\b(?P<between>[^.;:]{0,40}?)"
    rf"\b(?P<number>\d+|{'|'.join(_NUMBERS)})\s+(?:[\w-]+\s+){{0,2}}?(?P<noun>{_NOUNS})\b",
    re.IGNORECASE,
)
_OF_INPUT: Final = re.compile(r"\b(?:of|from|in|among|over|across|between|for|per|each|every|least|most|than)\b", re.I)
"""Words before a number that is not the size of the result."""
_SIZE: Final = re.compile(r"(?<![\w.])(?P<size>\d[\d,]*) (?:rows?|items?|values?)\b|shape \((?P<length>\d+)")
_SHORT_SUMMARY: Final = re.compile(r"^[\w.]+: empty")
_WORD: Final = re.compile(r"[\w,]+")
_STORES: Final = re.compile(
    r"\b(?:stor|sav|put|keep|assign)\w*\b[^.;]*\b(?:in|into|as|to)\s+(?:[\w-]+\s+){0,3}`([^\W\d]\w*)`", re.IGNORECASE
)
"""`store the sum in the dict `totals``; of several names in a sentence, the last."""
INVENTED: Final = "InventedData"
"""Name of the error of code that makes up what the task gives."""


def refuse_invented(task: Task, code: str, observation: Observation) -> Observation:
    """Return the observation as a failure if the code makes up a variable that the task treats as given.

    It comes before a check that failed, which made-up data cannot be expected to pass; another error stays.
    """
    names = find_invented(code, [one.name for one in task.variables if one.given])
    if not names:
        return observation
    listed = ", ".join(f"`{name}`" for name in names)
    message = (
        f"The program makes up {listed}, which the task treats as given: {'it is' if len(names) == 1 else 'they are'} "
        "the user's data. Use what exists; you may change it, but not put data of your own in its place."
    )
    if not (observation.ran or observation.unmet):
        return replace(observation, note=f"{observation.note} {message}".strip())
    error = ErrorInfo(INVENTED, message, report=f"{INVENTED}: {message}", schema=f"{INVENTED}: {message}")
    return replace(observation, status="error", error=error, unmet="input")


def missing_result(text: str, bound: Collection[str]) -> str:
    """Return the name in which the text wants a result and that is not among those that exist; empty if none is."""
    return next((name for name in _STORES.findall(text) if name not in bound), "")


def missing_name(item: Experience) -> str:
    """Return the name that a subtask is to store and that its cell did not bind; empty if there is none."""
    observation = item.observation
    changed = (change.name for change in observation.changes)
    known = {*names_in(item.candidate.code).bound, *changed, *(name for name, _ in observation.names)}
    return missing_result(item.subtask.title, known)


@heuristic("comparing a result with its subtask", lambda item: "")
def find_objection(item: Experience) -> str:
    """Return why the result of a cell that ran is not what its subtask asks for, as a clause; empty if nothing is."""
    if not item.observation.ran:
        return ""
    if any(_NO_EFFECT.search(warning) for warning in item.observation.warnings):
        return "it warned that a statement had no effect"
    if missing := missing_name(item):
        return f"it does not set `{missing}`, where the subtask wants its result"
    asked, sizes = _asked_size(item.subtask.title), [*_sizes(item.observation)]
    if asked is None or not sizes or asked in sizes:
        return ""
    text = item.observation.text
    lines = [line for line in text.splitlines() if line.strip()]
    shown = str(asked) in _WORD.findall(text) or len(lines) == asked
    return "" if shown else f"its result has {sizes[0]} where the subtask asks for {asked}"


def with_objection(item: Experience) -> Experience:
    """Return the experience with the objection to its result, if there is one, as a remark on the observation."""
    if not (objection := find_objection(item)):
        return item
    remark = f"{item.observation.note} {objection[:1].upper()}{objection[1:]}.".strip()
    return replace(item, observation=replace(item.observation, note=remark))


def _asked_size(title: str) -> int | None:
    """Return the only number of rows or items that the subtask asks for; `None` if there is none, or several."""
    numbers = [match["number"] for match in _ASKED.finditer(title) if not _OF_INPUT.search(match["between"])]
    found = {_NUMBERS.get(number.lower()) or int(number) for number in numbers}
    return found.pop() if len(found) == 1 else None


def _sizes(observation: Observation) -> Iterator[int]:
    """Yield the sizes of the values that the cell bound, those that it mentions last first."""
    for change in observation.changes:
        head = change.schema.partition("\n")[0]
        if _SHORT_SUMMARY.match(head):
            yield 0
        elif found := _SIZE.search(head):
            yield int((found["size"] or found["length"]).replace(",", ""))


# Selection by meaning: which of a subtask's experiences is carried forward, and why.
#
# The paper takes a random candidate that ran, preferring valid output (section 3.4). Here the candidates that ran
# are grouped by what they computed. A group wins whose result the task states, otherwise the largest. Within it the
# order is: its own assertions passed > its output is informative > it uses recommended APIs > it is shorter. What
# ran but contradicts its subtask (`selection`) comes after everything else that ran. The reason is one
# clause for users.
#
# A value counts as stated if the text gives it as a result (`is 42`, `returns "a"`, `-> [1, 2]`) and the code does
# not contain it.

_TRIVIAL: Final = (0.0, 1.0, True, False, "")
_NONE_RAN: Final = "none ran, and its error shows what to avoid"


@dataclass(frozen=True, slots=True, order=True)
class Evidence:
    """Evidence in favor of an experience; compares in the order of its fields."""

    ran: bool
    unobjectionable: bool
    """Whether nothing that it shows contradicts its subtask."""
    stated: int
    """How many results that the task states are shown by the candidates that computed the same."""
    agreeing: int
    asserted: bool
    """Whether it contains an assertion about its result, which passed."""
    informative: bool
    recommended: int
    """How many recommended APIs it actually calls."""
    brevity: int
    """Negative length of the code."""


@heuristic("selecting a candidate", lambda experiences, *args, **options: _select_first(experiences))
def select(
    experiences: Sequence[Experience], recommended: Sequence[str], task: str = "", *, best_first: bool = False
) -> tuple[Experience, Selection]:
    """Return the best experience (the first among equals) with the reason.

    Args:
        experiences: what was tried, at least one.
        recommended: paths of the recommended APIs.
        task: the text of the task, which may state results.
        best_first: whether the model proposed the likeliest first, as the offline model does; then that decides
            instead of brevity.
    """
    evidence = [_evidence(item, set(recommended), task) for item in experiences]
    stated = [item.stated for item in evidence]
    for index, item in enumerate(experiences):
        group = [other for other, its in enumerate(experiences) if other != index and outputs_agree(item, its)]
        evidence[index] = replace(
            evidence[index],
            stated=max(stated[other] for other in (index, *group)),
            agreeing=len(group),
            brevity=0 if best_first else evidence[index].brevity,
        )
    best = max(range(len(experiences)), key=lambda i: (evidence[i], -i))
    chosen = experiences[best]
    others = [item for index, item in enumerate(evidence) if index != best]
    return chosen, Selection(chosen.subtask.id, chosen.candidate.id, (_reason(chosen, evidence[best], others),))


def _select_first(experiences: Sequence[Experience]) -> tuple[Experience, Selection]:
    chosen = next((item for item in experiences if item.observation.ran), experiences[0])
    reason = "it is the first that ran" if chosen.observation.ran else _NONE_RAN
    return chosen, Selection(chosen.subtask.id, chosen.candidate.id, (reason,))


def _evidence(item: Experience, recommended: set[str], task: str) -> Evidence:
    """Return the evidence of an experience by itself."""
    ran = item.observation.ran
    return Evidence(
        ran,
        not find_objection(item),
        _count_stated(item, f"{task}\n{item.subtask.title}") if ran else 0,
        0,
        ran and _asserts(item.candidate.code),
        is_informative(result_text(item.observation)),
        len(recommended.intersection(item.apis)),
        -len(item.candidate.code),
    )


@heuristic("comparing a result with the task", lambda item, text: 0)
def _count_stated(item: Experience, text: str) -> int:
    """Count the results stated in the text that the output shows and the code does not contain."""
    stated = {*stated_facts(text)}
    if not stated:
        return 0
    code = item.candidate.code
    tree = parse_python(code)
    constants = [node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)]
    negative = (-value for value in constants if isinstance(value, int | float))
    written = [*constants, *negative] if tree.body else find_facts(code)
    shown = find_facts(result_text(item.observation))
    return sum(fact not in _TRIVIAL and fact in shown and fact not in written for fact in stated)


@heuristic("looking for assertions", lambda code: False)
def _asserts(code: str) -> bool:
    """Whether the code contains an assertion that always runs and could fail."""
    assertions = [node for node in parse_python(code).body if isinstance(node, ast.Assert)]
    names = [inner for node in assertions for inner in ast.walk(node.test) if isinstance(inner, ast.Name)]
    return bool(names) and can_fail(ast.Module([*assertions], []))


def _reason(chosen: Experience, its: Evidence, others: Sequence[Evidence]) -> str:
    """Return the clause that explains the choice: what distinguishes it from the other candidates."""
    rivals = [other for other in others if other.ran]
    if not its.ran:
        return _NONE_RAN
    if not its.unobjectionable:
        return f"no other candidate did better, but {find_objection(chosen)}"
    if its.stated:
        return "its result is the one that the task states"
    if its.agreeing:
        return f"{its.agreeing} other{'s' if its.agreeing > 1 else ''} computed the same"
    if not rivals:
        return "it is the only one that ran" if others else "it ran"
    if not any(other.unobjectionable for other in rivals):
        return "the results of the others contradict the subtask"
    if not its.informative:
        return "it is the simplest, and none shows a result"
    if its.asserted and not all(other.asserted for other in rivals):
        return "it tested its own result, and each candidate computed something else"
    if not all(other.informative for other in rivals):
        return "it shows its result"
    if its.recommended > min(other.recommended for other in rivals):
        return "it uses more of the recommended APIs, and each candidate computed something else"
    quality = "simplest" if its.brevity else "likeliest"
    return f"it is the {quality}, and each candidate computed something else"

"""The forms of the model's replies, and the only place where replies are parsed."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from doctest import DocTestParser
from html import unescape
from itertools import accumulate, islice
from textwrap import dedent
from typing import Annotated, Never, TypeVar, cast

import json_repair
from pydantic import AfterValidator, BaseModel, BeforeValidator, Field, JsonValue, ValidationError

from exploracoder_jupyter.core.errors import ReplyError
from exploracoder_jupyter.core.python_code import is_python
from exploracoder_jupyter.pipeline.context import heuristic
from exploracoder_jupyter.text.replies import after_last_thought, blocks, is_program, without_thinking

# Extracts values from the text of small models: faulty JSON, numbered lists in prose.
#
# This module does not know the forms of replies; `replies` tries the values in the order in which they are
# yielded.

_NUMBERED = re.compile(
    r"^(?P<indent>[ \t]*)(?:[*_#]+[ \t]*)?(?:(?:step|subtask)[ \t]*)?\d+[*_]*[.):](?!\d)[ \t]*(?P<text>\S.*)$",
    re.I | re.M,
)
_CODE_SPAN = re.compile(r"(`[^`]*`)")
_EMPHASIS = re.compile(r"(?<![\w*)\]])\*\*(?=[^\s*])(.{1,300}?)(?<=[^\s*])\*\*(?![\w*(\[])")
"""Markdown's strong emphasis, but not powers and keyword arguments. Underscores are kept: dunder names need them."""
_BULLET = re.compile(r"^(?P<indent>[ \t]*)[-*•+][ \t]+(?P<text>\S.*)$", re.MULTILINE)


_BRACKET = re.compile(r"[\[\]{}]")
_LONGEST_REPAIRED = 30_000
"""Characters; the running time of json_repair is quadratic in their number."""
_DEEPEST_REPAIRED = 50
"""Nesting depth of brackets; the running time is at least quadratic in it."""


def json_values(text: str) -> Iterator[JsonValue]:
    """Yield the JSON values that the text may mean, the most certain first; a list in prose yields a list of texts.

    If such a list begins before any brace, brackets within its items are not the reply.
    """
    named = ("json", "jsonc", "json5")
    bodies = [one.body for one in sorted(blocks(text), key=lambda one: (one.language not in named, -len(one.body)))]
    prose: list[JsonValue] = [*parse_list(text)]
    for source in bodies:
        yield from _decode_exact(source)
    first, brace = _NUMBERED.search(text) or _BULLET.search(text), re.search(r"[{\[]", text)
    if first and (brace is None or first.start() < brace.start()):
        yield from (value for value in _decode_exact(text) if isinstance(value, dict))
        yield prose
    else:
        yield from _decode_exact(text)
    for source in (*bodies, text):
        yield from _decode_repaired(source)
    if prose:
        yield prose


def parse_list(text: str) -> list[str]:
    """Return the items of a list in prose: numbered ones if there are any, else bullets; nested items are left out."""
    found = list(_NUMBERED.finditer(text)) or list(_BULLET.finditer(text))
    if not found:
        return []
    outer = min(len(match["indent"]) for match in found)
    return [strip_markdown(match["text"]) for match in found if len(match["indent"]) == outer]


def strip_markdown(text: str) -> str:
    """Return the text on one line without Markdown's emphasis."""
    line = join_lines(text)
    if line.count("**") % 2:  # half of a pair whose other half preceded the number
        line = line.removeprefix("**").removesuffix("**")
    parts = _CODE_SPAN.split(line)
    return "".join(part if number % 2 else _EMPHASIS.sub(r"\1", part) for number, part in enumerate(parts)).strip()


def join_lines(text: str) -> str:
    """Join the lines of the text; blanks within lines may be data and are kept."""
    return " ".join(filter(None, map(str.strip, text.splitlines())))


def _decode_exact(source: str) -> Iterator[JsonValue]:
    """Yield valid JSON that starts at the first brace or bracket, or at the first of the other kind after it.

    Yields nothing from inside a truncated object, since it would be taken for the whole.
    """
    end = 0
    for start in sorted(at for at in (source.find("{"), source.find("[")) if at >= 0):
        if start < end:
            continue
        try:
            value, end = json.JSONDecoder().raw_decode(source, start)
        except (ValueError, RecursionError):
            if source[start] == "{":
                return
            continue
        yield value


def _decode_repaired(source: str) -> Iterator[JsonValue]:
    """Yield values that json_repair finds. It invents values from prose, so only the right kind is used."""
    brace, bracket = source.find("{"), source.find("[")
    value = _repair(source[brace:]) if brace >= 0 else None
    objects = isinstance(value, list) and all(isinstance(item, dict) for item in value)
    if value and (isinstance(value, dict) or objects):
        yield value
        if brace < bracket:
            return
    value = _repair(source[bracket:]) if bracket >= 0 else None
    if value and isinstance(value, list):
        yield value


def _repair(source: str) -> JsonValue:
    steps = (1 if bracket in "[{" else -1 for bracket in _BRACKET.findall(source))
    if len(source) > _LONGEST_REPAIRED or max(accumulate(steps), default=0) > _DEEPEST_REPAIRED:
        return None
    try:
        return cast(JsonValue, json_repair.loads(source))
    except Exception:  # its own assertions fail on some texts; then there is no value, whatever the reason
        return None


# The forms of the model's replies, and the only place where replies are parsed.
#
# Small models are expected. A fence around JSON, trailing commas, prose around a plan, a numbered list or a bare
# list instead of an object, and objects instead of texts are repaired; anything that stays unusable raises
# `ReplyError`, to which the caller responds by asking once more.

_PATH = re.compile(r"[A-Za-z_]\w*(?:\.\w+)*")
_NO_CHANGE = re.compile(
    r"\W*(?:null|none|nothing|unchanged|no (?:further )?changes?(?: (?:is |are )?(?:needed|required|necessary))?)\W*",
    re.IGNORECASE,
)
"""Words that small models write instead of a JSON null."""
_CODE_KEYS = ("code", "python", "program", "solution", "script", "source", "snippet", "answer", "cell")
"""Keys under which a program stands in a JSON object, the most likely first."""
_ELEMENT = re.compile(r"<(?P<tag>code|python|py|tool_code|execute|program|script)\b[^>]{0,200}>")
_MAX_VALUES = 20
"""JSON values and HTML elements that are tried."""
_IN_BACKTICKS = re.compile(r"(?P<marks>`{1,3})(?:python |py )?+(?P<body>[^`\n]+)(?P=marks)")
_UNMARKED = ("", "text", "txt", "plain", "plaintext", "code")
_TITLE_KEYS = ("title", "subtask", "task", "step", "description", "path", "api", "name")
"""Keys whose value names an object that was sent instead of a text; the first one present is used."""
_QUERY_KEYS = ("search", "query", "online")
_NO_QUERY = re.compile(r"\W*(?:null|none|no|false|not needed|no (?:need (?:to|for) )?search(?: needed)?)?\W*", re.I)


def encodable(text: str) -> str:
    """Join surrogate pairs and replace lone surrogates, which neither files nor kernels accept."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _texts(value: object) -> object:
    """Convert to a list of texts: from a text, a numbered list in a text, or a list of objects."""
    if value is None:
        return []
    if isinstance(value, str):
        return parse_list(value) or [line for line in map(strip_markdown, value.splitlines()) if line]
    if isinstance(value, dict):
        return [text for item in value.values() if (text := _text_of(item))]
    return [text for item in value if (text := _text_of(item))] if isinstance(value, list) else value


def _text_of(item: object) -> str:
    if isinstance(item, dict):
        texts = {key: text for key, text in item.items() if isinstance(text, str)}
        titles = [texts[key] for key in _TITLE_KEYS if key in texts]
        return strip_markdown((titles or [*texts.values(), ""])[0])
    return strip_markdown(str(item)) if isinstance(item, (str, int, float)) else ""


def _subtasks_with_queries(value: object) -> object:
    """Convert to subtasks of which some have a query: texts, and objects with `subtask` and `search`."""
    items = list(value.values()) if isinstance(value, dict) else value
    if not isinstance(items, list):
        return _texts(items)
    found: list[object] = []
    for item in items:
        title = _text_of(item)
        query = next((item[key] for key in _QUERY_KEYS if key in item), None) if isinstance(item, dict) else None
        query = title if query is True else query
        if title and isinstance(query, str) and not _NO_QUERY.fullmatch(query):
            found.append({"subtask": title, "search": strip_markdown(query)})
        elif title:
            found.append(title)
    return found


def _paths(value: object) -> object:
    """Convert to import paths, without calls, quotes or remarks."""
    texts = _texts(value)
    if not isinstance(texts, list):
        return texts
    quoted = (re.search(r"`([^`]+)`", text) for text in texts)
    named = (found[1] if found else text for found, text in zip(quoted, texts, strict=True))
    return [found.group() for text in named if (found := _PATH.search(text))]


def _revision(value: object) -> object:
    """Convert to revised subtasks; `None` if the value is empty, or only words for an unchanged plan."""
    texts = _texts(value)
    return None if isinstance(texts, list) and all(_NO_CHANGE.fullmatch(text) for text in texts) else texts


def _restatement(value: object) -> object:
    """Convert to one sentence; `None` if it is empty, or only words for an unchanged subtask."""
    text = value if isinstance(value, str) else _text_of(value)
    return None if not text.strip() or _NO_CHANGE.fullmatch(text) else text


Text = Annotated[str, AfterValidator(encodable)]
Texts = Annotated[list[Text], BeforeValidator(_texts)]
Paths = Annotated[list[str], BeforeValidator(_paths)]


class PlanReply(BaseModel):
    """Reply to `plan`; the list may be empty."""

    subtasks: Texts


class MarkedReply(BaseModel):
    """One subtask within a `SearchingPlanReply` that the web is searched for."""

    subtask: Text
    search: Text


class SearchingPlanReply(BaseModel):
    """Reply to `plan` where the web can be searched."""

    subtasks: Annotated[list[Text | MarkedReply], BeforeValidator(_subtasks_with_queries)]


class PlannerReply(BaseModel):
    """One planner within a `PlannersReply`."""

    requirement: Text
    steps: Annotated[Texts, Field(min_length=1)]


class PlannersReply(BaseModel):
    """Reply to `planners`."""

    planners: list[PlannerReply]


class RecommendReply(BaseModel):
    """Reply to `recommend`."""

    apis: Paths
    """Paths, most useful first; omitted ones are dropped."""
    satisfied: bool = False
    reason: Text = ""


class RevisingReply(RecommendReply):
    """Reply to `recommend` where the plan may still change."""

    subtask: Annotated[Text | None, BeforeValidator(_restatement)] = None
    """What is done now in place of this subtask; `None` keeps it."""
    remaining: Annotated[list[Text] | None, BeforeValidator(_revision)] = None
    """The revised subtasks after this one, at least one; `None` keeps the plan."""


class RecommendGlobalReply(BaseModel):
    """Reply to `recommend_global`."""

    apis: Paths


_R = TypeVar("_R", bound=BaseModel)


def raise_unreadable(text: str, *_: object) -> Never:
    """Raise ReplyError as the fallback for a bug in a parser, so that the reply is requested once more."""
    raise ReplyError("the reply cannot be read.")


@heuristic("reading a reply", raise_unreadable)
def parse_json(text: str, form: type[_R]) -> _R:
    """Parse the reply as `form`; ReplyError, whose message is for the model, if it cannot be repaired into that."""
    text = without_thinking(text)
    complaint = "no JSON object was found in the reply."
    for number, value in enumerate(json_values(text)):
        try:
            return form.model_validate(_reshape(value, form))
        except ValidationError as error:
            if number == 0 and value:
                first = error.errors()[0]
                where = ".".join(str(part) for part in first["loc"]) or "the reply"
                complaint = f"{where}: {first['msg']}."
    raise ReplyError(complaint)


def _reshape(value: JsonValue, form: type[BaseModel]) -> JsonValue:
    """Repair the outermost value: put a list, or one under another name, under the only required field."""
    required = [name for name, field in form.model_fields.items() if field.is_required()]
    single = required[0] if len(required) == 1 else None
    if isinstance(value, list):
        return {single: value} if single and value else None
    if not isinstance(value, dict):
        return None
    if single and single not in value:  # the only list under another name, or texts under numbered keys
        lists = [item for key, item in value.items() if isinstance(item, list) and key not in form.model_fields]
        numbered = all(re.search(r"\d", key) for key in value)
        found = lists[0] if len(lists) == 1 else list(value.values()) if numbered else None
        value = {**value, single: found}
    return {key: item for key, item in value.items() if item is not None}


@heuristic("reading a reply", raise_unreadable)
def parse_code(text: str) -> str:
    """Return the Python code of a reply: the whole text if it is Python, else its Python blocks joined in order, else a
    program in a JSON object, in an HTML element or between backticks.

    Blocks of other languages are ignored; blocks without a language are used only if none is marked as Python. Prompts
    of an interactive session are removed, together with the output shown there. The code can always be encoded.
    ReplyError if there is none.
    """
    text = encodable(text)
    answer = _strip(without_thinking(text))
    code = _find_code(answer)
    if not is_python(code) and (rest := after_last_thought(text)):  # a draft in the thoughts may have an open fence
        later = _find_code(_strip(without_thinking(rest)))
        code = later if is_python(later) and later.strip() else code
    if code.strip():
        return code
    if "```" in answer or "~~~" in answer or answer.lstrip().startswith("{"):
        raise ReplyError("the reply holds no Python code.")
    raise ReplyError("the reply is neither a fenced code block nor valid Python." if answer else "the reply is empty.")


def _strip(text: str) -> str:
    """Return the text without blank lines around it; the first line may be an indented fence."""
    return text.strip("\n").rstrip()


def _find_code(answer: str) -> str:
    """Return the code of an answer, which may be invalid; empty if there is none."""
    answer = _without_prompts(answer)
    if answer.lstrip().startswith("{") and (program := _code_in_json(answer)) is not None:
        return program
    if is_program(answer.strip()):
        return answer.strip()
    found = [block for block in blocks(answer) if block.body.strip()]
    marked = [block.body for block in found if block.language == "python"]
    unmarked = [block.body for block in found if block.language in _UNMARKED]
    # One block that does not compile is still the candidate: its error is what the model can repair.
    used = marked or [body for body in unmarked if is_python(_without_prompts(body))] or unmarked
    if used:
        return _joined(used)
    programs = (_code_in_json(block.body) for block in found if block.body.lstrip().startswith("{"))
    return next(filter(None, programs), "") or _code_in_element(answer)


def _joined(bodies: list[str]) -> str:
    """Return the joined code of blocks, without those that are not Python if the longest one is."""
    code = _without_prompts("\n".join(body.strip("\n") for body in bodies)).strip("\n")
    if is_python(code):
        return code
    if len(bodies) > 1 and is_python(max(bodies, key=len)):
        return "\n".join(body.strip("\n") for body in bodies if is_python(body))
    outdented = dedent(code)
    return outdented if is_python(outdented) else code


def _code_in_json(text: str) -> str | None:
    """Return the program in a JSON object, empty if what should be one is none; `None` if there is no such object."""
    for value in islice(json_values(text), _MAX_VALUES):
        for item in _with_nested(value):
            written = next((item[key] for key in _CODE_KEYS if isinstance(item.get(key), str)), None)
            if isinstance(written, str):
                return written if is_python(written) else _find_code(_strip(without_thinking(written)))
    return None


def _with_nested(value: JsonValue) -> list[dict[str, JsonValue]]:
    """Return an object and the objects in it, such as the arguments of a call."""
    return [value, *(item for item in value.values() if isinstance(item, dict))] if isinstance(value, dict) else []


def _code_in_element(answer: str) -> str:
    """Return the longest program in an HTML element, or the program that the whole answer has in backticks."""
    openings = [(opening.end(), f"</{opening['tag']}>") for opening in islice(_ELEMENT.finditer(answer), _MAX_VALUES)]
    bodies = [answer[start:end].strip("\n") for start, tag in openings if (end := answer.find(tag, start)) >= 0]
    if whole := _IN_BACKTICKS.fullmatch(answer.strip()):
        bodies.append(whole["body"].strip())
    bodies += [unescape(body) for body in bodies if "&" in body]
    programs = [body for body in bodies if body.strip() and is_python(body)]
    return max(programs, key=len, default="")


def _without_prompts(code: str) -> str:
    if not code.lstrip().startswith(">>> "):
        return code
    try:
        return "".join(example.source for example in DocTestParser().get_examples(code)).strip("\n")
    except ValueError:
        return code

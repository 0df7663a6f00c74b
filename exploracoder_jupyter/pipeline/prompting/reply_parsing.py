"""The forms of the model's replies, and the only place where replies are parsed.

Small models are expected. A fence around JSON, trailing commas, prose around a plan, a numbered list or a bare list
instead of an object, and objects instead of texts are repaired; anything that stays unusable raises `ReplyError`, to
which the caller responds by asking once more.
"""

from __future__ import annotations

import re
from doctest import DocTestParser
from typing import Annotated, Never, TypeVar

from pydantic import AfterValidator, BaseModel, BeforeValidator, Field, JsonValue, ValidationError

from exploracoder_jupyter.core.errors import ReplyError
from exploracoder_jupyter.core.python_code import is_python
from exploracoder_jupyter.pipeline.guarded_heuristics import heuristic
from exploracoder_jupyter.pipeline.prompting.reply_fragments import blocks, json_values, parse_list, strip_markdown
from exploracoder_jupyter.text.thinking_removal import without_thinking

_PATH = re.compile(r"[A-Za-z_]\w*(?:\.\w+)*")
_NO_CHANGE = re.compile(
    r"\W*(?:null|none|nothing|unchanged|no (?:further )?changes?(?: (?:is |are )?(?:needed|required|necessary))?)\W*",
    re.IGNORECASE,
)
"""Words that small models write instead of a JSON null."""
_PYTHON = ("python", "py", "python3", "ipython", "ipython3", "pycon", "jupyter", "tool_code")
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
    """Return the Python code of a reply: its Python blocks joined in order, or the whole text if it is Python.

    Blocks of other languages are ignored; blocks without a language are used only if none is marked as Python. Prompts
    of an interactive session are removed, together with the output shown there. The code can always be encoded.
    ReplyError if there is none.
    """
    text = _without_prompts(without_thinking(encodable(text)).strip())
    found = [block for block in blocks(text) if block.body.strip()]
    if not found and not is_python(text):
        raise ReplyError(
            "the reply is neither a fenced code block nor valid Python." if text else "the reply is empty."
        )
    marked = [block for block in found if block.language in _PYTHON]
    unmarked = [block for block in found if block.language in _UNMARKED]
    # One block that does not compile is still the candidate: its error is what the model can repair.
    used = marked or [block for block in unmarked if is_python(_without_prompts(block.body))] or unmarked
    code = "\n".join(block.body.strip("\n") for block in used) if found else text
    code = _without_prompts(code).strip("\n")
    if not code.strip():
        raise ReplyError("the reply holds no Python code.")
    return code


def _without_prompts(code: str) -> str:
    if not code.lstrip().startswith(">>> "):
        return code
    try:
        return "".join(example.source for example in DocTestParser().get_examples(code))
    except ValueError:
        return code

"""Correctness testing: runs a solution on generated inputs and has its outputs judged (CoCoST, section 3.2)."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import anyio
from pydantic import AliasChoices, BaseModel, ConfigDict, Field, JsonValue, field_validator

from exploracoder_jupyter.core.configuration.sections import OFFLINE
from exploracoder_jupyter.core.errors import BudgetExceeded, ReplyError
from exploracoder_jupyter.core.events import CandidateProposed, InputsInvented, Notice, SolutionJudged, SolutionTested
from exploracoder_jupyter.core.types import (
    ApiDoc,
    Candidate,
    Experience,
    InputRun,
    InventedInput,
    Judgement,
    Opinion,
    Ruling,
    Subtask,
)
from exploracoder_jupyter.pipeline.context import Run, State, heuristic, merge_apis, raise_if_cancelled
from exploracoder_jupyter.pipeline.exploring.candidates import fingerprint
from exploracoder_jupyter.pipeline.prompting.observations import redact_inputs
from exploracoder_jupyter.pipeline.prompting.prompt_inputs import InventInputs, JudgeInputs
from exploracoder_jupyter.pipeline.prompting.replies import (
    encodable,
    json_values,
    parse_code,
    raise_unreadable,
    strip_markdown,
)
from exploracoder_jupyter.pipeline.prompting.requests import ask_json, ask_parsed
from exploracoder_jupyter.pipeline.solving.program_execution import SOLUTION, try_inputs, try_solution
from exploracoder_jupyter.pipeline.solving.user_check import CheckCode
from exploracoder_jupyter.text.characters import fenced
from exploracoder_jupyter.text.replies import blocks, without_fenced_blocks, without_thinking

# The reply to `invent`: test inputs, without assertions.
#
# A model's expectations of a program are not reliable, so an assertion about an input becomes a display of the
# program's actual result.

_MOST_TITLE = 120


class InputReply(BaseModel):
    """One input within an `InventReply`."""

    model_config = ConfigDict(populate_by_name=True, json_schema_extra={"required": ["title", "before", "after"]})

    title: str = Field("", validation_alias=AliasChoices("title", "name", "description"))
    before: str = Field("", validation_alias=AliasChoices("before", "setup", "given", "input"))
    after: str = Field("", validation_alias=AliasChoices("after", "call", "run", "show", "code"))

    @field_validator("title", mode="before")
    @classmethod
    def _one_line(cls, value: object) -> str:
        return encodable(strip_markdown(str(value or "")))[:_MOST_TITLE]

    @field_validator("before", "after", mode="before")
    @classmethod
    def _code(cls, value: object) -> object:
        text = "\n".join(map(str, value)) if isinstance(value, list) else value
        if not isinstance(text, str):
            return "" if text is None else text
        return parse_code(text) if "```" in text else encodable(text).strip("\n")


class InventReply(BaseModel):
    """Reply to `invent`."""

    tests: list[InputReply] = Field(min_length=1)


@heuristic("removing assertions", lambda code: None)
def strip_assertions(code: str) -> str | None:
    """Replace assertions in the code by displays; `None` if it is not valid Python."""
    try:
        tree = ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    stripper = _Stripper()
    tree.body = [stripper.visit(node) for node in tree.body]
    if not stripper.shown:
        return code
    for node in tree.body[:-1]:
        if isinstance(node, ast.Expr) and node in stripper.shown:
            node.value = ast.Call(ast.Name("print", ast.Load()), [node.value], [])
    return ast.unparse(ast.fix_missing_locations(tree))


@heuristic("displaying a result", lambda code: code)
def display_last_value(code: str) -> str:
    """Make the code display its last value: a name that is assigned last is shown."""
    tree = ast.parse(code)
    last = tree.body[-1] if tree.body else None
    target = (
        last.targets[0] if isinstance(last, ast.Assign) else last.target if isinstance(last, ast.AnnAssign) else None
    )
    return f"{code}\n{target.id}" if isinstance(target, ast.Name) else code


class _Stripper(ast.NodeTransformer):
    """Replaces assertions by the values that they are about."""

    def __init__(self) -> None:
        self.shown: list[ast.Expr] = []

    def visit_Assert(self, node: ast.Assert) -> ast.AST:
        """Replace `assert f(1) == 2` by `f(1)`."""
        return self._show(_asserted_value(node.test))

    def visit_Expr(self, node: ast.Expr) -> ast.AST:
        """Replace `assert_equal(f(1), 2)` by `f(1)` too."""
        call = node.value
        if isinstance(call, ast.Call) and ast.unparse(call.func).rpartition(".")[2].startswith("assert") and call.args:
            return self._show(call.args[0])
        return node

    def _show(self, value: ast.expr) -> ast.Expr:
        self.shown.append(ast.Expr(value))
        return self.shown[-1]


def _asserted_value(test: ast.expr) -> ast.expr:
    """Return what an assertion is about: of a comparison, the side that calls or names something."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return _asserted_value(test.operand)
    if isinstance(test, ast.BoolOp):
        return _asserted_value(test.values[0])
    if isinstance(test, ast.Compare):
        sides = [test.left, *test.comparators]
        return next(
            (side for side in sides if any(isinstance(n, ast.Call | ast.Name) for n in ast.walk(side))), sides[0]
        )
    return test


# Parses the reply to `judge`: a verdict word on its own line, a line for each input, and perhaps a corrected
# program.
#
# If a reply is ambiguous, the reading that trusts the program less is used.

_WORDS: dict[Ruling, str] = {
    "wrong": r"wrong|incorrect|not (?:right|correct)|fail(?:s|ed)?",
    "unsure": r"unsure|uncertain|unclear|unknown|not sure|cannot (?:tell|say)",
    "right": r"right|correct|pass(?:es|ed)?",
}
_ANY = "|".join(_WORDS.values())
_LABEL = r"(?:(?:overall|final|my)\s+)?(?:verdict|judge?ment|conclusion|answer|overall)"
_WORD_AND_REST = rf"(?P<word>{_ANY})\b(?P<rest>.*)$"
_ALONE = re.compile(rf"^\W*(?:{_LABEL}\W+(?:is\W+)?)?(?P<word>{_ANY})(?P<rest>[^\w:]*)$", re.I)
"""No colon may follow, since that introduces something: `Correct:` above a program."""
_LABELLED = re.compile(rf"^\W*{_LABEL}\W+(?:is\W+)?{_WORD_AND_REST}", re.I)
_ONE = re.compile(rf"^\W*(?:(?:test|input|case)\W+)?(?P<id>t?\d+)\b[^:=|—–-]*[:=|—–-]+\W*{_WORD_AND_REST}", re.I)
_BARE = re.compile(rf"^\W*{_WORD_AND_REST}", re.I | re.S)
_ENDED = re.compile(r"\W*$|[*_)\]\"']*(?:\s*[.:;,|!—–]|\s+[-(]|-\s|\s+(?:because|since|as)\b)")
"""What may follow the word `right` if it is the verdict; `correct output would be 3` is none."""
_DOUBT = re.compile(
    r"\b(?:except|only if|unless|as long as|provided|assuming|but|however|although|though|would|(?<!as it )should)\b"
    r"|\b(?:wrong|incorrect)\b"
    r"|^\W*not\b|\bnot (?:quite|entirely|exactly|fully|completely|really|right|correct|sure|as|what|for|in|when|if)\b",
    re.I,
)
_HEADING = re.compile(r"^(?P<sign>#*)\s*(?:(?:test|input|case)\W+)?(?P<id>t?\d+)\b(?P<rest>.*)$", re.I)
_TWO_WAYS = "the whole is judged right, but not every input"
_PYTHON = ("python", "py", "python3", "ipython")
_MOST_REASON = 400
_Parsed = tuple[list[tuple[Ruling, str]], tuple[Opinion, ...]]


@heuristic("reading a reply", raise_unreadable)
def parse_judgement(text: str, ids: Sequence[str]) -> tuple[Judgement, str | None]:
    """Parse a judgement about the inputs with these ids and the corrected program, if any; ReplyError without both.

    A reply that calls the whole `right` but some input not right is unsure, or wrong if it corrects the program.
    """
    text = without_thinking(encodable(text))
    code = _program(text)
    verdicts, opinions = _parse_json(text, ids) or _parse_lines(without_fenced_blocks(text), ids)
    rulings = {item.ruling for item in opinions}
    given = {ruling for ruling, _ in verdicts}
    reason = next((reason for _, reason in reversed(verdicts) if reason), "")
    if len(given) > 1:
        ruling: Ruling = "unsure"
        reason = "different verdicts are given"
    elif given == {"right"} and rulings - given:
        ruling = "wrong" if code is not None and "wrong" in rulings else "unsure"
        reason = _TWO_WAYS if ruling == "unsure" else ""
    elif given or rulings:
        ruling = _worst(given or rulings)
    elif code is not None:
        ruling = "wrong"
    else:
        raise ReplyError("there is no line with the verdict: right, wrong or unsure.")
    reason = reason or next((item.reason for item in opinions if item.ruling == ruling and item.reason), "")
    return Judgement(ruling, reason, opinions), code if ruling == "wrong" else None


def _program(text: str) -> str | None:
    """Return the longest Python block, since a shorter one quotes a part. A lone verdict word is not a program."""
    found = [block for block in blocks(text) if block.body.strip() and not _ALONE.match(block.body.strip())]
    marked = [block for block in found if block.language in _PYTHON] or [item for item in found if not item.language]
    if not marked:
        return None
    try:
        return parse_code(fenced(max(marked, key=lambda block: len(block.body)).body, "python"))
    except ReplyError:
        return None


def _parse_lines(text: str, ids: Sequence[str]) -> _Parsed:
    """Return the verdicts on the whole, with their reasons, and one opinion per input."""
    verdicts, opinions = list[tuple[Ruling, str]](), list[Opinion]()
    below: str | None = None
    for line in map(strip_markdown, text.splitlines()):
        one, whole, bare = _ONE.match(line), _ALONE.match(line) or _LABELLED.match(line), _BARE.match(line)
        id_ = _match_id(one["id"], ids) if one else None
        if one and id_:
            opinions.append(Opinion(id_, *_ruling_and_reason(one)))
        elif bare and below:
            opinions.append(Opinion(below, *_ruling_and_reason(bare)))
        elif whole:
            verdicts.append(_ruling_and_reason(whole))
        elif bare and not re.fullmatch(_WORDS["right"], bare["word"], re.I) and _ENDED.match(bare["rest"]):
            verdicts.append(_ruling_and_reason(bare))
        below = None if one or (bare and below) else _heading(line, ids, below)
    return verdicts, _worst_of_each(opinions)


def _parse_json(text: str, ids: Sequence[str]) -> _Parsed | None:
    """Return the same from JSON, which some models write whatever the requested form; `None` if it holds no verdict."""
    whole = next((value for value in json_values(text) if isinstance(value, dict) and "verdict" in value), None)
    if whole is None:
        return None
    tests = whole.get("tests") or whole.get("inputs") or []
    if isinstance(tests, dict):  # keyed by the ids of the inputs
        tests = [{"test": id_, **(one if isinstance(one, dict) else {"verdict": one})} for id_, one in tests.items()]
    opinions = []
    for one in tests if isinstance(tests, list) else []:
        if isinstance(one, dict) and (id_ := _match_id(str(one.get("test") or one.get("input") or one.get("id")), ids)):
            opinions += [Opinion(id_, *verdict) for verdict in _json_verdict(one)]
    return _json_verdict(whole), _worst_of_each(opinions)


def _json_verdict(given: Mapping[str, JsonValue]) -> list[tuple[Ruling, str]]:
    """Return the verdict and its reason; unsure if it is not a verdict word, none if there is none."""
    found = _BARE.match(str(given.get("verdict") or ""))
    ruling, reason = _ruling_and_reason(found) if found else ("unsure", "")
    return [(ruling, str(given.get("reason") or reason)[:_MOST_REASON])] if given.get("verdict") else []


def _worst_of_each(opinions: Iterable[Opinion]) -> tuple[Opinion, ...]:
    """Return one opinion per input: the worst of several."""
    found = dict[str, Opinion]()
    for item in opinions:
        known = found.get(item.input)
        if known is None or _worst((known.ruling, item.ruling)) != known.ruling:
            found[item.input] = item
    return tuple(found.values())


def _ruling_and_reason(found: re.Match[str]) -> tuple[Ruling, str]:
    """Return the verdict and the reason; `right` with an exception or a condition becomes unsure."""
    rest: str = found["rest"]
    ruling = next(ruling for ruling, forms in _WORDS.items() if re.fullmatch(forms, found["word"], re.I))
    if ruling == "right" and not (_ENDED.match(rest) and not _DOUBT.search(rest)):
        ruling = "unsure"
    return ruling, rest.lstrip(" .:;,*|—–-").rstrip(" |")[:_MOST_REASON]


def _worst(rulings: Iterable[Ruling]) -> Ruling:
    return min(rulings, key=list(_WORDS).index)


def _heading(line: str, ids: Sequence[str], below: str | None) -> str | None:
    """Return the input that the following lines are about; a heading that names none ends the section."""
    found = _HEADING.match(line)
    if found and (found["sign"] or not re.search(r"\w", found["rest"])):
        return _match_id(found["id"], ids)
    return None if line.startswith("#") or re.fullmatch(rf"\W*{_LABEL}\W*", line, re.I) else below


def _match_id(id_: str, ids: Sequence[str]) -> str | None:
    """Return the matching id: `2` and `T2` mean `t2`."""
    meant = f"t{id_.lower().lstrip('t')}"
    return meant if meant in ids else None


# Correctness testing: runs a solution on generated inputs, has its outputs judged, corrects it, and tests it again.
#
# CoCoST, sections 3.2.1 and 3.2.2, with the user's check first: a correction has to pass it too. The rounds end
# when the outputs are judged right or cannot be judged, when the model has no other program to offer, or when
# rounds or budget are used up. The model writes inputs only, never expected results. A judgement of wrong comes
# with a corrected program in the same reply; APIs for the errors among the results are looked up beforehand.

_FOUND = 5
"""Number of APIs that are looked up for one error."""
_MOST_ERRORS = 3
_MOST_QUERY = 400
_FAILING = re.compile(r"^-+>\s*\d+\s+(\S.*)$", re.MULTILINE)
"""The line that an IPython traceback points at."""

_OFFLINE = "The offline model can neither write test inputs nor judge outputs: --tests is ignored."
_UNSHARED = "Outputs are not shown to the model (--share none), so it cannot judge them: --tests is ignored."
_SPARE = 1.0
"""Seconds reserved for the end of the run."""


@dataclass(slots=True)
class TestingResult:
    """The outcome of testing a solution."""

    program: Experience
    """The last program that ran and passed the user's check."""
    inputs: tuple[InventedInput, ...] = ()
    results: tuple[InputRun, ...] = ()
    """What the program gave for the inputs, if it was tested."""
    judgement: Judgement | None = None
    unusable: int = 0
    """How many inputs failed without the program."""
    stop_reason: str = ""
    """Why there was no further round, if something was lacking; part of a sentence."""
    programs: list[Experience] = field(default_factory=list)


def can_test(run: Run) -> bool:
    """Whether solutions should be tested on inputs; emits a notice if that was requested but is impossible."""
    if not run.settings.tests:
        return False
    problem = _OFFLINE if run.model.name == OFFLINE else _UNSHARED if run.sharing == "none" else ""
    if problem:
        run.emit(Notice(problem, "warning"))
    return not problem


async def refine_solution(run: Run, state: State, program: Experience, check: CheckCode | None) -> TestingResult:
    """Run the rounds, starting from a program that ran and passed the user's check; a spent budget ends them."""
    tested = TestingResult(program, programs=[program])
    with anyio.move_on_after(max(run.meter.seconds_left - _SPARE, 0.0)) as scope:
        try:
            await _run_rounds(run, state, tested, check)
        except BudgetExceeded as spent:
            tested.stop_reason = spent.message
    if scope.cancelled_caught:
        tested.stop_reason = run.meter.out_of_time().message
    tested.stop_reason = tested.stop_reason[:1].lower() + tested.stop_reason[1:].rstrip(".")
    return tested


async def _run_rounds(run: Run, state: State, tested: TestingResult, check: CheckCode | None) -> None:
    program = tested.program
    run.root.expect(run.settings.test_inputs)
    tested.inputs = await invent(run, program)
    for round_ in range(run.settings.test_rounds + 1):
        results = await _run_on_inputs(run, tested, program)
        if not results:
            return
        judgement, code = await judge(run, state, program, tested.inputs, results)
        if program is tested.program:
            tested.results, tested.judgement = results, judgement
        if code is None or round_ == run.settings.test_rounds:
            return
        known, tried = fingerprint(code), [item.candidate for item in tested.programs]
        candidate = Candidate(
            f"s{run.agenda.next_number(SOLUTION.id)}",
            SOLUTION.id,
            code,
            tried[0].round + round_ + 1,
            tried[-1].id,
            duplicate_of=next((item.id for item in tried if fingerprint(item.code) == known), None),
        )
        await raise_if_cancelled()
        run.emit(CandidateProposed(candidate))
        if candidate.duplicate_of:
            tested.stop_reason = "the model had no other program to offer"
            return
        program = await try_solution(run, state, candidate, check)
        await raise_if_cancelled()
        tested.programs.append(program)
        if program.observation.ran:
            tested.program, tested.results, tested.judgement = program, (), None


async def _run_on_inputs(run: Run, tested: TestingResult, program: Experience) -> tuple[InputRun, ...]:
    """Return what the program gives for the inputs; inputs that fail without the program are reported and dropped."""
    if not tested.inputs:
        return ()
    results = await try_inputs(run, program.candidate.code, tested.inputs)
    await raise_if_cancelled()
    run.emit(SolutionTested(program.candidate.id, results))
    usable = []
    for one, result in zip(tested.inputs, results, strict=True):
        if result.usable:
            usable.append(one)
            continue
        seen = result.observation
        why = seen.error.headline if seen.error else seen.note or seen.status
        run.emit(Notice(f"The generated input “{one.title}” was skipped because its setup code fails: {why}"))
    tested.unusable += len(tested.inputs) - len(usable)
    tested.inputs = tuple(usable)
    return tuple(result for result in results if result.usable)


async def invent(run: Run, program: Experience) -> tuple[InventedInput, ...]:
    """Return inputs on which to test the program; none, with a notice, if the model gives no usable ones."""
    inputs = InventInputs(run.task, program, run.settings.test_inputs)
    try:
        reply = await ask_json(run, "invent", inputs, InventReply, subject=program.candidate.id)
    except ReplyError as error:
        run.emit(Notice(f"No test inputs could be read from the model's replies: {error.message}", "warning"))
        return ()
    found = [item for number, one in enumerate(reply.tests, 1) if (item := _clean_input(run, one, number))]
    found = [replace(item, id=f"t{number}") for number, item in enumerate(found[: run.settings.test_inputs], 1)]
    if found:
        run.emit(InputsInvented(tuple(found)))
    return tuple(found)


def _clean_input(run: Run, reply: InputReply, number: int) -> InventedInput | None:
    """Return the input without assertions; `None`, with a notice, if nothing in it can be run."""
    title = reply.title or f"input {number}"
    before, after = strip_assertions(reply.before), strip_assertions(reply.after)
    if before is None or after is None or not (before.strip() or after.strip()):
        run.emit(Notice(f"The generated input “{title}” was skipped: it contains no valid Python code.", "warning"))
        return None
    if (before, after) != (reply.before, reply.after):
        why = "the model's expectations are unreliable, so it is shown the actual results instead"
        run.emit(Notice(f"Assertions were removed from the generated input “{title}”: {why}."))
    return InventedInput("", title, before, display_last_value(after))


async def judge(
    run: Run, state: State, program: Experience, inputs: Sequence[InventedInput], results: Sequence[InputRun]
) -> tuple[Judgement, str | None]:
    """Return the model's judgement of the results and its correction; unsure, with a notice, if it is unreadable."""
    experiences = []
    for one, result in zip(inputs, results, strict=True):
        parts = (one.before, "# the program runs here", one.after)
        code = "\n\n".join(part.strip("\n") for part in parts if part.strip())
        candidate = Candidate(one.id, program.candidate.subtask, code)
        experiences.append(Experience(Subtask(one.id, f"{one.id}: {one.title}"), candidate, result.observation))
    question = JudgeInputs(run.task, (), state.experience, program, tuple(experiences))
    question = replace(question, apis=await _look_up_errors(run, question))
    ids = [test_input.id for test_input in inputs]
    try:
        parsed: tuple[Judgement, str | None] = await ask_parsed(
            run, "judge", question, lambda text: parse_judgement(text, ids), subject=program.candidate.id
        )
    except ReplyError as error:
        run.emit(Notice(f"The model's judgement of the outputs could not be parsed: {error.message}", "warning"))
        parsed = Judgement("unsure", "the model's replies could not be parsed"), None
    run.emit(SolutionJudged(program.candidate.id, parsed[0]))
    return parsed


@heuristic("searching the documentation", lambda run, question: ())
async def _look_up_errors(run: Run, question: JudgeInputs) -> tuple[ApiDoc, ...]:
    """Return the APIs nearest to each error among the results and the expression that failed, as far as shared."""
    redacted = redact_inputs(question, run.sharing)
    assert isinstance(redacted, JudgeInputs)
    errors = [item.observation.error for item in (redacted.program, *redacted.results) if item.observation.error]
    queries: dict[str, None] = {}
    for error in errors:
        failing = _FAILING.search(error.report) or _FAILING.search(error.traceback)
        queries[f"{error.headline} {failing.group(1) if failing else ''}".strip()[:_MOST_QUERY]] = None
    found = [await run.knowledge.search(query, _FOUND) for query in list(queries)[:_MOST_ERRORS]]
    return merge_apis(*(tuple(item.api for item in items) for items in found))[:_FOUND]

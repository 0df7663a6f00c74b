"""Markdown of the generated cells: task, plan, headings, notices, sources and summary."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import lru_cache
from typing import Final
from urllib.parse import urlsplit

from exploracoder_jupyter.core.configuration.sections import OFFLINE
from exploracoder_jupyter.core.events import FilesKept, KnowledgeSearched, LookedUp, Notice, RunFinished
from exploracoder_jupyter.core.messages import describe_tokens, money, plural
from exploracoder_jupyter.core.run_state import SOLUTION, Attempt, InputResult, InputRound, RunState, Section
from exploracoder_jupyter.core.types import (
    ApiDoc,
    InventedInput,
    Outcome,
    Passage,
    Ruling,
    Solution,
    SourceKind,
    Status,
    SubtaskStatus,
    Usage,
    Verdict,
)
from exploracoder_jupyter.text.characters import encodable, fenced, without_formulas

# Escapes text from models and libraries for Markdown and HTML.
#
# Every front end renders generated Markdown cells as trusted, so foreign text must not contain markup or math.
# `prose` is for Markdown text, `span` for inline code in Markdown, `html` for the inside of an HTML block, where
# Markdown is off, and `attribute` for an attribute there. Math is typeset in the page, after entities have been
# decoded, except in code; so what begins it stands in an element of its own (`text.characters`). All of them
# return a single line.

_HTML = {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "$": "&#36;", "\\": "&#92;"}
_MATH = {mark: without_formulas(mark).replace(mark, _HTML[mark]) for mark in "$\\"}
_MARKUP = "`*_[]{}|~#!"
_AS_HTML = str.maketrans({**_HTML, **_MATH})
_AS_ATTRIBUTE = str.maketrans(_HTML)
_AS_PROSE = str.maketrans({**_HTML, **_MATH, '"': '"', **{mark: "\\" + mark for mark in _MARKUP}})
_AS_SPAN = str.maketrans({**_HTML, **{mark: f"&#{ord(mark)};" for mark in _MARKUP}})
_CODE = re.compile(r"`([^`]+)`")
_BLOCK_START = re.compile(r"^(?:([-+=])|(\d+)([.)])(?=\s|$))")


def clip(text: str, limit: int) -> str:
    """Put the text on one line of at most `limit` characters, with an ellipsis if it was cut."""
    line = _one_line(text)
    return line if len(line) <= limit else line[: max(limit - 1, 0)].rstrip() + "…"


def prose(text: str) -> str:
    """Escape text for Markdown, also at the start of a line or list item; text in backticks becomes code."""
    parts = _CODE.split(_one_line(text))
    shown = [span(part) if number % 2 else part.translate(_AS_PROSE) for number, part in enumerate(parts)]
    return _BLOCK_START.sub(lambda found: f"{found[2] or ''}\\{found[1] or found[3]}", "".join(shown))


def span(text: str) -> str:
    """Escape inline code for Markdown."""
    return f"<code>{_one_line(text).translate(_AS_SPAN)}</code>"


def html(text: str) -> str:
    """Escape text for an HTML block: no tags, no math, no blank line that would end the block."""
    return _one_line(text).translate(_AS_HTML)


def attribute(text: str) -> str:
    """Escape text for an attribute in quotes, where nothing is typeset."""
    return _one_line(text).translate(_AS_ATTRIBUTE)


def _one_line(text: str) -> str:
    return " ".join(encodable(text).split())


# Markdown about repeated searches, look-ups, and the passages that were added to prompts.
#
# A passage is listed with its origin and license; its text stays in the records. Text from sources is always
# escaped with `markdown`.

_SOURCES: Final[dict[SourceKind, str]] = {
    "documentation": "documentation",
    "snippet": "code that ran before",
    "web": "web page",
    "workspace": "your files",
}
_MAX_LISTED: Final = 4


def search_markdown(searches: Sequence[KnowledgeSearched], lookups: Sequence[LookedUp]) -> list[str]:
    """Return paragraphs on repeated searches and look-ups, and a collapsed list of the passages found."""
    repeated = [line for search in searches if search.round and (line := _repeated_search(search))]
    arguments = dict.fromkeys(clip(item.argument or item.tool, 80) for item in lookups)
    looked_up = f"*Looked up while writing:* {', '.join(map(span, arguments))}" if arguments else ""
    passages = tuple(dict.fromkeys(item for search in searches for item in search.passages))
    return [*repeated, *filter(None, (looked_up, _passages(passages) if passages else ""))]


def _repeated_search(search: KnowledgeSearched) -> str:
    """Return one line on a search after a failure; empty if nothing was found and no APIs were searched."""
    if not (search.apis or search.passages):
        return ""
    names = _list_names([span(path) for path in search.apis], "API")
    titles = _list_names([f"“{prose(clip(item.title, 80))}”" for item in search.passages], "passage")
    same = ", the same as before" if search.agreed else ""
    return f"*Searched again ({search.made_of}):* found {'; '.join(part for part in (names, titles) if part)}{same}."


def _list_names(names: Sequence[str], noun: str) -> str:
    more = len(names) - _MAX_LISTED
    listed = ", ".join(names[:_MAX_LISTED])
    return f"{listed} and {plural(more, f'more {noun}')}" if more > 0 else listed


@lru_cache(maxsize=64)  # the list never changes, while the cell around it changes with every event
def _passages(passages: tuple[Passage, ...]) -> str:
    items = ""
    for item in {(item.source, item.origin): item for item in passages}.values():
        parts = [_SOURCES[item.source], html(clip(item.title, 160)), _link(item.origin), html(clip(item.licence, 80))]
        items += f"\n<li>{'; '.join(filter(None, parts))}</li>"
    return f"<details><summary>Passages found ({len(passages)})</summary>\n<ul>{items}\n</ul>\n</details>"


def _link(origin: str) -> str:
    shown = html(clip(origin, 200))
    if urlsplit(origin).scheme not in ("http", "https"):
        return f"<code>{shown}</code>" if shown else ""
    return f'<a href="{attribute(origin)}" rel="noreferrer noopener">{shown}</a>'


# Markdown of the generated cells: task, plan, subtask headings, notices, summary.
#
# Each function takes the run (or a section of it) and returns the cell's text. A status is shown by a symbol and a
# word, never by color alone. Text from models and libraries is always escaped with `markdown`.

_SYMBOLS: dict[SubtaskStatus, str] = {"planned": "○", "exploring": "▶", "done": "✓", "failed": "✗", "skipped": "↷"}
_VERDICTS: dict[Outcome, str] = {
    "solved": "✓ **Solved**.",
    "unchecked": "◐ **Unchecked** (nothing has shown that its result is right).",
    "unsolved": "✗ **Unsolved** (no solution was found).",
    "stopped": "■ **Stopped** before the end; what was learned until then is {where}.",
}
STATUSES: dict[Status, str] = {
    "ok": "ran",
    "error": "failed",
    "timeout": "timed out",
    "died": "kernel died",
    "interrupted": "interrupted",
}
_RULINGS: dict[Ruling, str] = {"right": "✓ right", "wrong": "✗ wrong", "unsure": "◐ unsure"}
_STEP_NAMES = {
    "introduce": "introduction",
    "planners": "example plans",
    "plan": "plan",
    "recommend": "APIs",
    "recommend_global": "APIs for the solution",
    "propose": "snippets",
    "debug": "repairs",
    "solve": "solution",
    "repair": "repairs of the solution",
    "invent": "test inputs",
    "judge": "judging",
    "explain": "explaining failures",
    "strategy": "strategy",
    "execute": "executions",
}
"""Display names of steps, in the order of the cost table; unknown steps are shown by their own name."""
_MAX_TASK = 4000
_MAX_FILES = 20


def task_markdown(run: RunState) -> str:
    """Render the opening cell of a trace."""
    if run.started is None:
        return "# Exploration\n\nThe record of the start of this run is missing."
    task, environment = run.started.task, run.started.environment
    quoted = "  \n".join("> " + prose(line) for line in task.text.strip()[:_MAX_TASK].splitlines())
    tests = (task.repository.command or " ".join(["pytest", *task.repository.tests])) if task.repository else ""
    facts = {
        "Libraries": _libraries(run),
        "Model": prose(run.started.model),
        "Date": f"{datetime.fromtimestamp(run.started_at, UTC):%Y-%m-%d %H:%M} UTC",
        "Kernel": prose(f"{environment.kernel}, Python {environment.python}, {environment.platform}"),
        "Check": span(clip(task.check, 300)) if task.check else "",
        "Repository": span(environment.folder) if task.repository else "",
        "Tests": span(tests) if tests else "",
        "Variables": ", ".join(span(name) for name in task.uses),
    }
    cut = "\n\n*The rest of the task is in the notebook's metadata.*" if len(task.text) > _MAX_TASK else ""
    state = "" if run.finished else "\n\n*No verdict is recorded yet: the run is under way, or was cut off.*"
    listed = "\n".join(f"- **{name}:** {value}" for name, value in facts.items() if value)
    return f"# Exploration of {prose(task.subject)}\n\n{quoted}{cut}\n\n{listed}{state}"


def plan_markdown(run: RunState) -> str:
    """Render the plan with live statuses and the cost so far."""
    parts = ["### Exploration plan", _plan_list(run)]
    if run.efforts and not run.planned:
        parts = ["### Approach"]
    elif not run.explores:
        parts = [f"### Strategy: {prose(run.strategy)}", _plan_list(run) if run.subtasks else ""]
    parts += [f"*{prose(clip(chosen.reason, 300))}*" for chosen in run.efforts]
    parts += ["**The plan is waiting for your review.**"] if run.reviewing else []
    parts += [f"*Plan revised: {prose(clip(reason, 300))}*" for reason in run.revisions if reason]
    parts += search_markdown(run.searches, ())
    parts.append(_cost_line(run))
    return _paragraphs(*parts)


def patch_markdown(patch: str) -> str:
    """Render the change of a repository, and how it is applied."""
    how = "Nothing has been changed yet: `%explora apply` applies this patch, `%explora undo` undoes it."
    return f"{fenced(patch.removesuffix(chr(10)), 'diff')}\n\n{how}"


def solution_markdown(section: Section, outcome: Outcome | None, files: FilesKept | None, *, over: bool) -> str:
    """Render the heading above the solutions: their outcomes, and the files written. `over`: whether the run is."""
    found = search_markdown(section.searches, section.lookups)
    return _paragraphs("### Solution", *found, _outcomes(section, over=over), *_solution_notes(outcome, files))


def attempts_markdown(section: Section, *, over: bool) -> str:
    """Render the heading above the attempts at a solution, where the solution has one of its own."""
    found = search_markdown(section.searches, section.lookups)
    return _paragraphs("### Attempts at a solution", *found, _outcomes(section, over=over))


def outcome_markdown(run: RunState, solution: Solution | None) -> str:
    """Render the heading above the solution alone."""
    if run.finished is None:
        return "### Solution\n\n*Not found yet.*"
    if solution is None:
        return "### No solution"
    return _paragraphs("### Solution", *_solution_notes(run.finished.verdict.outcome, run.files))


def _paragraphs(*parts: str) -> str:
    return "\n\n".join(filter(None, parts))


def _solution_notes(outcome: Outcome | None, kept: FilesKept | None) -> Iterator[str]:
    if outcome == "stopped":
        yield "The code that ran in each subtask, joined. **It was not run as a whole.**"
    if kept and kept.files:
        names = ", ".join(span(clip(name, 200)) for name in kept.files[:_MAX_FILES])
        rest = f" and {len(kept.files) - _MAX_FILES} more" if len(kept.files) > _MAX_FILES else ""
        folder = kept.folder.replace("\\", "/").rpartition("/")[2]
        yield f"The solution wrote {plural(len(kept.files), 'file')}, kept in {span(folder)}: {names}{rest}."
    elif kept:
        yield "The solution wrote no files."


def input_code(given: InventedInput, solution: str) -> str:
    """Render the code of a generated input, with a comment at the place where the solution runs."""
    title = " ".join(given.title.split())
    here = f"# here {solution} runs, as above" if given.before.strip() else f"# after {solution}"
    parts = (f"# {title}", given.before.strip("\n"), here, given.after.strip("\n"))
    return "\n".join(part for part in parts if part.strip())


def judgement_markdown(solution: str, round_: InputRound, *, over: bool) -> str:
    """Render the judgement of a solution's outputs, overall and for each input."""
    judgement = round_.judgement
    name = f"**Solution {prose(solution)}**"
    if judgement is None:
        state = "was run on generated inputs, but not judged" if over else "is being judged by its outputs"
        return f"{name} {state}."
    reason = f": {prose(clip(judgement.reason, 400).rstrip('.'))}" if judgement.reason else ""
    listed = "\n".join(_input_line(shown, round_) for shown in round_.shown)
    return f"{name} judged by its outputs: **{_RULINGS[judgement.ruling]}**{reason}.\n\n{listed}".strip()


def _input_line(shown: InputResult, round_: InputRound) -> str:
    title = prose(clip(shown.given.title, 200))
    if not shown.usable:
        return f"- {title}: left out, because the input itself fails"
    ruling = round_.ruling_on(shown.given.id)
    opinions = round_.judgement.opinions if round_.judgement else ()
    reason = next((item.reason for item in opinions if item.input == shown.given.id), "")
    why = f" ({prose(clip(reason, 300))})" if reason else ""
    return f"- {title}: {_RULINGS[ruling] if ruling else 'not judged separately'}{why}"


def heading_markdown(section: Section, *, over: bool) -> str:
    """Render a subtask's heading: recommended APIs, the outcomes of its candidates, and why one was carried forward."""
    parts = [f"### Subtask {prose(section.subtask.id)}: {prose(clip(section.subtask.title, 300))}"]
    parts.append(_api_table(section.apis) if section.apis else "")
    for wish in section.wishes:
        what = "Explored again" if wish.what == "retry" else f"Candidate {prose(wish.candidate)} chosen"
        parts.append(f"*{what} by the user{f': {prose(clip(wish.hint, 400))}' if wish.hint else '.'}*")
    parts += search_markdown(section.searches, section.lookups)
    return _paragraphs(*parts, _outcomes(section, over=over), _selection(section))


def notice_markdown(notices: Sequence[Notice]) -> str:
    """Render notices for the user."""
    signs = {"info": "ℹ Note", "warning": "⚠ Warning"}
    quoted = "\n>\n".join(f"> {signs[notice.level]}: {prose(notice.text)}" for notice in notices)
    blocks = [quoted]
    for notice in notices:
        if notice.details:  # the traceback of an internal error, without blank lines, which would end the block
            lines = [f"{'&nbsp;' * (len(one) - len(one.lstrip()))}{html(one)}" for one in notice.details.splitlines()]
            shown = "\n".join(filter(None, lines))
            blocks.append(f"<details><summary>Traceback for a bug report</summary>\n<pre>\n{shown}\n</pre>\n</details>")
    return "\n\n".join(blocks)


def summary_markdown(run: RunState, finished: RunFinished) -> str:
    """Render the verdict, the cost by step, and the model, libraries and environment used."""
    lines = "\n".join(f"- {line}" for line in _environment_lines(run))
    return _paragraphs("### Summary", verdict_markdown(finished.verdict), cost_table(finished), lines)


def verdict_markdown(verdict: Verdict, *, where: str = "above") -> str:
    """Render how the run ended, in one line; `where` are the run's cells, relative to it."""
    return f"{_VERDICTS[verdict.outcome].format(where=where)} {prose(verdict.reason)}"


def _plan_list(run: RunState) -> str:
    if not run.subtasks:
        return "*No plan was made.*" if run.finished else "*Planning…*" if run.library else "*Reading the libraries…*"
    items = []
    for section in run.subtasks:
        symbol, word = _SYMBOLS[section.status], section.status.replace("done", "ran")  # ran, but maybe not correctly
        if run.finished and not section.settled:
            symbol, word = "■", "not finished"
        why = f": {prose(clip(section.reason, 300))}" if section.reason else ""
        title = prose(clip(section.subtask.title, 300))
        items.append(f"- {symbol} **{prose(section.subtask.id)}.** {title} ({word}){why}")
    return "\n".join(items)


def _cost_line(run: RunState) -> str:
    usage = run.usage
    calls = "request" if run.started and run.started.model == OFFLINE else "model call"
    spent = f"{plural(usage.calls, calls)}, {describe_tokens(usage)}, {plural(usage.executions, 'execution')}"
    if run.finished:
        return f"Cost: {spent}, {int(usage.seconds)} s."
    if run.estimate is None:
        return f"Cost so far: {spent}."
    return f"Cost so far: {spent}. Expected in all: {run.estimate}."


@lru_cache(maxsize=64)  # the table never changes, while the cell around it changes with every event
def _api_table(apis: tuple[ApiDoc, ...]) -> str:
    rows = ""
    for api in apis:
        summary = f"Deprecated: {api.deprecated} {api.summary}" if api.deprecated else api.summary
        signature = html(clip(api.signature, 160))
        columns = (f"<code>{html(api.path)}</code>", f"<code>{signature}</code>", html(clip(summary, 240)))
        rows += f"\n<tr><td>{'</td><td>'.join(columns)}</td></tr>"
    head = "<tr><th>API</th><th>Signature</th><th>What it does</th></tr>"
    return f"<details><summary>Recommended APIs ({len(apis)})</summary>\n<table>\n{head}{rows}\n</table>\n</details>"


def _outcomes(section: Section, *, over: bool) -> str:
    """Return one line with the outcome of each candidate, including those without a cell."""
    fates = [_outcome(attempt, over=over or section.was_skipped(attempt)) for attempt in section.ordered]
    return "Tried: " + "; ".join(fates) + "." if fates else ""


def _outcome(attempt: Attempt, *, over: bool) -> str:
    candidate, observation = attempt.candidate, attempt.observation
    name = f"**{prose(candidate.id)}**"
    if candidate.duplicate_of:
        return f"{name} same code as {prose(candidate.duplicate_of)}, not run again"
    if candidate.problem or not candidate.code.strip():
        return f"{name} no code ({prose(clip(candidate.problem or 'empty', 200))})"
    if observation is None:
        return f"{name} {'not run' if attempt.unexecuted else 'not finished' if over else 'running'}"
    what = observation.error.headline if observation.error else observation.note
    reason = f" ({prose(clip(what, 160).rstrip('.'))})" if what else ""
    if attempt.failed_check:
        return f"{name} ran, but its check failed{reason}"
    wrote, files = "", observation.files
    if files and candidate.subtask != SOLUTION:
        wrote = f", wrote {span(clip(files[0], 80))}{f' and {len(files) - 1} more' if len(files) > 1 else ''}"
    return f"{name} {STATUSES[observation.status]}{reason}{wrote}"


def _selection(section: Section) -> str:
    if section.selection:
        id = prose(section.selection.candidate)
        if section.status == "failed":
            return f"✗ **None ran**; the failure of candidate {id} is kept as experience."
        reasons = "; ".join(prose(clip(reason, 200)) for reason in section.selection.reasons)
        return f"**Candidate {id} carried forward**{f': {reasons}' if reasons else ''}."
    if section.status in ("failed", "skipped"):
        reason = f": {prose(clip(section.reason, 400))}" if section.reason else "."
        return f"{_SYMBOLS[section.status]} **{section.status.capitalize()}**{reason}"
    return ""


def cost_table(finished: RunFinished) -> str:
    """Render a table with the cost of each step and the total."""
    total, by_step = finished.usage, finished.usage_by_step
    order = [*_STEP_NAMES]
    steps = sorted(by_step, key=lambda step: order.index(step) if step in order else len(order))
    columns = ["Step", "Calls", "Prompt tokens", "Completion tokens", "Executions", "Seconds"]
    if total.cached_tokens:
        columns.append("Cached tokens")
    if total.cost is not None:
        columns.append(f"Cost ({prose(total.currency)})" if total.currency else "Cost")

    def row(name: str, usage: Usage) -> str:
        counts = (usage.calls, usage.prompt_tokens, usage.completion_tokens, usage.executions)
        cached = [f"{usage.cached_tokens:,}"] if total.cached_tokens else []
        cost = [money(usage.cost or 0.0, "")] if total.cost is not None else []
        cells = [name, *(f"{count:,}" for count in counts), f"{usage.seconds:.1f}", *cached, *cost]
        return f"| {' | '.join(cells)} |"

    rows = [row(prose(_STEP_NAMES.get(step, step)), by_step[step]) for step in steps]
    seconds = sum(usage.seconds for usage in by_step.values())  # the elapsed time of the run is below
    rows.append(row("**all**", replace(total, seconds=seconds)))
    return "\n".join([f"| {' | '.join(columns)} |", f"|:--|{'--:|' * (len(columns) - 1)}", *rows])


def _environment_lines(run: RunState) -> Iterable[str]:
    if run.started is None:
        return
    environment = run.started.environment
    yield f"Model: {prose(run.started.model)}"
    yield f"Libraries: {_libraries(run)}"
    yield f"Kernel: {prose(environment.kernel)}, Python {prose(environment.python)}, {prose(environment.platform)}"
    yield f"Isolation: {prose(environment.confinement)}; branching: {prose(environment.branching)}"
    yield f"Time: {int(run.usage.seconds)} s; exploracoder\\_jupyter {prose(run.started.version)}"


def _libraries(run: RunState) -> str:
    if run.library:
        return ", ".join(prose(info.titled) for info in run.library.libraries)
    return prose(run.started.task.subject) if run.started else ""

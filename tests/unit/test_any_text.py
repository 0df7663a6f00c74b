"""What candidates print, models reply and documents say is read whatever it is: nothing raises, nothing takes long."""

import io
import time
from dataclasses import fields, is_dataclass, replace
from datetime import date
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Literal, get_origin, get_type_hints

import anyio
import nbformat
import pytest
from hypothesis import given
from pydantic import ValidationError
from rich.console import Console

from exploracoder_jupyter.cli.lines import Lines
from exploracoder_jupyter.cli.live import draw
from exploracoder_jupyter.errors import ReplyError, UsageError
from exploracoder_jupyter.events import Notice, dump, load
from exploracoder_jupyter.execution.texts import cut_middle, overwritten, strip_ansi
from exploracoder_jupyter.frontend.options import read_line as options_line
from exploracoder_jupyter.frontend.panel import State, fold
from exploracoder_jupyter.frontend.render import as_html, as_text
from exploracoder_jupyter.frontend.search import read_line as search_line
from exploracoder_jupyter.frontend.search_code import highlighted
from exploracoder_jupyter.frontend.view import Place, run_view
from exploracoder_jupyter.knowledge import calls as parsed_calls
from exploracoder_jupyter.knowledge import docstring, tokens
from exploracoder_jupyter.knowledge import query as knowledge_query
from exploracoder_jupyter.knowledge import texts as api_texts
from exploracoder_jupyter.knowledge import words as knowledge_words
from exploracoder_jupyter.knowledge.documents import chunks as document_chunks
from exploracoder_jupyter.knowledge.documents.files import File
from exploracoder_jupyter.knowledge.documents.reader import page_of
from exploracoder_jupyter.knowledge.documents.signatures import declared
from exploracoder_jupyter.knowledge.index import Index
from exploracoder_jupyter.knowledge.soup import chunks as soup_chunks
from exploracoder_jupyter.knowledge.soup import ignored, private
from exploracoder_jupyter.models.faults import Fault, Where, explain, quoted
from exploracoder_jupyter.models.offline import OfflineModel, glue
from exploracoder_jupyter.models.offline import state as offline_state
from exploracoder_jupyter.models.offline import values as offline_values
from exploracoder_jupyter.models.offline import words as offline_words
from exploracoder_jupyter.models.offline.clauses import clauses
from exploracoder_jupyter.models.scripted import ScriptedModel
from exploracoder_jupyter.models.toolcalls import calls_of
from exploracoder_jupyter.notebook import CellView, Redactor, compare, render
from exploracoder_jupyter.notebook import text as notebook_text
from exploracoder_jupyter.notebook.executions import executions
from exploracoder_jupyter.notebook.markup import safe_html, safe_latex, safe_markdown
from exploracoder_jupyter.notebook.needed import imported, imported_at_once
from exploracoder_jupyter.notebook.normal import normal
from exploracoder_jupyter.notebook.sanitize import sanitize
from exploracoder_jupyter.notebook.svg import safe_svg
from exploracoder_jupyter.oneline import one_line
from exploracoder_jupyter.pipeline import (
    alike,
    api_text,
    calling,
    calls,
    formulate,
    invented,
    mending,
    nearest,
    packing,
    prompts,
    quoting,
    replies,
    requests,
    rulings,
    select,
    sendable,
    sharing,
    sources,
    telling,
    verify,
    wholes,
)
from exploracoder_jupyter.pipeline.attempt import fingerprint
from exploracoder_jupyter.pipeline.explore import distinct_failures
from exploracoder_jupyter.pipeline.ports import ModelRequest
from exploracoder_jupyter.report import needs
from exploracoder_jupyter.report.code import code_html
from exploracoder_jupyter.report.forms import exported
from exploracoder_jupyter.report.markdown import generated_html, shown_html
from exploracoder_jupyter.report.plain import compiles
from exploracoder_jupyter.report.plain import program as plain_program
from exploracoder_jupyter.types import (
    ApiDoc,
    Candidate,
    Change,
    ErrorInfo,
    Experience,
    Introduction,
    Observation,
    Parameter,
    Passage,
    Planner,
    Sampling,
    Subtask,
    Task,
)
from exploracoder_jupyter.web import hidden, robots
from exploracoder_jupyter.web import markup as web_markup
from exploracoder_jupyter.web import queries as web_queries
from exploracoder_jupyter.web import sections as web_sections
from exploracoder_jupyter.wire import decode_to_engine
from tests.unit.factories import complete_events, recorded
from tests.unit.texts import HARD, few, quick, texts
from tests.unit.world import MATH, FewApis, a_run

MOST_SECONDS = 4.0
"""Of the processor, for one text; hundreds of times what most take."""


def seen(text):
    """An experience in which everything that can be is this text."""
    error = ErrorInfo("AttributeError", text, text, text, text, (text,))
    change = Change("x", "changed", "str", text, text, text)
    observation = Observation(
        "ok", (), None, text, 1.0, (("x", text),), text, (change,), text, (text,), (text,), (text,)
    )
    failed = Observation("error", (), error, text, note=text, schema=text)
    task = Subtask("1", text)
    return [Experience(task, Candidate(f"1.{n}", "1", text), one) for n, one in enumerate((observation, failed))]


def documented(text):
    parameter = Parameter("x", text, text, text)
    return ApiDoc(
        "m.f",
        "function",
        text,
        text,
        "m",
        "1",
        deprecated=text,
        parameters=(parameter,),
        returns=text,
        examples=(text,),
    )


def found(text):
    return Passage("documentation", text, text, text, code=True, apis=(text,))


def one_line_of(text):
    return one_line(text, 30)


def decode_line(text):
    """A line for the engine, which is none."""
    try:
        return decode_to_engine(text)
    except ValidationError:
        return None


def refused(read, text):
    """Called with the text; the errors are those that say that a reply or a check cannot be used."""
    try:
        return read(text)
    except (ReplyError, UsageError):
        return None


def each(*reads):
    return lambda text: [refused(read, text) for read in reads]


def of_pairs(text):
    one, failed = seen(text)
    other = Experience(one.subtask, Candidate("1.9", "1", "x"), Observation("ok", text=f"{text} 'a' 1.5 True"))
    return alike.agree(one, other), alike.agree(other, one), select.select([one, other, failed], [text])


def of_a_run(text):
    """What is asked of everything that a run knows."""
    run = a_run(ScriptedModel([text]), knowledge=FewApis([*MATH, documented(text)], readme=text))
    good, failed = seen(text)
    nearest.enriched(run, failed.observation)
    formulate.error_query(run, failed)
    formulate.web_query(run, failed)
    sendable.sendable(run, [text])
    sendable.sendable_names(run, text)
    distinct_failures([good, failed])
    return [sharing.reduced(item, level) for item in (good, failed) for level in ("values", "schema", "none")]


def of_documents(text):
    apis, passages = [documented(text)], [found(text)]
    return packing.packed(apis, passages, 500), packing.table(apis), api_text.in_full(apis[0], 300)


def of_code(text):
    return (
        fingerprint(text),
        calls.called(text),
        calls.apis_used(text, FewApis(MATH), before=[text]),
        wholes.lacking(text),
        wholes.repeats(text, text),
        wholes.whole(seen(text)),
        sources.of_code(text, text),
    )


def of_test_inputs(text):
    clean = invented.cleaned(text)
    return clean and invented.displaying(clean.code)


PIPELINE = {
    "agreement": of_pairs,
    "information": each(alike.informative, alike.without_addresses),
    "code": of_code,
    "knowledge": of_a_run,
    "documents": of_documents,
    "told": lambda text: [telling.tell(seen(text), most) for most in (100, 10_000)],
    "quoted": each(quoting.quote, prompts.without_offer, api_text.squeezed, partial(telling.shorten, most=9)),
    "markdown": each(
        mending.blocks, mending.unfenced, mending.listed, mending.plain, lambda t: list(mending.values(t))
    ),
    "code of a reply": each(replies.parse_code, calling.code_of, calling.asked, calling.argument, calling.written),
    "structured replies": each(
        *(
            partial(lambda text, form: replies.parse_json(text, form), form=form)
            for form in (replies.PlanReply, replies.SearchingPlanReply, replies.PlannersReply, replies.RevisingReply)
        )
    ),
    "rulings": each(lambda text: rulings.parse_ruling(text, ["t1", "t2"])),
    "test inputs": each(invented.parse_inputs, of_test_inputs),
    "checks": each(
        lambda text: verify.check_code(Task("x", ("m",), check=text, solution_name="f")),
        lambda text: verify.probe(Task("x", ("m",), uses=("x",), check=text)),
    ),
}


def of_documents_read(text):
    """A document in each form that there is a reader for; what breaks one leaves that one out."""
    for suffix in (".html", ".rst", ".md", ".txt", ".ipynb", ".json", ".yaml", ".pyi", ".py", ".inv"):
        try:
            page = page_of(File(f"doc{suffix}", text.encode("utf-8", "replace")))
        except Exception:  # as `read_documents` does
            continue
        list(document_chunks.passages_of(f"doc{suffix}", page))


def of_an_index(text):
    index = Index.build([*MATH, documented(text)])
    return anyio.run(index.search, text, 3), anyio.run(index.search_together, [text, "root"], 3)


KNOWLEDGE = {
    "documents": of_documents_read,
    "search": of_an_index,
    "docstrings": each(
        docstring.read,
        declared,
        parsed_calls.written,
        lambda text: list(api_texts.listed(text)),
        lambda text: parsed_calls.parameters((), text, ()),
    ),
    "words": each(
        tokens.tokens, knowledge_query.named, lambda t: knowledge_query.subject(t, [t]), knowledge_words.vector
    ),
    "the user's files": each(
        *(
            partial(lambda text, name: list(soup_chunks.chunks(name, text)), name=name)
            for name in ("a.py", "a.md", "a.ipynb")
        ),
        lambda text: ignored.rules(text, ""),
        lambda text: private.cleaned(text, str, private.secret_literals(text)),
        private.parsed,
    ),
    "the web": each(
        lambda text: web_sections.sections(web_markup.parse(text)),
        web_sections.markdown_sections,
        web_queries.searchable,
        robots.parse_robots,
        hidden.visible,
    ),
}


def of_the_offline_model(text):
    """A reply to every step whose inputs are this text."""
    good, failed = seen(text)
    task, subtask, apis = Task(text, ("m",)), Subtask("1", text), (documented(text), *MATH)
    introduction = Introduction(text, (Planner(text, (text,)),))
    every = (
        ("introduce", requests.IntroduceInputs(("m",), text)),
        ("planners", requests.PlannersInputs(("m",), (text,), 2)),
        ("plan", requests.PlanInputs(task, introduction, 4)),
        ("recommend", requests.RecommendInputs(task, subtask, (), apis, (good,), False, text)),
        ("recommend_global", requests.RecommendGlobalInputs(task, (subtask,), apis, 3)),
        ("propose", requests.ProposeInputs(task, subtask, introduction, apis, (good,), text)),
        ("debug", requests.DebugInputs(task, subtask, apis, (good,), failed)),
        ("solve", requests.SolveInputs(task, apis, (good,))),
        ("repair", requests.RepairInputs(task, apis, (good,), (failed,))),
    )
    model = OfflineModel(FewApis(MATH))
    for step, inputs in every:
        request = ModelRequest(step, inputs, prompts.render(step, inputs), Sampling(n=2), "1", None)
        anyio.run(replied, model, request)


async def replied(model, request):
    return [reply async for reply in model.complete(request)]


FAULTS = (Fault("silent"), Fault("alien"), Fault("too large"), Fault("status", status=500), Fault("status", status=404))
MODELS = {
    "offline": of_the_offline_model,
    "values in a task": each(
        offline_values.values_in, offline_values.targets_in, offline_values.masked, offline_values.evaluate,
        offline_words.content, glue.callables_in, partial(clauses, most=4), lambda text: glue.idioms(text, text),
        lambda text: glue.conversion(text, text), lambda text: offline_state.pruned(text, ["x"]),
    ),
    "tool calls": each(
        lambda text: calls_of([SimpleNamespace(id=text, function=SimpleNamespace(name=text, arguments=text))]),
        calls_of,
    ),
    "faults": each(
        lambda text: [str(explain(replace(fault, text=text), Where(text, text, True, 1.0))) for fault in FAULTS],
        lambda text: quoted(text, "key"),
    ),
}  # fmt: skip

_OWN = {"id", "subtask", "candidate", "parent", "repairs", "duplicate_of", "run_id", "kind", "python", "version"}


def filled(value, text, name=""):
    """The value with this text in place of every string that may be anything."""
    if is_dataclass(value):
        words = {field for field, hint in get_type_hints(type(value)).items() if get_origin(hint) is Literal}
        kept = words | _OWN
        given = {field.name: getattr(value, field.name) for field in fields(value)}
        return type(value)(**{name: one if name in kept else filled(one, text, name) for name, one in given.items()})
    if isinstance(value, tuple | list):
        return type(value)(filled(item, text) for item in value)
    if isinstance(value, dict):
        return {key: one if key == "output_type" else filled(one, text, key) for key, one in value.items()}
    return text if isinstance(value, str) and name not in ("status", "outcome") else value


def told(text):
    """A whole run in which everything is this text, and a failure with its traceback."""
    events = [filled(event, text) for event in complete_events()]
    events[-1] = replace(events[-1], solution=replace(events[-1].solution, candidate="s2"))
    return recorded([*events[:-1], Notice(text, "warning", text), events[-1]])


def of_a_trace(text):
    records = [Redactor().record(record) for record in told(text)]
    nbformat.validate(render(told(text)))
    assert [load(dump(record)) for record in records] == records
    list(executions(records))


def of_exports(text):
    records = [Redactor().record(record) for record in told(text)]
    for form in ("script", "html", "notebook"):
        refused(partial(exported, records, form), Path("t.ipynb"))


def of_views(text):
    lines, view, state = Lines(lambda line: None), CellView("cell", "all"), State()
    console = Console(file=io.StringIO(), width=80)
    for record in (Redactor().record(record) for record in told(text)):
        lines(record)
        view.apply(record)
        state = fold(state, record)
    as_text(state, 1.0)
    as_html(state, 1.0)
    run_view(state, Place("key", "cell", None, ""))
    console.print(draw(state, now=1.0))


def of_comparisons(text):
    day = date(2025, 1, 1)
    ok, failed = (item.observation for item in seen(text))
    outputs = ({"output_type": "stream", "name": "stdout", "text": text}, *sanitize([rich(text)]))
    one, other = compare.seen(replace(ok, outputs=outputs), day=day, code=text), compare.seen(failed, day=day)
    return compare.judge(one, [other, one]), compare.difference(one, other), normal(text, day=day)


def rich(text):
    mimes = ("text/html", "text/markdown", "text/latex", "image/svg+xml", "image/png", "application/json", "text/plain")
    return {"output_type": "display_data", "data": dict.fromkeys(mimes, text), "metadata": {}}


SHOWN = {
    "traces": of_a_trace,
    "exports": of_exports,
    "views": of_views,
    "comparisons": of_comparisons,
    "outputs": each(
        lambda text: sanitize([rich(text)]),
        lambda text: sanitize([{"output_type": "error", "ename": text, "evalue": text, "traceback": [text]}]),
        *(notebook_text.prose, notebook_text.span, notebook_text.html, safe_html, safe_markdown, safe_latex, safe_svg),
        *(imported, imported_at_once, strip_ansi, overwritten, lambda text: cut_middle(text, 30), one_line_of),
    ),
    "programs": each(
        lambda text: plain_program(text, shows_last=True), compiles, lambda text: code_html(text, "x"), highlighted,
        generated_html, shown_html, lambda text: needs.files(text, Path(), ()), lambda text: needs.variables(text, ()),
    ),
    "lines": each(options_line, lambda text: search_line(text, None), decode_line),
}  # fmt: skip


def timed(read, text):
    began = time.process_time()
    read(text)
    assert time.process_time() - began < MOST_SECONDS


def hard(reads):
    return pytest.mark.parametrize("read", reads.values(), ids=reads)


EVERY = {
    f"{part}: {name}": read
    for part, reads in {"pipeline": PIPELINE, "knowledge": KNOWLEDGE, "models": MODELS, "shown": SHOWN}.items()
    for name, read in reads.items()
}


LARGE = (of_a_trace, of_exports, of_views, of_comparisons, of_an_index, of_the_offline_model, of_documents_read)
"""These do a lot with each text, so they are given fewer."""


@hard(EVERY)
def test_hard_texts_are_read(read):
    """Issue 14, item 0: what candidates, models and documents give never raises, and takes bounded time."""
    read("x")  # what is imported or fitted once is not counted
    for text in HARD[:: 4 if read in LARGE else 1]:
        timed(read, text)


@hard(EVERY)
def test_any_text_is_read(read):
    """Issue 14, item 0: what candidates, models and documents give never raises, and takes bounded time."""

    @(few if read in LARGE else quick)
    @given(texts)
    def check(text):
        timed(read, text)

    check()

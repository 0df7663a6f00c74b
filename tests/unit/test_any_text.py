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
from hypothesis import given, settings
from protego import Protego
from pydantic import ValidationError
from rich.console import Console

from exploracoder_jupyter.cli.live_view import EventLines, render_view
from exploracoder_jupyter.core.errors import ReplyError, UsageError
from exploracoder_jupyter.core.events import Notice, dump, load
from exploracoder_jupyter.core.messages import one_line
from exploracoder_jupyter.core.python_code import parse_valid_python
from exploracoder_jupyter.core.run_state import RunState, fold
from exploracoder_jupyter.core.secrets import redaction
from exploracoder_jupyter.core.types import (
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
from exploracoder_jupyter.export import script
from exploracoder_jupyter.export.export_formats import export_run
from exploracoder_jupyter.export.html import code_html, generated_html
from exploracoder_jupyter.export.script import compiles, to_plain_python
from exploracoder_jupyter.ipython_extension.browser.browser_run import RunContext, run_view
from exploracoder_jupyter.ipython_extension.magic_line import parse_magic_line as options_line
from exploracoder_jupyter.ipython_extension.result_card.card import as_text, card_html
from exploracoder_jupyter.ipython_extension.searching.search_process import parse_search_line as search_line
from exploracoder_jupyter.ipython_extension.searching.search_results import highlight_python
from exploracoder_jupyter.kernels.messages import cut_middle
from exploracoder_jupyter.knowledge.documents import documents as document_chunks
from exploracoder_jupyter.knowledge.documents.document_files import File
from exploracoder_jupyter.knowledge.documents.reading_process import parse_page
from exploracoder_jupyter.knowledge.documents.signature_parser import parse_declaration
from exploracoder_jupyter.knowledge.extraction import docstrings
from exploracoder_jupyter.knowledge.extraction import docstrings as parsed_calls
from exploracoder_jupyter.knowledge.search import api_index as knowledge_query
from exploracoder_jupyter.knowledge.search import indexed_text as api_texts
from exploracoder_jupyter.knowledge.search import vectors as knowledge_words
from exploracoder_jupyter.knowledge.search.api_index import ApiIndex
from exploracoder_jupyter.llm.endpoint.faults import Fault, Target, explain, quote_message
from exploracoder_jupyter.llm.offline import OfflineModel, drafts, goals
from exploracoder_jupyter.llm.offline import goals as offline_state
from exploracoder_jupyter.llm.offline import task as offline_values
from exploracoder_jupyter.llm.offline import words as offline_words
from exploracoder_jupyter.llm.offline.task import split_clauses
from exploracoder_jupyter.llm.scripted_model import ScriptedModel
from exploracoder_jupyter.llm.tool_calls import parse_calls
from exploracoder_jupyter.pipeline import code_analysis
from exploracoder_jupyter.pipeline.exploring import selection
from exploracoder_jupyter.pipeline.exploring.candidates import fingerprint
from exploracoder_jupyter.pipeline.exploring.selection import distinct_failures
from exploracoder_jupyter.pipeline.ports import ModelRequest
from exploracoder_jupyter.pipeline.prompting import (
    documentation,
    lookup_notation,
    observations,
    prompt_inputs,
    requests,
)
from exploracoder_jupyter.pipeline.prompting import (
    replies as reply_fragments,
)
from exploracoder_jupyter.pipeline.prompting import (
    replies as reply_parsing,
)
from exploracoder_jupyter.pipeline.retrieval import lookups, queries
from exploracoder_jupyter.pipeline.solving import correctness_testing, user_check
from exploracoder_jupyter.protocol.messages import decode_to_engine
from exploracoder_jupyter.text import (
    characters,
    files,
    html,
    tokenizer,
)
from exploracoder_jupyter.text import files as soup_chunks
from exploracoder_jupyter.text import (
    replies as fenced_blocks,
)
from exploracoder_jupyter.text import (
    replies as thinking_removal,
)
from exploracoder_jupyter.text.characters import apply_carriage_returns, strip_ansi
from exploracoder_jupyter.trace import CellView, Redactor, comparison, render
from exploracoder_jupyter.trace import markdown as notebook_text
from exploracoder_jupyter.trace.markup_sanitizer import safe_html, safe_latex, safe_markdown
from exploracoder_jupyter.trace.output_sanitizer import safe_svg, sanitize
from exploracoder_jupyter.trace.reading import executions, imported_modules, unconditional_imports
from exploracoder_jupyter.trace.text_normalization import normalize
from exploracoder_jupyter.web import reading as web_sections
from exploracoder_jupyter.web import search as web_queries
from tests.unit.factories import complete_events, recorded
from tests.unit.sampling import sampled
from tests.unit.texts import HARD, few, texts
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
    return (
        selection.outputs_agree(one, other),
        selection.outputs_agree(other, one),
        selection.select([one, other, failed], [text]),
    )


def of_a_run(text):
    """What is asked of everything that a run knows."""
    run = a_run(ScriptedModel([text]), knowledge=FewApis([*MATH, documented(text)], readme=text))
    good, failed = seen(text)
    lookups.add_suggestions(run, failed.observation)
    queries.error_query(run, failed)
    queries.web_query(run, failed)
    queries.filter_queries(run, [text])
    queries.find_known_names(run, text)
    distinct_failures([good, failed])
    return [
        observations.redact_experience(item, level) for item in (good, failed) for level in ("values", "schema", "none")
    ]


def of_documents(text):
    apis, passages = [documented(text)], [found(text)]
    return (
        documentation.pack(apis, passages, 500),
        documentation.api_table(apis),
        documentation.describe_in_full(apis[0], 300),
    )


def of_code(text):
    return (
        fingerprint(text),
        code_analysis.find_called_names(text),
        code_analysis.find_called_apis(text, FewApis(MATH), before=[text]),
        code_analysis.unbound_names(text),
        code_analysis.same_statements(text, text),
        code_analysis.slice_dependencies(seen(text)),
    )


def of_test_inputs(text):
    clean = correctness_testing.strip_assertions(text)
    return clean and correctness_testing.display_last_value(clean)


PIPELINE = {
    "agreement": of_pairs,
    "information": each(selection.is_informative, selection.strip_addresses),
    "code": of_code,
    "knowledge": of_a_run,
    "documents": of_documents,
    "formatted": lambda text: [observations.format_cells(seen(text), most) for most in (100, 10_000)],
    "quoted": each(
        documentation.quote,
        requests.strip_lookup_offer,
        documentation.strip_whitespace,
        partial(observations.shorten, most=9),
    ),
    "markdown": each(
        fenced_blocks.blocks,
        fenced_blocks.without_fenced_blocks,
        thinking_removal.without_thinking,
        reply_fragments.parse_list,
        reply_fragments.strip_markdown,
        lambda t: list(reply_fragments.json_values(t)),
    ),
    "code of a reply": each(
        reply_parsing.parse_code,
        lookup_notation.parse_code_without_calls,
        lookup_notation.pending_calls,
        lookup_notation.parse_argument,
        lookup_notation.parse_calls,
    ),
    "structured replies": each(
        *(
            partial(lambda text, form: reply_parsing.parse_json(text, form), form=form)
            for form in (
                reply_parsing.PlanReply,
                reply_parsing.SearchingPlanReply,
                reply_parsing.PlannersReply,
                reply_parsing.RevisingReply,
                correctness_testing.InventReply,
            )
        )
    ),
    "rulings": each(lambda text: correctness_testing.parse_judgement(text, ["t1", "t2"])),
    "test inputs": each(of_test_inputs),
    "checks": each(
        lambda text: user_check.check_code(Task("x", ("m",), check=text, solution_name="f")),
        lambda text: user_check.build_check(Task("x", ("m",), uses=("x",), check=text)),
    ),
}


def of_documents_read(text):
    """A document in each form that there is a reader for; what breaks one leaves that one out."""
    for suffix in (".html", ".rst", ".md", ".txt", ".ipynb", ".pyi", ".py", ".inv"):
        try:
            page = parse_page(File(f"doc{suffix}", text.encode("utf-8", "replace")))
        except Exception:  # as `read_documents` does
            continue
        list(document_chunks.page_passages(f"doc{suffix}", page))


def of_an_index(text):
    index = ApiIndex.build([*MATH, documented(text)])
    return anyio.run(index.search, text, 3), anyio.run(index.search_together, [text, "root"], 3)


KNOWLEDGE = {
    "documents": of_documents_read,
    "search": of_an_index,
    "docstrings": each(
        docstrings.parse_docstring,
        parse_declaration,
        parsed_calls.parse_signature,
        lambda text: list(api_texts.see_also_entries(text)),
        lambda text: parsed_calls.merge_parameters((), text, ()),
    ),
    "words": each(
        tokenizer.tokens,
        knowledge_query.find_named_apis,
        lambda t: knowledge_query.drop_library_names(t, [t]),
        knowledge_words.embed_text,
    ),
    "the user's files": each(
        *(
            partial(lambda text, name: list(soup_chunks.split_file(name, text)), name=name)
            for name in ("a.py", "a.md", "a.ipynb")
        ),
        lambda text: files.parse_gitignore(text).check_file("a/b.py"),
        lambda text: redaction.redact(text, str, redaction.find_secret_literals(text)),
        parse_valid_python,
    ),
    "the web": each(
        lambda text: web_sections.extract_sections(html.parse_html(text)),
        web_sections.split_markdown,
        web_queries.sanitize_query,
        lambda text: Protego.parse(text).can_fetch("https://x.example/x", "exploracoder-jupyter"),
        characters.strip_invisible,
    ),
}


def of_the_offline_model(text):
    """A reply to every step whose inputs are this text."""
    good, failed = seen(text)
    task, subtask, apis = Task(text, ("m",)), Subtask("1", text), (documented(text), *MATH)
    introduction = Introduction(text, (Planner(text, (text,)),))
    every = (
        ("introduce", prompt_inputs.IntroduceInputs(("m",), text)),
        ("planners", prompt_inputs.PlannersInputs(("m",), (text,), 2)),
        ("plan", prompt_inputs.PlanInputs(task, introduction, 4)),
        ("recommend", prompt_inputs.RecommendInputs(task, subtask, (), apis, (good,), False, text)),
        ("recommend_global", prompt_inputs.RecommendGlobalInputs(task, (subtask,), apis, 3)),
        ("propose", prompt_inputs.ProposeInputs(task, subtask, introduction, apis, (good,), text)),
        ("debug", prompt_inputs.DebugInputs(task, subtask, apis, (good,), failed)),
        ("solve", prompt_inputs.SolveInputs(task, apis, (good,))),
        ("repair", prompt_inputs.RepairInputs(task, apis, (good,), (failed,))),
    )
    model = OfflineModel(FewApis(MATH))
    for step, inputs in every:
        request = ModelRequest(step, inputs, requests.render(step, inputs), Sampling(n=2), "1", None)
        anyio.run(replied, model, request)


async def replied(model, request):
    return [reply async for reply in model.complete(request)]


FAULTS = (
    Fault("silent"),
    Fault("incompatible"),
    Fault("too large"),
    Fault("status", status=500),
    Fault("status", status=404),
)
MODELS = {
    "offline": of_the_offline_model,
    "values in a task": each(
        offline_values.find_values, offline_values.find_targets, offline_values.mask_literals,
        offline_values.evaluate_literal,
        offline_words.content_stems, goals.find_callables, partial(split_clauses, limit=4),
        lambda text: drafts.find_conversions(text, text),
        lambda text: offline_state.prune(text, ["x"]),
    ),
    "tool calls": each(
        lambda text: parse_calls([SimpleNamespace(id=text, function=SimpleNamespace(name=text, arguments=text))]),
        parse_calls,
    ),
    "faults": each(
        lambda text: [str(explain(replace(fault, text=text), Target(text, text, True, 1.0))) for fault in FAULTS],
        lambda text: quote_message(text, "key"),
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


def run_of(text):
    """A whole run in which everything is this text, and a failure with its traceback."""
    events = [filled(event, text) for event in complete_events()]
    events[-1] = replace(events[-1], solution=replace(events[-1].solution, candidate="s2"))
    return recorded([*events[:-1], Notice(text, "warning", text), events[-1]])


def of_a_trace(text):
    records = [Redactor().record(record) for record in run_of(text)]
    nbformat.validate(render(run_of(text)))
    assert [load(dump(record)) for record in records] == records
    list(executions(records))


def of_exports(text):
    records = [Redactor().record(record) for record in run_of(text)]
    for form in ("script", "html", "notebook"):
        refused(partial(export_run, records, form), Path("t.ipynb"))


def of_views(text):
    lines, view, state = EventLines(lambda line: None), CellView("cell", "all"), RunState()
    console = Console(file=io.StringIO(), width=80)
    for record in (Redactor().record(record) for record in run_of(text)):
        lines(record)
        state = fold(state, record)
        view.update(state)
    as_text(state, 1.0)
    card_html(state, 1.0)
    run_view(state, RunContext("key", "cell", None, ""))
    console.print(render_view(state, now=1.0))


def of_comparisons(text):
    day = date(2025, 1, 1)
    ok, failed = (item.observation for item in seen(text))
    outputs = ({"output_type": "stream", "name": "stdout", "text": text}, *sanitize([rich(text)]))
    one, other = (
        comparison.comparable_result(replace(ok, outputs=outputs), day=day, code=text),
        comparison.comparable_result(failed, day=day),
    )
    return (
        comparison.compare_with_record(one, [other, one]),
        comparison.describe_difference(one, other),
        normalize(text, day=day),
    )


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
        *(imported_modules, unconditional_imports, strip_ansi, apply_carriage_returns,
          lambda text: cut_middle(text, 30), one_line_of),
    ),
    "programs": each(
        lambda text: to_plain_python(text, shows_last=True), compiles, lambda text: code_html(text, "x"),
        highlight_python,
        generated_html, lambda text: script.needed_files(text, Path(), ()),
        lambda text: script.needed_variables(text, ()),
    ),
    "lines": each(options_line, lambda text: search_line(text, None), decode_line),
}  # fmt: skip


def timed(read, text):
    began = time.process_time()
    read(text)
    assert time.process_time() - began < MOST_SECONDS * (3 if read in LARGE else 1)


def hard(reads):
    return pytest.mark.parametrize("read", reads.values(), ids=reads)


EVERY = {
    f"{part}: {name}": read
    for part, reads in {"pipeline": PIPELINE, "knowledge": KNOWLEDGE, "models": MODELS, "shown": SHOWN}.items()
    for name, read in reads.items()
}


LARGE = (
    *(of_a_trace, of_exports, of_views, of_comparisons, of_an_index, of_the_offline_model, of_documents_read),
    *(SHOWN["programs"], MODELS["values in a task"], KNOWLEDGE["the user's files"], PIPELINE["agreement"]),
)
"""These do a lot with each text, so they are given fewer."""


@hard(EVERY)
def test_hard_texts_are_read(read):
    """Issue 14, item 0: what candidates, models and documents give never raises, and takes bounded time."""
    read("x")  # what is imported or fitted once is not counted
    for text in sampled(HARD) if read in LARGE else HARD:
        timed(read, text)


@hard(EVERY)
def test_any_text_is_read(read):
    """Issue 14, item 0: what candidates, models and documents give never raises, and takes bounded time."""

    @(few if read in LARGE else settings())
    @given(texts)
    def check(text):
        timed(read, text)

    check()

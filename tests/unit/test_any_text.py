"""What candidates print, models reply and documents say is read whatever it is: nothing raises, nothing takes long."""

import time
from functools import partial

import pytest
from hypothesis import given

from exploracoder_jupyter.errors import ReplyError, UsageError
from exploracoder_jupyter.models.scripted import ScriptedModel
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
from exploracoder_jupyter.types import (
    ApiDoc,
    Candidate,
    Change,
    ErrorInfo,
    Experience,
    Observation,
    Parameter,
    Passage,
    Subtask,
    Task,
)
from tests.unit.texts import HARD, quick, texts
from tests.unit.world import MATH, FewApis, a_run

MOST_SECONDS = 2.0
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


def timed(read, text):
    began = time.process_time()
    read(text)
    assert time.process_time() - began < MOST_SECONDS


def hard(reads):
    return pytest.mark.parametrize("read", reads.values(), ids=reads)


@hard(PIPELINE)
def test_the_method_reads_hard_texts(read):
    """Issue 14, item 0: what candidates, models and documents give never raises in the pipeline."""
    for text in HARD:
        timed(read, text)


@hard(PIPELINE)
def test_the_method_reads_any_text(read):
    """Issue 14, item 0: what candidates, models and documents give never raises in the pipeline."""

    @quick
    @given(texts)
    def check(text):
        timed(read, text)

    check()

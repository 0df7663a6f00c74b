"""Annotates a corpus: reads it, searches with one index that is loaded once, writes rows, and can be resumed.

The rows are JSON lines. Beside them, `<name>.state.json` counts what was left out and why, and is replaced after each
file of the corpus; a resumed run continues behind the last file that is counted there.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import asdict, dataclass, field
from functools import partial
from hashlib import blake2b
from pathlib import Path

import anyio
from pydantic import JsonValue, TypeAdapter, ValidationError

from exploracoder_jupyter.core.configuration.sources import Layer, read_secrets, resolve
from exploracoder_jupyter.core.errors import UsageError
from exploracoder_jupyter.core.files import write_atomic
from exploracoder_jupyter.core.secrets.redaction import SecretRedactor, find_secret_literals, redact
from exploracoder_jupyter.core.types import ScoredApi
from exploracoder_jupyter.finetuning.annotation import (
    ROW,
    AnnotatedSample,
    ChooseQueries,
    LibraryCall,
    Query,
    annotate,
    find_calls,
    queries,
    sample_id,
    unsuitable,
)
from exploracoder_jupyter.finetuning.corpus import (
    BenchmarkOverlap,
    Sample,
    SourceText,
    find_aliases,
    read_corpus,
    read_json_texts,
    split_samples,
    stored_snippets,
    trace_sample,
)
from exploracoder_jupyter.knowledge.task_libraries import TaskLibraries
from exploracoder_jupyter.runs.library_search import open_library

Advance = Callable[[str, int, int], None]
_Samples = list[tuple[Sample, str, str]]
"""Each with its path and licence."""
_CONCURRENT = 8
"""Samples that are annotated at once: a model takes seconds for each."""


@dataclass(frozen=True, slots=True)
class AnnotationRequest:
    """What to annotate."""

    corpora: tuple[str, ...]
    """Folders, files and installed packages."""
    libraries: tuple[str, ...]
    """The libraries whose calls are looked up."""
    out: Path
    exclude: tuple[Path, ...] = ()
    """Problem files (JSON lines) with which no sample may share text."""
    snippets: bool = False
    """Whether stored snippets are part of the corpus."""
    model: bool = False
    """Whether the configured model writes the queries."""
    resume: bool = False
    layers: tuple[Layer, ...] = ()


@dataclass(slots=True)
class AnnotationState:
    """How far a run is, and what was left out."""

    corpus: str
    """Digest of what determines the result."""
    sources: int = 0
    """Files read so far; the snippets are one."""
    invalid: int = 0
    """Files that are not valid Python."""
    samples: int = 0
    rows: int = 0
    searches: int = 0
    wrong_answers: int = 0
    """Look-ups in the rows whose answer does not name the API."""
    left_out: dict[str, int] = field(default_factory=dict)
    """Number of samples by reason."""
    size: int = 0
    """Bytes of the rows."""

    def report(self) -> dict[str, JsonValue]:
        """Return the counts, as `--json` prints them."""
        return {name: value for name, value in asdict(self).items() if name not in ("corpus", "size")}


_STATE = TypeAdapter(AnnotationState)


async def annotate_corpus(
    request: AnnotationRequest, *, progress: Advance, say: Callable[[str], None]
) -> AnnotationState:
    """Annotate a corpus and return the counts; what is written stays if this is cancelled.

    UsageError if the corpus is empty, a library or problem file is unknown, or the rows exist already.
    """
    if not (request.corpora or request.snippets):
        raise UsageError("No corpus is named.", remedy="Name a folder, a file or an installed package, or --snippets.")
    sources = read_corpus(request.corpora)
    async with open_library(request.libraries, request.layers, progress, say) as library:
        excluded = BenchmarkOverlap(text for path in request.exclude for text in read_json_texts(path))
        async with _query_writer(request, library, progress, say) as choose_queries:
            annotator = _Annotator(library, choose_queries, excluded, find_aliases(source.text for source in sources))
            batches: list[SourceText | _Samples] = [*sources]
            if request.snippets:
                batches.append(stored_snippets([info.name for info in library.libraries]))
            return await _write_rows(request, batches, annotator, progress)


def _samples(source: SourceText, aliases: dict[str, str]) -> _Samples | None:
    """Return the samples of a file; None if it is not Python."""
    if solution := trace_sample(source):
        return [(solution, source.path, "own work")]
    found = split_samples(source, aliases)
    return None if found is None else [(one, source.path, source.licence) for one in found]


@dataclass(slots=True)
class _Annotator:
    library: TaskLibraries
    choose_queries: ChooseQueries
    excluded: BenchmarkOverlap
    aliases: dict[str, str]
    seen: set[str] = field(default_factory=set)
    answers: dict[str, Sequence[ScoredApi]] = field(default_factory=dict)
    """By query: many samples ask for the same."""

    async def rows(self, samples: _Samples, left_out: Counter[str]) -> list[AnnotatedSample]:
        """Annotate the samples of a file, and count those that are left out."""
        found: list[AnnotatedSample | str] = [""] * len(samples)
        limit = anyio.CapacityLimiter(_CONCURRENT)

        async def add(number: int, sample: Sample, path: str, licence: str) -> None:
            async with limit:
                found[number] = await self._row(sample, path, licence)

        async with anyio.create_task_group() as group:
            for number, one in enumerate(samples):
                group.start_soon(add, number, *one)
        left_out.update(one for one in found if isinstance(one, str))
        return [one for one in found if not isinstance(one, str)]

    async def _row(self, sample: Sample, path: str, licence: str) -> AnnotatedSample | str:
        literals, clean = find_secret_literals(sample.code), SecretRedactor().redact
        task, code = (redact(text, clean, literals) for text in (sample.task, sample.code))
        sample = Sample(task, code, sample.place, sample.name)
        if reason := unsuitable(sample):
            return reason
        calls = find_calls(sample.code, self.library.lookup)
        if not calls:
            return "no call of the libraries"
        if (digest := sample_id(sample)) in self.seen:
            return "duplicate"
        self.seen.add(digest)
        if sample.code in self.excluded or sample.task in self.excluded:
            return "benchmark problem"
        return await annotate(
            sample, calls, path=path, licence=licence, search=self._search, choose_queries=self.choose_queries
        )

    async def _search(self, query: str, k: int) -> Sequence[ScoredApi]:
        if query not in self.answers:
            self.answers[query] = await self.library.search(query, k)
        return self.answers[query]


async def _write_rows(
    request: AnnotationRequest, batches: Sequence[SourceText | _Samples], annotator: _Annotator, progress: Advance
) -> AnnotationState:
    state, left_out = _load_state(request, annotator.seen), Counter[str]()
    left_out.update(state.left_out)
    request.out.parent.mkdir(parents=True, exist_ok=True)
    with request.out.open("r+b" if state.sources else "wb") as file:
        file.truncate(state.size)  # what stands behind it was not counted
        file.seek(state.size)
        for number, batch in enumerate(batches):
            if number < state.sources:
                continue
            progress("Annotating", number, len(batches))
            samples = _samples(batch, annotator.aliases) if isinstance(batch, SourceText) else batch
            searched = len(annotator.answers)
            rows = await annotator.rows(samples or [], left_out)
            file.write(b"".join(ROW.dump_json(row) + b"\n" for row in rows))
            file.flush()
            state.sources, state.size = number + 1, file.tell()
            state.invalid += samples is None
            state.samples += len(samples or ())
            state.rows += len(rows)
            state.searches += len(annotator.answers) - searched
            state.wrong_answers += sum(not call.rank for row in rows for call in row.calls)
            state.left_out = dict(left_out.most_common())
            write_atomic(_state_path(request.out), _STATE.dump_json(state, indent=1))
    return state


def _load_state(request: AnnotationRequest, seen: set[str]) -> AnnotationState:
    """Return a new state, or that of the run to resume; `seen` receives the ids of its rows."""
    described = [request.corpora, request.libraries, [*map(str, request.exclude)], request.snippets, request.model]
    corpus = blake2b(json.dumps(described).encode(), digest_size=8).hexdigest()
    if not request.resume:
        if request.out.exists():
            raise UsageError(f"{request.out} exists.", remedy="Add --resume to continue it, or name another file.")
        return AnnotationState(corpus)
    try:
        state = _STATE.validate_json(_state_path(request.out).read_bytes())
        rows = request.out.read_bytes()[: state.size].splitlines()
        seen.update(str(json.loads(row)["id"]) for row in rows)
    except (OSError, ValidationError, ValueError):
        if not request.out.exists():
            return AnnotationState(corpus)
        raise UsageError(
            f"{request.out} cannot be continued: {_state_path(request.out)} is missing or damaged.",
            remedy="Annotate again into another file.",
        ) from None
    if state.corpus != corpus:
        raise UsageError(
            f"{request.out} was made from another corpus or with other options.",
            remedy="Repeat the command as it was, or name another file.",
        )
    return state


def _state_path(out: Path) -> Path:
    return out.with_name(f"{out.name}.state.json")


@asynccontextmanager
async def _query_writer(
    request: AnnotationRequest, library: TaskLibraries, progress: Advance, say: Callable[[str], None]
) -> AsyncIterator[ChooseQueries]:
    """Provide what chooses queries: the words of the code, or the configured model."""
    if not request.model:

        async def from_words(sample: Sample, calls: Sequence[LibraryCall]) -> list[list[Query]]:
            return [[*queries(sample, call, alone=len(calls) == 1)] for call in calls]

        yield from_words
        return
    from exploracoder_jupyter.finetuning.annotation import ask_queries
    from exploracoder_jupyter.runs.factories import choose_model, model_notices, with_resolved_model

    settings = resolve(*request.layers)
    keys = read_secrets(base_url=settings.endpoint.base_url)
    async with AsyncExitStack() as stack:
        settings = await with_resolved_model(settings, keys)
        if model_notices(settings, keys):
            say(f"The code of the corpus is sent to the model {settings.endpoint.model!r}.")
        yield partial(ask_queries, await choose_model(settings, keys, library, stack, advance=progress))

"""A small world for the pipeline: a branch that runs in this process, a library given as rows, a list of events."""

import contextlib
import io
import traceback
from collections.abc import Sequence
from pathlib import Path

import anyio

from exploracoder_jupyter.core.configuration.sections import Budget, Exploration, Retrieval
from exploracoder_jupyter.core.types import (
    ApiDoc,
    ErrorInfo,
    LibraryInfo,
    Observation,
    Overview,
    Passage,
    ScoredApi,
    ScoredPassage,
    Snippet,
    Task,
)
from exploracoder_jupyter.pipeline import Meter, Run


class InlineBranch:
    """Runs code by `exec` in a namespace of its own; a fork runs the prefix again. No isolation: for tests only."""

    def __init__(self, prefix: Sequence[str] = (), log: list[str] | None = None) -> None:
        self.codes = list(prefix)
        self.log = log if log is not None else []
        self.expected: list[int] = []
        self.namespace: dict[str, object] = {"__name__": "__main__"}
        self.closed = False
        for code in prefix:
            self._exec(code)

    def _exec(self, code: str) -> tuple[str, BaseException | None]:
        out = io.StringIO()
        try:
            with contextlib.redirect_stdout(out):
                exec(compile(code, "<cell>", "exec"), self.namespace)
        except (Exception, SystemExit) as error:
            return out.getvalue(), error
        return out.getvalue(), None

    async def run(self, code: str, *, timeout: float) -> Observation:
        assert not self.closed
        self.log.append(code)
        before = set(self.namespace)
        text, error = self._exec(code)
        self.codes.append(code)
        if error is None:
            new = sorted(set(self.namespace) - before - {"__builtins__"})
            return Observation("ok", text=text, names=tuple((n, type(self.namespace[n]).__name__) for n in new))
        info = ErrorInfo(type(error).__name__, str(error), "".join(traceback.format_exception_only(error)))
        return Observation("error", error=info, text=text)

    async def fork(self, n: int) -> list["InlineBranch"]:
        return [InlineBranch(self.codes, self.log) for _ in range(n)]

    def expect(self, n: int) -> None:
        assert not self.closed
        self.expected.append(n)

    async def files(self, folder: Path) -> tuple[str, ...]:
        assert not self.closed
        folder.mkdir()
        for name, text in self.namespace.get("written", {}).items():
            (folder / name).write_text(text)
        return tuple(sorted(self.namespace.get("written", {})))

    async def close(self) -> None:
        self.closed = True


class FewApis:
    """A knowledge of the rows it is given; search counts common words."""

    def __init__(self, apis: Sequence[ApiDoc], *, readme: str = "", examples: Sequence[str] = ()) -> None:
        self.apis = list(apis)
        self.readme = readme
        self.examples = tuple(examples)
        self.kept = {}
        self.libraries = (LibraryInfo("math", "python", "3"),)
        self.size = len(self.apis)

    def overview(self) -> Overview:
        return Overview(self.readme, self.examples)

    async def search(self, query: str, k: int) -> list[ScoredApi]:
        words = set(query.lower().split())
        scored = [ScoredApi(api, len(words & set(api.description.lower().split()))) for api in self.apis]
        return sorted(scored, key=lambda item: -item.score)[:k]

    async def search_together(self, queries: Sequence[str], k: int) -> list[ScoredApi]:
        return await self.search(" ".join(queries), k)

    def lookup(self, path: str) -> ApiDoc | None:
        return next((api for api in self.apis if api.path == path), None)

    async def source(self, path: str) -> str:
        return f"def {path.rpartition('.')[2]}(x): ..." if self.lookup(path) else ""

    def introduction(self, model):
        return self.kept.get(model)

    def keep_introduction(self, model, introduction):
        self.kept[model] = introduction


class FewPassages:
    """A sources of the passages it is given, found by common words; what is asked, learned and forgotten is kept."""

    def __init__(self, *passages: Passage) -> None:
        self.passages = list(passages)
        self.kinds = frozenset(item.source for item in passages)
        self.asked: list[tuple[str, frozenset[str]]] = []
        self.learned: list[Snippet] = []

    async def search(self, query: str, k: int, *, among=None) -> list[ScoredPassage]:
        self.asked.append((query, frozenset(among)))
        words = set(query.lower().split())
        scored = [ScoredPassage(item, len(words & set(item.text.lower().split()))) for item in self.passages]
        return sorted((item for item in scored if item.passage.source in among), key=lambda item: -item.score)[:k]

    async def learn(self, snippets: Sequence[Snippet]) -> None:
        self.learned += snippets

    async def forget(self, origins: Sequence[str]) -> None:
        self.passages = [item for item in self.passages if item.origin not in origins]


class NoSteering:
    async def next(self):
        await anyio.sleep_forever()


def api(path: str, description: str = "", signature: str = "(x)", kind="function") -> ApiDoc:
    return ApiDoc(path, kind, signature, description, path.partition(".")[0], "1.0")


MATH = (
    api("math.sqrt", "Return the square root of x."),
    api("math.floor", "Return the floor of x, the largest integer not above it."),
    api("math.gcd", "Greatest common divisor.", "(*integers)"),
)


def a_run(
    model,
    text="Compute the root of 16",
    *,
    apis=MATH,
    check=None,
    name=None,
    budget=None,
    knowledge=None,
    as_published=True,
    **more,
):
    """A run on a few functions of `math` whose events are collected in `run.emit.__self__`, a list.

    As published, every request is made, which is what most tests script.
    """
    events: list = []
    settings = Exploration(**{"candidates": 3, "planners": 0, **more})
    return Run(
        Task(text, ("math",), check=check, solution_name=name),
        settings,
        model,
        knowledge or FewApis(apis),
        InlineBranch(),
        events.append,
        NoSteering(),
        Meter(budget or Budget()),
        parallel=2,
        as_published=as_published,
        retrieval=Retrieval(formulation="explained" if as_published else "error"),
    )


def happened(run: Run, kind: str) -> list:
    """The events of a kind, in order."""
    return [event for event in run.emit.__self__ if event.kind == kind]

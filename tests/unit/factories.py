"""Events of a synthetic but complete run: a failed subtask, a repair, a duplicate, an empty reply, rich outputs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import reduce
from itertools import accumulate

from exploracoder_jupyter.core.events import (
    CandidateObserved,
    CandidateProposed,
    CandidateSelected,
    Estimated,
    Event,
    LibraryRead,
    ModelCalled,
    Notice,
    PlanMade,
    Progress,
    Record,
    RunFinished,
    RunStarted,
    SubtaskFinished,
    SubtaskStarted,
)
from exploracoder_jupyter.core.run_state import RunState, fold
from exploracoder_jupyter.core.types import (
    ApiDoc,
    Candidate,
    Environment,
    ErrorInfo,
    Exchange,
    Introduction,
    LibraryInfo,
    Message,
    Observation,
    Output,
    Plan,
    Planner,
    Sampling,
    ScoredApi,
    Selection,
    Solution,
    Subtask,
    Task,
    Usage,
    Verdict,
)

RUN_ID = "0123abcd"
BEGAN = 1_760_000_000.0


def recorded(events: Sequence[Event], *, seconds: float = 0.5) -> list[Record]:
    """The events as records, `seconds` apart."""
    return [Record(seq, BEGAN + seq * seconds, event) for seq, event in enumerate(events)]


def states(records: Iterable[Record]) -> list[RunState]:
    """The state of the run after each of the records."""
    return [*accumulate(records, fold, initial=RunState())][1:]


def state_after(*events: Event, state: RunState | None = None) -> RunState:
    """The state after these events, the first a second after 1000."""
    records = (Record(seq, 1000.0 + seq, event) for seq, event in enumerate(events, 1))
    return reduce(fold, records, state or RunState())


def started(text: str = "Count the triangles of the karate club graph.", **changes: object) -> RunStarted:
    environment = Environment(
        python="3.11.9",
        platform="Linux",
        kernel="python3",
        isolation="bubblewrap",
        branching="rerun",
        packages=("networkx==3.6.1", "numpy==2.3.0"),
        state="fresh: Windows has no fork",
    )
    event = RunStarted(RUN_ID, Task(text, ("networkx",)), {"view": {"show": "all"}}, "scripted", environment, "0.1.0")
    return replace(event, **changes)


def planned(*titles: str, revision: int = 0, reason: str = "") -> PlanMade:
    subtasks = tuple(Subtask(str(number), title) for number, title in enumerate(titles, 1))
    return PlanMade(Plan(subtasks, revision), reason)


def api(path: str, signature: str = "(G)", description: str = "Does it. And more.") -> ScoredApi:
    return ScoredApi(ApiDoc(path, "function", signature, description, "networkx", "3.6.1"), 1.0)


def proposed(id: str, code: str, **changes: object) -> CandidateProposed:
    subtask = "solution" if id.startswith("s") else id.partition(".")[0]
    return CandidateProposed(replace(Candidate(id, subtask, code), **changes))


def ran(id: str, *outputs: Output, apis: tuple[str, ...] = (), note: str = "") -> CandidateObserved:
    return CandidateObserved(id, Observation("ok", outputs, text="ok", seconds=0.25, note=note), apis)


def failed(id: str, name: str = "KeyError", message: str = "'x'", *, shown: bool = True) -> CandidateObserved:
    error = ErrorInfo(name, message, f"Traceback\n{name}: {message}")
    output: Output = {"output_type": "error", "ename": name, "evalue": message, "traceback": [f"\x1b[31m{name}\x1b[0m"]}
    return CandidateObserved(id, Observation("error", (output,) if shown else (), error, seconds=0.1))


def stream(text: str, name: str = "stdout") -> Output:
    return {"output_type": "stream", "name": name, "text": text}


def shown(**data: str) -> Output:
    """A display of these MIME types, written as `text_html="..."`."""
    return {
        "output_type": "display_data",
        "data": {mime.replace("_", "/", 1): value for mime, value in data.items()},
        "metadata": {},
    }


def asked(id: int = 1, reply: str = "a reply", prompt: str = "a question") -> ModelCalled:
    messages = (Message("system", "You explore."), Message("user", prompt))
    usage = Usage(calls=1, prompt_tokens=100, completion_tokens=20, seconds=1.5)
    return ModelCalled(Exchange(id, "plan", "", "scripted", messages, Sampling(temperature=0.8), (reply,), usage))


def finished(
    outcome: str = "solved",
    code: str | None = "print('the end')",
    candidate: str = "s2",
    reason: str = "The check passed.",
) -> RunFinished:
    solution = Solution(code, candidate, ("networkx.triangles",)) if code is not None else None
    usage = Usage(5, 500, 100, 7.5, 9)
    return RunFinished(Verdict(outcome, reason), solution, usage, {"plan": Usage(1, 100, 20, 1.5), "execute": usage})


def complete_events() -> list[Event]:
    """A run of two subtasks with everything that can happen in one."""
    result: Output = {
        "output_type": "execute_result",
        "execution_count": 7,
        "data": {"text/plain": "G", "text/html": "<b>G</b><script>alert(1)</script>"},
        "metadata": {},
    }
    return [
        started(),
        Notice("Nothing is sent anywhere."),
        Progress("indexing", 1, 2),
        LibraryRead(
            (LibraryInfo("networkx", "networkx", "3.6.1"),),
            900,
            Introduction("Graphs.", (Planner("draw", ("load", "draw")),)),
        ),
        asked(1),
        planned("Load the graph", "Count triangles"),
        Estimated(8, 12_000),
        SubtaskStarted("1", (api("networkx.karate_club_graph", "()"), api("networkx.Graph"))),
        proposed("1.2", "import networkx as nx\nG = nx.karate_club_graph()\nG"),
        proposed("1.1", "import networkx as nx\nG = nx.karate()"),
        proposed("1.3", "import networkx as nx\nG = nx.karate_club_graph()\nG", duplicate_of="1.2"),
        proposed("1.4", "", problem="the reply was empty"),
        failed("1.1", "AttributeError", "no 'karate'"),
        ran("1.2", result, stream("done\n"), apis=("networkx.karate_club_graph",)),
        CandidateSelected(Selection("1", "1.2", ("ran", "gives the same as 1 other"))),
        SubtaskFinished("1", "done"),
        SubtaskStarted("2", (api("networkx.triangles"),)),
        proposed("2.1", "nx.triangle(G)"),
        failed("2.1", shown=False),
        Notice("All candidates of subtask 2 failed.", "warning"),
        proposed("2.1r1", "sum(nx.triangles(G).values()) // 3", round=1, repairs="2.1"),
        ran("2.1r1", stream("45\n"), apis=("networkx.triangles",)),
        CandidateSelected(Selection("2", "2.1r1", ("ran",))),
        SubtaskFinished("2", "done"),
        proposed("s1", "print(undefined)"),
        failed("s1", "NameError", "name 'undefined' is not defined"),
        asked(2),
        proposed("s2", "print('the end')", round=1, repairs="s1"),
        ran("s2", stream("the end\n"), note="The check passed."),
        CandidateSelected(Selection("solution", "s2", ("its check passed",))),
        finished(),
    ]


def complete_run() -> list[Record]:
    """`complete_events` as records."""
    return recorded(complete_events())

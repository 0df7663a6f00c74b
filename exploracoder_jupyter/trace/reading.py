"""What a trace tells of its run: its executions, the packages its code needs, its summary."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Final, Literal

from pydantic import JsonValue

from exploracoder_jupyter.core.events import (
    CandidateObserved,
    CandidateProposed,
    CandidateSelected,
    Event,
    InputsInvented,
    Record,
    SolutionTested,
    Steered,
    SubtaskFinished,
)
from exploracoder_jupyter.core.python_code import parse_python
from exploracoder_jupyter.core.run_state import SOLUTION, RunState, Section, fold_all
from exploracoder_jupyter.core.types import Candidate, InventedInput, Observation, Verdict
from exploracoder_jupyter.kernel_agent.introspection.installed_libraries import distributions_by_module, normalize_name

# Determines which of the packages recorded for a run its code needs, from the modules that the code imports.

PINNED: Final = re.compile(r"([A-Za-z0-9][A-Za-z0-9._-]*)==([A-Za-z0-9][A-Za-z0-9._!]*)(?:\+[A-Za-z0-9.]+)?")
"""Name and version. A local version, as in `2.9.0+cu130`, is dropped because no package index has it."""
_EXTRA: Final = re.compile(r"extra == ['\"](?!test|dev|doc|lint|typing|bench|example|release|ci\b)")
_DISTRIBUTIONS: Final[Mapping[str, tuple[str, ...]]] = {
    "Bio": ("biopython",),
    "Crypto": ("pycryptodome",),
    "Levenshtein": ("python-levenshtein",),
    "MySQLdb": ("mysqlclient",),
    "OpenSSL": ("pyopenssl",),
    "PIL": ("pillow",),
    "attr": ("attrs",),
    "bs4": ("beautifulsoup4",),
    "cv2": ("opencv-python", "opencv-python-headless", "opencv-contrib-python"),
    "dateutil": ("python-dateutil",),
    "docx": ("python-docx",),
    "dotenv": ("python-dotenv",),
    "faiss": ("faiss-cpu",),
    "fitz": ("pymupdf",),
    "git": ("gitpython",),
    "igraph": ("python-igraph",),
    "jwt": ("pyjwt",),
    "magic": ("python-magic",),
    "mpl_toolkits": ("matplotlib",),
    "nacl": ("pynacl",),
    "osgeo": ("gdal",),
    "pptx": ("python-pptx",),
    "psycopg2": ("psycopg2-binary",),
    "serial": ("pyserial",),
    "skimage": ("scikit-image",),
    "sklearn": ("scikit-learn",),
    "slugify": ("python-slugify",),
    "umap": ("umap-learn",),
    "yaml": ("pyyaml",),
    "zmq": ("pyzmq",),
}
"""Distributions whose name differs from the module's, for runs in environments that cannot be inspected here."""


def optional_requirements(requirements: Iterable[str]) -> list[str]:
    """Return the optional packages among a distribution's requirements (its extras), except development extras."""
    names = (re.split(r"[^\w.-]", line, maxsplit=1)[0] for line in requirements if _EXTRA.search(line))
    return list(dict.fromkeys(map(normalize_name, names)))


def imported_modules(code: str) -> set[str]:
    """Return the top-level modules that the code imports anywhere; none if it is not plain Python."""
    return {name for node in ast.walk(parse_python(code)) for name in _imported_modules(node)}


def unconditional_imports(code: str) -> set[str]:
    """Return the modules that are imported unconditionally: not within a function, an `if` or a `try`."""
    return {name for node in parse_python(code).body for name in _imported_modules(node)}


def _imported_modules(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Import):
        yield from (alias.name.partition(".")[0] for alias in node.names)
    elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
        yield node.module.partition(".")[0]


def parse_versions(packages: Iterable[str]) -> dict[str, str]:
    """Return the versions of `name==version` lines by canonical name; the last line for a name wins."""
    return {normalize_name(found[1]): found[2] for line in packages if (found := PINNED.fullmatch(line))}


def providing_distributions(module: str, versions: Mapping[str, str]) -> list[str]:
    """Return the recorded distributions that provide a module."""
    names = (*distributions_by_module().get(module, ()), *_DISTRIBUTIONS.get(module, ()), module)
    return list(dict.fromkeys(normalize_name(name) for name in names if normalize_name(name) in versions))


# Lists the executions of a run in the order in which they ended, each with the state that it started from.
#
# This is a fold over the records, used for checking, replaying, resuming and exporting.

Kind = Literal["candidate", "solution", "input"]


@dataclass(frozen=True, slots=True)
class Execution:
    """One piece of code that was run, with its observation."""

    id: str
    """Id of the candidate; `s1-t2` for solution `s1` on input `t2`."""
    kind: Kind
    code: str
    observation: Observation
    parent: str = ""
    """Id of the candidate whose branch was forked to run it; empty: the state at the start of the run."""
    apis: tuple[str, ...] = ()
    """APIs that the code calls."""
    selected: bool = False
    """Whether it was carried forward, and not replaced later."""
    given: InventedInput | None = None
    """For an execution on a generated input: the code that runs before and after."""


def executions(records: Iterable[Record]) -> tuple[Execution, ...]:
    """List all executions in the order in which they ended, each id once with its last observation."""
    records, state = [*records], _State()
    for record in records:
        state.fold(record.event)
    sections = fold_all(records).sections.values()
    chosen = {section.selection.candidate for section in sections if section.selection}
    return tuple(replace(one, selected=one.id in chosen) for one in state.done.values())


@dataclass(slots=True)
class _State:
    proposed: dict[str, Candidate] = field(default_factory=dict)
    before: dict[str, str] = field(default_factory=dict)
    """By subtask: the candidate in whose state it began."""
    chosen: dict[str, str] = field(default_factory=dict)
    """By subtask: the candidate that is carried forward."""
    inputs: dict[str, InventedInput] = field(default_factory=dict)
    done: dict[str, Execution] = field(default_factory=dict)
    state: str = ""
    """The candidate in whose state the run is."""

    def fold(self, event: Event) -> None:
        match event:
            case CandidateProposed(candidate=candidate):
                self.proposed[candidate.id] = candidate
                self.before.setdefault(candidate.subtask, self.state)
            case CandidateObserved():
                self._observe(event)
            case CandidateSelected(selection=selection):
                self.chosen[selection.subtask] = selection.candidate
            case SubtaskFinished(subtask=subtask, status=status):
                self.before.setdefault(subtask, self.state)
                self.state = self.chosen[subtask] if status == "done" and subtask in self.chosen else self.state
            case Steered(what="retry" | "choose", subtask=subtask, candidate=candidate_id):
                self._go_back(subtask)
                if candidate_id in self.proposed:  # it is run again from the state that the run has returned to
                    self.proposed[candidate_id] = replace(self.proposed[candidate_id], parent=self.state)
            case InputsInvented(inputs=inputs):
                self.inputs |= {given.id: given for given in inputs}
            case SolutionTested(candidate=candidate, results=results):
                program = self.proposed.get(candidate)
                for result in results:
                    if program and (given := self.inputs.get(result.input)):
                        id_ = f"{candidate}-{result.input}"
                        self._put(Execution(id_, "input", program.code, result.observation, given=given))

    def _observe(self, event: CandidateObserved) -> None:
        candidate = self.proposed.get(event.candidate)
        if candidate is None:
            return
        is_solution = candidate.subtask == SOLUTION and not candidate.parent  # else an example that ran after one
        kind: Kind = "solution" if is_solution else "candidate"
        parent = "" if is_solution else candidate.parent
        self._put(Execution(candidate.id, kind, candidate.code, event.observation, parent, event.apis))

    def _put(self, execution: Execution) -> None:
        self.done.pop(execution.id, None)
        self.done[execution.id] = execution

    def _go_back(self, subtask: str) -> None:
        """Return to the state before a subtask; the later subtasks restart."""
        if subtask not in self.before:
            return
        self.state = self.before[subtask]
        later = list(self.before)[list(self.before).index(subtask) :]
        self.before = {id_: state for id_, state in self.before.items() if id_ not in later}
        self.chosen = {id_: one for id_, one in self.chosen.items() if id_ not in later}


# Summarizes a run as one JSON object, which `run --json` prints and the engine returns.

_CUT_OFF = Verdict("stopped", "The run was cut off before its end.")


def summarize_run(run: RunState, *, trace: Path | None = None) -> dict[str, JsonValue]:
    """Summarize a run in this state, whether or not it has finished; `trace` is the path of its trace, if any.

    Among the keys of the result are `library` (version by import name), `subtasks` (`apis` are those that the candidate
    carried forward really calls), `state` (`live` or `fresh`, and why), `files` (paths of the files that the solution
    wrote, if they were kept), and `tests` (generated inputs on which the solution was tested: the status, or
    `unusable`, and the ruling).
    """
    verdict = run.verdict or _CUT_OFF
    solution = run.finished.solution if run.finished else None
    environment = run.started.environment if run.started else None
    seconds = run.usage.seconds if run.finished else run.now - run.started_at
    return {
        "status": verdict.outcome,
        "reason": verdict.reason,
        "solution": solution.code if solution else None,
        "patch": solution.patch or None if solution else None,
        "trace": str(trace) if trace else None,
        "library": {info.name: info.version for info in run.library.libraries} if run.library else {},
        "model": run.model,
        "usage": {**asdict(run.usage), "seconds": round(seconds, 3)},
        "subtasks": [_subtask(section) for section in run.subtasks],
        "isolation": environment.isolation if environment else "",
        "branching": environment.branching if environment else "",
        "state": environment.state if environment else "",
        "files": [str(Path(run.files.folder, name)) for name in run.files.files] if run.files else [],
        "tests": _tests(run, solution.candidate) if solution else [],
    }


def _tests(run: RunState, solution: str) -> list[JsonValue]:
    section = run.sections.get(SOLUTION)
    round_ = section.rounds.get(solution) if section else None
    tests: list[JsonValue] = []
    for shown in round_.shown if round_ else ():
        status = shown.observation.status if shown.usable else "unusable"
        judged = round_.ruling_on(shown.given.id) if round_ and shown.usable else None
        tests.append({"title": shown.given.title, "status": status, "judged": judged})
    return tests


def _subtask(section: Section) -> dict[str, JsonValue]:
    candidates = [attempt.candidate for attempt in section.attempts.values()]
    return {
        "title": section.subtask.title,
        "status": section.status,
        "candidates": sum(candidate.round == 0 for candidate in candidates),
        "debug_rounds": max((candidate.round for candidate in candidates), default=0),
        "apis": [*section.selected.apis] if section.selected else [],
    }

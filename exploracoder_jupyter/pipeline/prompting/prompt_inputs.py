"""The values that each prompt is rendered from: one frozen dataclass per step.

Each class belongs to the template of its step in `templates/`; the fields are exactly the variables of that template.
`StrategyInputs` serves all strategies, whose packages have templates of their own. The offline model answers from these
values instead of the text.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from exploracoder_jupyter.core.types import ApiDoc, Experience, Introduction, Passage, Subtask, Task

_NO_INTRODUCTION: Final = Introduction("")


@dataclass(frozen=True, slots=True)
class IntroduceInputs:
    """Step `introduce`: write the condensed introduction `s` from the README."""

    libraries: tuple[str, ...]
    readme: str


@dataclass(frozen=True, slots=True)
class PlannersInputs:
    """Step `planners`: draw few-shot planners `D` from example programs."""

    libraries: tuple[str, ...]
    examples: tuple[str, ...]
    count: int


@dataclass(frozen=True, slots=True)
class PlanInputs:
    """Step `plan`: split the task into subtasks of one or two API calls."""

    task: Task
    introduction: Introduction
    most: int
    passages: tuple[Passage, ...] = ()
    apis: tuple[ApiDoc, ...] = ()
    """APIs found for the task, to be listed."""
    attempts: tuple[Experience, ...] = ()
    """Whole programs that were tried before, the latest last."""
    online: bool = False
    """Whether the plan states for which subtasks the web is searched."""
    context_tokens: int = 4000
    """Token budget for the retrieved text."""


@dataclass(frozen=True, slots=True)
class RecommendInputs:
    """Step `recommend`: re-rank and drop APIs for one subtask; decide whether it is done; revise the rest of the
    plan."""

    task: Task
    subtask: Subtask
    remaining: tuple[Subtask, ...]
    apis: tuple[ApiDoc, ...]
    experience: tuple[Experience, ...]
    may_revise: bool
    hint: str = ""


@dataclass(frozen=True, slots=True)
class RecommendGlobalInputs:
    """Step `recommend_global`: the `count` APIs that matter for the whole task (inter-task re-rank)."""

    task: Task
    subtasks: tuple[Subtask, ...]
    apis: tuple[ApiDoc, ...]
    count: int
    experience: tuple[Experience, ...] = ()


@dataclass(frozen=True, slots=True)
class ProposeInputs:
    """Step `propose`: an experimental snippet for one subtask, given the experience so far."""

    task: Task
    subtask: Subtask
    introduction: Introduction
    apis: tuple[ApiDoc, ...]
    experience: tuple[Experience, ...]
    hint: str = ""
    tests: bool = False
    passages: tuple[Passage, ...] = ()
    lookups: int = 0
    """How many APIs the model may look up while it writes."""
    context_tokens: int = 4000
    """Token budget for the retrieved APIs and passages together."""
    may_skip: bool = False
    """Whether the model may reply that the experience already shows the subtask's result."""
    attempts: tuple[Experience, ...] = ()
    """Whole programs that were tried before the exploration."""
    failures: tuple[Experience, ...] = ()
    """Cells for earlier subtasks that failed beside others that ran."""


@dataclass(frozen=True, slots=True)
class DebugInputs:
    """Step `debug`: repair a failed candidate, or one that ran and showed nothing."""

    task: Task
    subtask: Subtask
    apis: tuple[ApiDoc, ...]
    experience: tuple[Experience, ...]
    failed: Experience
    tests: bool = False
    passages: tuple[Passage, ...] = ()
    lookups: int = 0
    context_tokens: int = 4000


@dataclass(frozen=True, slots=True)
class SolveInputs:
    """Step `solve`: assemble the solution from the explored calls and the trace."""

    task: Task
    apis: tuple[ApiDoc, ...]
    """Used in the exploration first, then the global set (ExploraCoder, equation 4)."""
    experience: tuple[Experience, ...]
    passages: tuple[Passage, ...] = ()
    lookups: int = 0
    context_tokens: int = 4000


@dataclass(frozen=True, slots=True)
class RepairInputs:
    """Step `repair`: repair a solution that failed to run or failed its check."""

    task: Task
    apis: tuple[ApiDoc, ...]
    experience: tuple[Experience, ...]
    attempts: tuple[Experience, ...]
    """The solutions tried so far, the latest last; their observation includes the failed check."""
    passages: tuple[Passage, ...] = ()
    lookups: int = 0
    context_tokens: int = 4000


@dataclass(frozen=True, slots=True)
class ExplainInputs:
    """Step `explain`: describe what failed or uninformative code was to do, as a search query (ARKS, section 2.2)."""

    task: Task
    subtask: Subtask
    failed: Experience


@dataclass(frozen=True, slots=True)
class InventInputs:
    """Step `invent`: write inputs on which a program for the task can be tried (CoCoST, section 3.2.2)."""

    task: Task
    program: Experience
    most: int


@dataclass(frozen=True, slots=True)
class JudgeInputs:
    """Step `judge`: decide whether a program's results are what the task asks; correct it (CoCoST, section 3.2.1)."""

    task: Task
    apis: tuple[ApiDoc, ...]
    experience: tuple[Experience, ...]
    program: Experience
    """The run of the program alone, followed by the user's check."""
    results: tuple[Experience, ...]
    """The runs on the inputs; the subtask is the title of the input, the code is what ran around the program."""


@dataclass(frozen=True, slots=True)
class StrategyInputs:
    """Step `strategy`: a prompt of a strategy's own. Its template uses the fields that it needs.

    Results of executions belong in `experience` and retrieved text in `apis` and `passages`, because only there is it
    reduced to what may be shared. Templates quote it with the filters of `requests`.
    """

    template: str
    """`package:name` stands for the file `templates/name.j2` in that package."""
    task: Task
    introduction: Introduction = _NO_INTRODUCTION
    subtasks: tuple[Subtask, ...] = ()
    apis: tuple[ApiDoc, ...] = ()
    experience: tuple[Experience, ...] = ()
    """Code that was executed, in order; the subtask's title says what it was for."""
    passages: tuple[Passage, ...] = ()
    notes: tuple[str, ...] = ()
    """What the model wrote earlier in the run, such as thoughts and reflections, in order."""
    rounds_left: int = 0
    """How many more steps or rounds the strategy allows."""
    checked: bool = False
    """Whether a check decides about the program, so that no example of the model's own has to run."""
    lookups: int = 0
    context_tokens: int = 4000


CodeInputs = ProposeInputs | DebugInputs | SolveInputs | RepairInputs | StrategyInputs
"""The inputs of prompts for code, during which the model may look APIs up."""
Inputs = (
    IntroduceInputs
    | PlannersInputs
    | PlanInputs
    | RecommendInputs
    | RecommendGlobalInputs
    | InventInputs
    | JudgeInputs
    | ExplainInputs
    | CodeInputs
)

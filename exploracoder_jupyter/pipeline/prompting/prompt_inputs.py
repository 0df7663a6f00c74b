"""What each prompt is rendered from: one frozen value per step.

Each class names its template in `prompts/` through its step; the fields are the template's declared variables, all of
them and no others (a test holds the two together). The offline model answers from these values instead of the text.
"""

from __future__ import annotations

from dataclasses import dataclass

from exploracoder_jupyter.core.types import ApiDoc, Experience, Introduction, Passage, Subtask, Task


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
    """How many subtasks at most."""
    passages: tuple[Passage, ...] = ()
    online: bool = False
    """Whether the plan says for which subtasks the web is searched."""
    context_tokens: int = 4000
    """How much of what was found is told."""


@dataclass(frozen=True, slots=True)
class RecommendInputs:
    """Step `recommend`: re-rank and drop APIs for one subtask; say whether it is already done; revise what remains."""

    task: Task
    subtask: Subtask
    remaining: tuple[Subtask, ...]
    """The subtasks after this one."""
    apis: tuple[ApiDoc, ...]
    experience: tuple[Experience, ...]
    may_revise: bool
    hint: str = ""
    """What the user gave along, wanting it explored again."""


@dataclass(frozen=True, slots=True)
class RecommendGlobalInputs:
    """Step `recommend_global`: the `count` APIs that matter for the whole task (inter-task re-rank)."""

    task: Task
    subtasks: tuple[Subtask, ...]
    apis: tuple[ApiDoc, ...]
    count: int


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
    """Whether the cell is to end with assertions of its own."""
    passages: tuple[Passage, ...] = ()
    lookups: int = 0
    """How many APIs the model may look up while it writes."""
    context_tokens: int = 4000
    """How much of what was found is told, APIs and passages together."""


@dataclass(frozen=True, slots=True)
class DebugInputs:
    """Step `debug`: repair a failed candidate, or one that ran and showed nothing."""

    task: Task
    subtask: Subtask
    apis: tuple[ApiDoc, ...]
    experience: tuple[Experience, ...]
    failed: Experience
    tests: bool = False
    """Whether the cell is to end with assertions of its own."""
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
    """Step `repair`: mend a solution that failed to run or failed its check."""

    task: Task
    apis: tuple[ApiDoc, ...]
    experience: tuple[Experience, ...]
    attempts: tuple[Experience, ...]
    """The solutions tried so far, last one last; their observation includes the failed check."""
    passages: tuple[Passage, ...] = ()
    lookups: int = 0
    context_tokens: int = 4000


@dataclass(frozen=True, slots=True)
class ExplainInputs:
    """Step `explain`: say in words what code was to do that failed, or ran and showed nothing, to search by (ARKS,
    section 2.2)."""

    task: Task
    subtask: Subtask
    failed: Experience


@dataclass(frozen=True, slots=True)
class InventInputs:
    """Step `invent`: write inputs on which a program for the task can be tried (CoCoST, section 3.2.2)."""

    task: Task
    program: Experience
    """A solution that ran."""
    most: int


@dataclass(frozen=True, slots=True)
class JudgeInputs:
    """Step `judge`: say whether what a program gives is what the task asks; correct it (CoCoST, section 3.2.1)."""

    task: Task
    apis: tuple[ApiDoc, ...]
    """What the errors among the results were looked up to."""
    experience: tuple[Experience, ...]
    program: Experience
    """Run by itself, with the user's check after it."""
    results: tuple[Experience, ...]
    """Run on the inputs: as the subtask the input's title, as the code what it ran around the program."""


Inputs = (
    IntroduceInputs
    | PlannersInputs
    | PlanInputs
    | RecommendInputs
    | RecommendGlobalInputs
    | ProposeInputs
    | DebugInputs
    | SolveInputs
    | RepairInputs
    | InventInputs
    | JudgeInputs
    | ExplainInputs
)

"""Settings of the exploration method, its presets, and the names of strategies."""

# No `from __future__ import annotations`: the annotations are read at run time, as objects.
from dataclasses import dataclass
from typing import Annotated, Literal

from exploracoder_jupyter.core.configuration.setting_annotations import Option, Section, Setting

EXPLORE = "explore"
"""Name of the strategy that plans the task and explores each subtask."""
ADAPTIVE = "adaptive"
"""Name of the strategy that tries a whole program first, and explores where that does not convince."""

Effort = Literal["auto", "direct", "explore"]
EFFORTS: dict[str, str] = {"auto": ADAPTIVE, "direct": "example-repair", "explore": EXPLORE}
"""The strategy of each effort."""

RRR = "rrr"
"""Name of the strategy that writes code for a repository unless another one is named."""

Preset = Literal["quick", "standard", "thorough"]

PRESETS: dict[str, dict[str, int | bool]] = {
    "quick": {"candidates": 3, "subtasks": 5, "debug_rounds": 1, "solution_rounds": 2},
    "standard": {},
    "thorough": {"candidates": 8, "debug_rounds": 3, "solution_rounds": 5, "tests": True},
}
"""Values that each preset sets in `Exploration`; `standard` stands for the defaults."""


def is_repository_strategy(name: str) -> bool:
    """Return whether the strategy of this name writes code for a repository."""
    return name == RRR or name.startswith("repository-")


@dataclass(frozen=True, slots=True)
class Exploration(Section):
    """The exploration method. Defaults are those of ExploraCoder (section 5.1) where the paper gives one."""

    preset: Annotated[Preset, Setting("how thoroughly to explore, unless set by other options"), Option()] = "standard"
    effort: Annotated[
        Effort,
        Setting(
            "auto tries a whole program first and explores where that does not convince; direct never explores; "
            "explore always does"
        ),
        Option(),
    ] = "auto"
    strategy: Annotated[
        str | None,
        Setting("another method of solving the task, by its registered name; none: by the effort"),
        Option(metavar="NAME"),
    ] = None
    candidates: Annotated[int, Setting("snippets per subtask", ge=1, le=20), Option(metavar="m")] = 5
    first_candidates: Annotated[
        int, Setting("snippets of a subtask that are tried first; the others follow where these fail", ge=1, le=20)
    ] = 2
    subtasks: Annotated[int, Setting("maximum number of subtasks", ge=1, le=20), Option(metavar="n")] = 8
    debug_rounds: Annotated[
        int, Setting("repair rounds when all candidates of a subtask fail", ge=0, le=5), Option(metavar="r")
    ] = 2
    temperature: Annotated[float, Setting("sampling temperature for snippets and solutions", ge=0, le=2)] = 0.8
    top_p: Annotated[float, Setting("nucleus sampling for snippets and solutions", gt=0, le=1)] = 0.95
    planners: Annotated[int, Setting("few-shot planners (k_D)", ge=0, le=10)] = 4
    retrieved: Annotated[int, Setting("APIs retrieved per subtask (k)", ge=1, le=100)] = 20
    retrieved_global: Annotated[int, Setting("APIs kept for the solution (k_G)", ge=1, le=100)] = 20
    plan_revisions: Annotated[int, Setting("maximum number of changes to the remaining plan", ge=0, le=10)] = 2
    solution_rounds: Annotated[
        int,
        Setting(
            "maximum number of solutions tried, repairs included; the offline model tries up to 12 by default",
            ge=1,
            le=20,
        ),
    ] = 3
    timeout: Annotated[float, Setting("seconds for one execution", gt=0), Option(metavar="S")] = 60.0
    tests: Annotated[
        bool,
        Setting(
            "run the solution on inputs that the model generates, let it judge the outputs, and correct the solution"
        ),
        Option(),
    ] = False
    test_inputs: Annotated[int, Setting("maximum number of generated inputs", ge=1, le=5)] = 3
    test_rounds: Annotated[int, Setting("maximum number of corrections from judged outputs (N_f)", ge=0, le=10)] = 3
    oracle_calls: Annotated[
        int, Setting("maximum number of attempts whose tests are run in a repository (RRR, section 4.1)", ge=1, le=20)
    ] = 5
    review: Annotated[
        bool,
        Setting("pause after planning, so that you can change the plan before anything runs"),
        Option(places=("magic",)),
    ] = False

    @property
    def method(self) -> str:
        """Registered name of the strategy."""
        return self.strategy or EFFORTS[self.effort]

"""What every step is handed: the ports, the limits, and the state that the steps pass on."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path

import anyio.lowlevel

from exploracoder_jupyter.core.settings import Exploration, Retrieval
from exploracoder_jupyter.core.types import ApiDoc, Experience, Introduction, Passage, Sharing, Task
from exploracoder_jupyter.pipeline.budget import Meter
from exploracoder_jupyter.pipeline.ports import Branch, Emit, Knowledge, Model, Soup, Steering
from exploracoder_jupyter.pipeline.retrieval.null_retriever import NullSoup
from exploracoder_jupyter.pipeline.run_plan import Agenda, Given


@dataclass(frozen=True, slots=True)
class Run:
    """The ports and limits of one run; the same for all of its steps. Only the meter and the agenda change."""

    task: Task
    settings: Exploration
    model: Model
    knowledge: Knowledge
    root: Branch
    """The state at the start; never run in, only forked."""
    emit: Emit
    steering: Steering
    meter: Meter
    sharing: Sharing = "values"
    parallel: int = 4
    """Candidates run at the same time."""
    files: Path | None = None
    """New folder for what the solution writes; none: it is not kept."""
    unsent: str = ""
    """What branches would lack if they had to be made in another way than at the start; a sentence, or empty."""
    steerable: bool = False
    """Whether somebody may steer it: then the states before the subtasks are kept, and the plan may be reviewed."""
    given: Given | None = None
    """Set where the run goes on from another."""
    retrieval: Retrieval = field(default_factory=Retrieval)
    soup: Soup = field(default_factory=NullSoup)
    """What is searched beside the index of the libraries' APIs."""
    python: str = ""
    """Version of the interpreter that experiments run in, `3.11.9`; empty where it is not known."""
    agenda: Agenda = field(default_factory=Agenda)


@dataclass(frozen=True, slots=True)
class State:
    """What has been reached: replaced, never changed."""

    introduction: Introduction
    branch: Branch
    """Memory and files after the selected candidates so far."""
    experience: tuple[Experience, ...] = ()
    """One selected experience per explored subtask, failed ones included (section 3.4)."""
    retrieved: tuple[ApiDoc, ...] = ()
    """What retrieval gave for any subtask, best first, without repeats: the pool of the global re-rank."""
    passages: tuple[Passage, ...] = ()
    """What the soup gave for any subtask."""
    no_code_problems: tuple[str, ...] = ()
    """What was wrong with the replies for the latest subtasks, where none held code."""

    @property
    def parent(self) -> str:
        """Id of the candidate whose branch it stands on; empty at the start of the run."""
        return next((item.candidate.id for item in reversed(self.experience) if item.observation.ran), "")

    def with_experience(self, experience: Experience, branch: Branch) -> State:
        """The state after an experience was selected."""
        return replace(self, experience=(*self.experience, experience), branch=branch, no_code_problems=())


def merge_apis(*groups: tuple[ApiDoc, ...]) -> tuple[ApiDoc, ...]:
    """The APIs of all groups in order, each once."""
    return tuple({api.path: api for group in groups for api in group}.values())


async def raise_if_cancelled() -> None:
    """Go no further where the user has turned the run away; before what must not be told after that."""
    await anyio.lowlevel.checkpoint_if_cancelled()

"""The types of the objects that `--json` prints, and their JSON schemas for the documentation and the tests."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Literal, NotRequired

from pydantic import ConfigDict, JsonValue, TypeAdapter, with_config
from pydantic.json_schema import GenerateJsonSchema
from typing_extensions import TypedDict

from exploracoder_jupyter.core.types import Outcome, Parameter, Ruling, SubtaskStatus, Usage
from exploracoder_jupyter.evaluation.statistics import Arm, ArmPair
from exploracoder_jupyter.finetuning.training import TrainingReport
from exploracoder_jupyter.knowledge.task_libraries import LibraryReport
from exploracoder_jupyter.repository.tools import Finding
from exploracoder_jupyter.runs.trace_check.check_report import Result

# The types of the objects that `--json` prints, for `json_results`. No command imports them: `--help` stays fast.


@with_config(ConfigDict(use_attribute_docstrings=True, extra="forbid"))
class _Described(TypedDict):
    """An object whose schema has the descriptions of its keys."""


@with_config(ConfigDict(use_attribute_docstrings=True))
class ErrorResult(TypedDict):
    """Printed instead by every command that fails. `run` and `replay` add what is known of the run."""

    error: str
    """What went wrong, in one sentence."""
    remedy: str
    """What to do about it."""


class SubtaskResult(_Described):
    """One subtask of a run."""

    title: str
    status: SubtaskStatus
    candidates: int
    """Number of candidates, repairs not included."""
    debug_rounds: int
    """Number of repair rounds."""
    apis: list[str]
    """APIs that the candidate carried forward really calls."""


class InputTest(_Described):
    """A generated input on which the solution was tested."""

    title: str
    status: str
    """How the execution ended, or `unusable`."""
    judged: Ruling | None
    """The model's judgement of the output."""


class ReplayCourse(_Described):
    """How a replay compares with the recorded run."""

    of: str
    """Id of the recorded run."""
    same_course: bool
    course: str
    """Whether it took the same course, or where it first differed, in one sentence."""


class RunResult(_Described):
    """The result of a run."""

    status: Outcome
    reason: str
    """Why it has this status, in one sentence."""
    solution: str | None
    """The program."""
    patch: str | None
    """With `--repo`: the change of the repository."""
    trace: str | None
    """Path of the trace notebook."""
    trace_problem: NotRequired[str]
    """Why the trace is incomplete, if it is."""
    library: dict[str, str]
    """Versions of the explored libraries by import name."""
    model: str
    usage: Usage
    subtasks: list[SubtaskResult]
    isolation: str
    """How experiments were isolated."""
    branching: str
    """How the states of experiments were made: `fork` or `rerun`."""
    state: str
    """Where experiments started, `live` or `fresh`, and why."""
    files: list[str]
    """Paths of the kept files that the solution wrote."""
    tests: list[InputTest]
    replay: NotRequired[ReplayCourse]
    """Only of the command `replay`."""


class CheckedCell(_Described):
    """The result for one execution, or for one edited Markdown cell."""

    id: str
    """Id of the cell, such as `2.1` or `s1`."""
    same: bool
    result: Result
    why: str
    """The difference, from old to new."""


class CheckedEnvironment(_Described):
    """The environments of the run and of the check."""

    recorded: dict[str, JsonValue]
    now: dict[str, JsonValue]
    differs: list[str]
    """The differences, one clause each."""


class CheckResult(_Described):
    """The result of a check. Several traces give one object a line; `error` and `remedy` replace the result of one."""

    trace: str
    notebook: NotRequired[str]
    """The notebook in which the exploration was found, if a notebook was given."""
    edited_there: NotRequired[list[str]]
    """Ids of the cells that were edited in that notebook."""
    same: bool
    """Whether the trace was reproduced."""
    cells: list[CheckedCell]
    environment: CheckedEnvironment
    calls: list[str]
    """APIs that behave differently."""


class HistoryRun(_Described):
    """One earlier run."""

    id: str
    status: str
    """As of `run`; or `running`, or `cut off`."""
    reason: str
    task: str
    """First line of the task."""
    libraries: dict[str, str]
    """Versions by import name."""
    model: str
    started: str
    """As in ISO 8601, in UTC, like all times here."""
    updated: str
    ended: str | None
    calls: int
    tokens: int
    cost: float | None
    """In money; `null` if the model has no price."""
    currency: str
    seconds: float
    executions: int
    trace: str | None
    trace_exists: bool
    resumes: str
    """Id of the run that this one resumes."""
    resume_with: str | None
    """The option of `run` that resumes this one."""
    resumed_by: str | None
    """Id of the run that resumes this one."""


class HistoryResult(_Described):
    """Earlier runs, newest first."""

    path: str
    """File of the history."""
    lost: str | None
    """Why earlier entries are missing, if they are."""
    runs: list[HistoryRun]


class AgentCall(_Described):
    """One call of a tool by a coding agent."""

    at: str
    """As in ISO 8601, in UTC."""
    process: int
    """Id of the server's process."""
    tool: str
    seconds: float
    outcome: str
    """`answered`, or the error in one sentence."""
    arguments: dict[str, JsonValue]


class AgentCalls(_Described):
    """With `--calls`: what coding agents have called, newest first."""

    path: str
    """File of the log."""
    calls: list[AgentCall]


class Removal(_Described):
    """With an option that removes entries."""

    path: str
    """The file that was changed."""
    removed: int
    """Number of entries."""


class IndexResult(_Described):
    """What was read of each library."""

    libraries: list[LibraryReport]


class FoundApi(_Described):
    """One API."""

    path: str
    """Dotted path by which it is imported."""
    kind: str
    """`function`, `class`, `method`, ..."""
    signature: str
    description: str
    """First sentence of the documentation."""
    score: float
    library: str
    version: str
    documentation: str
    examples: list[str]
    """Examples of the documentation that can be run as they are."""
    parameters: list[Parameter]
    returns: str
    notes: list[str]
    see_also: list[str]
    aliases: list[str]
    """Other paths of the same API."""
    deprecated: str | None
    """The deprecation notice."""
    origin: str
    """Where it is documented, if that is outside the library."""


class SearchResult(_Described):
    """The APIs that match best, best first."""

    query: str
    results: list[FoundApi]
    libraries: list[LibraryReport]
    apis: int
    """Number of APIs that were searched."""
    notices: list[str]
    seconds: float


class MatchingApi(_Described):
    """One API of a package, or a section of a guide that the package ships."""

    path: str
    """Dotted path by which it is imported; of a guide, its file."""
    kind: str
    """`function`, `class`, `method`, `property` or `guide`."""
    signature: str
    """Parameters with their defaults, without types."""
    description: str
    """The sentence of its documentation that shows best why it was found."""
    score: float


class MatchingPackage(_Described):
    """One installed package."""

    name: str
    version: str
    module: str
    """The name by which it is imported."""
    summary: str
    """What it says of itself."""
    score: float
    """Higher is better; comparable within one search only."""
    apis: list[MatchingApi]
    """The APIs that match best, best first."""


class FindResult(_Described):
    """The installed packages that match best, best first."""

    query: str
    packages: list[MatchingPackage]
    installed: int
    """Number of packages in the environment."""
    read: int
    """How many of them were searched."""
    newly_read: int
    """How many were read for this search."""
    apis: int
    """Number of APIs that were searched."""
    notices: list[str]
    """What is missing, one sentence each."""
    seconds: float


class ChosenLibrary(_Described):
    """With `--choose`: the library for a task."""

    library: str
    """The name by which it is imported."""
    name: str
    version: str
    why: str
    others: list[str]
    """Import names of the next best."""
    sentence: str
    """What was chosen and why, for people."""


class StoredSnippet(_Described):
    """Code that ran in an earlier run."""

    id: str
    library: str
    version: str
    python: str
    title: str
    code: str
    apis: list[str]
    observed: str
    """What it printed or displayed."""
    uses: int
    used_at: float
    """Seconds since the epoch."""


class SnippetsResult(_Described):
    """Stored snippets, most recently used first."""

    path: str
    """File of the snippets."""
    snippets: list[StoredSnippet]


class RepositoryAnswer(_Described):
    """What a tool found in a repository."""

    tool: str
    repository: str
    """Folder of the repository."""
    findings: list[Finding]


class RepositoryChange(_Described):
    """With `apply` and `undo`."""

    action: Literal["apply", "undo"]
    repository: str
    files: list[str]
    """Files that were changed."""


class EndpointResult(_Described):
    """An endpoint that was found."""

    base_url: str | None
    """`null` if the address contains a password."""
    url: str
    """The address without password and query."""
    local: bool
    models: list[str]
    status: str
    remedy: str
    """What to do if it does not work."""


class TriedModel(_Described):
    """A model that answered."""

    url: str
    model: str
    seconds: float


class ConfiguredModel(TriedModel):
    """A model that was written to the config file."""

    path: str


class SetupResult(_Described):
    """What was found, tried and configured."""

    endpoints: list[EndpointResult]
    tried: TriedModel | None
    written: ConfiguredModel | None
    remedy: str
    """What to do if nothing was configured."""


class InstalledPlugin(_Described):
    """A plugin, built in or of another package."""

    name: str
    distribution: str
    version: str


class Problem(_Described):
    """A problem of the installation."""

    what: str
    remedy: str


class DoctorResult(_Described):
    """What works here."""

    endpoint: str
    branching: str
    isolation: str
    state: str
    """Where experiments can start."""
    labextension: str
    plugins: dict[str, list[InstalledPlugin]]
    """By group."""
    problems: list[Problem]


class ForkResult(_Described):
    """The fork, as soon as it is ready; the command then runs until it is interrupted."""

    connection_file: str
    isolation: str


class McpResult(_Described):
    """With `--http`: where agents are served, as soon as they are; the command then runs until it is interrupted."""

    url: str
    token: str
    """What clients send as `Authorization: Bearer TOKEN`."""


class SkillRecipe(_Described):
    """One recipe of a skill, executed now."""

    title: str
    ran: bool
    """Whether it ran and what it asserts holds."""
    why: str
    """Why not."""


class SkillResult(_Described):
    """The recipes of a skill; those that ran are in the file that was written."""

    path: str
    library: str
    version: str
    recipes: list[SkillRecipe]


class ExportResult(_Described):
    """The file that was written."""

    out: str
    to: str
    """The format."""


class ProblemId(_Described):
    """A problem of an evaluation."""

    problem_set: str
    problem: str


class ProblemResult(_Described):
    """How the arms fared on one problem."""

    key: ProblemId
    counts: list[tuple[int, int] | None]
    """Passed and all samples of each arm; `null` if it was not run on the problem."""


class BenchResult(_Described):
    """The figures of an evaluation. A bound that is infinite is `null`."""

    folder: str
    """Folder of the results."""
    left: int
    """Number of runs that are still to be made, with `--resume`."""
    page: str
    """Path of the report."""
    arms: list[Arm]
    """The highest pass@1 first."""
    problems: list[ProblemResult]
    measured: int
    """Number of problems that the figures of the arms are of."""
    baseline: str
    """The arm that the others are compared with; empty if there are fewer than two."""
    pairs: list[ArmPair]
    notices: list[str]
    """What restricts the comparison."""


class AnnotateResult(_Described):
    """What was annotated, and what was left out."""

    path: str
    sources: int
    """Files that were read."""
    invalid: int
    """Files that are not valid Python."""
    samples: int
    rows: int
    """Number of annotated samples."""
    searches: int
    wrong_answers: int
    """Look-ups whose answer does not name the API."""
    left_out: dict[str, int]
    """Number of samples by reason."""


# The JSON schemas of what each command prints with `--json`: for the documentation, and for tests of the commands.

Schema = dict[str, JsonValue]

_RESULTS: Final[Mapping[str, Any]] = {
    "run": RunResult,
    "check": CheckResult,
    "replay": RunResult,
    "history": HistoryResult | Removal | AgentCalls,
    "index": IndexResult,
    "search": SearchResult,
    "find": FindResult | ChosenLibrary,
    "snippets": SnippetsResult | Removal,
    "repo": RepositoryAnswer | RepositoryChange,
    "setup": SetupResult,
    "doctor": DoctorResult,
    "fork": ForkResult,
    "mcp": McpResult,
    "skill": SkillResult,
    "export": ExportResult,
    "bench": BenchResult,
    "annotate": AnnotateResult,
    "finetune": TrainingReport,
}
"""By command. `completion` prints a script."""


class _Generator(GenerateJsonSchema):
    def field_title_should_be_set(self, schema: object) -> bool:
        return False


class _BenchGenerator(_Generator):
    """Numbers of an evaluation that are infinite or undefined are printed as `null`."""

    def float_schema(self, schema: object) -> dict[str, Any]:
        return {"type": ["number", "null"]}


def result_schemas() -> dict[str, Schema]:
    """Return the schema of each command's result, by command, and that of an error as `error`."""
    generators = {name: _BenchGenerator if name == "bench" else _Generator for name in _RESULTS}
    schemas = {name: _schema(result, generators[name]) for name, result in _RESULTS.items()}
    return {**schemas, "error": _schema(ErrorResult, _Generator)}


def _schema(result: Any, generator: type[GenerateJsonSchema]) -> Schema:
    return TypeAdapter(result).json_schema(mode="serialization", schema_generator=generator)

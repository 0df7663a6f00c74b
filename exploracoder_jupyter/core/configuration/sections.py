"""The sections of the settings: the budget, the endpoint, the method, retrieval, siblings and views."""

from dataclasses import dataclass, field, replace
from typing import Annotated, Any, Literal

from exploracoder_jupyter.core.configuration.setting_annotations import Option, Section, Setting

# Settings of the budget: the limits after which a run stops, and the prices that its cost is computed from.


# No `from __future__ import annotations`: the annotations are read at run time, as objects.


@dataclass(frozen=True, slots=True)
class Budget(Section):
    """Limits after which a run stops."""

    tokens: Annotated[
        int,
        Setting("maximum number of prompt and completion tokens", ge=1),
        Option("budget-tokens", "maximum number of tokens", metavar="N"),
    ] = 200_000
    seconds: Annotated[float, Setting("maximum time in seconds", gt=0), Option("budget-seconds", metavar="S")] = 900.0
    cost: Annotated[
        float,
        Setting("maximum cost in money, for a model that has a price; 0: no limit", ge=0),
        Option("budget-cost", "maximum cost in money, for a model that has a price; no limit", metavar="X"),
    ] = 0.0
    executions: Annotated[int, Setting("executions of snippets and solutions", ge=1)] = 400


@dataclass(frozen=True, slots=True)
class Price(Section):
    """The price of a model's tokens, for a million of them."""

    input: Annotated[float, Setting("for prompts", ge=0)]
    output: Annotated[float, Setting("for replies", ge=0)]
    cached: Annotated[float, Setting("for prompt tokens that the endpoint had in its cache", ge=0)] | None = None
    """`None`: the same as for other prompt tokens."""

    def cost(self, prompt: int, cached: int, completion: int) -> float:
        """Return the cost of so many tokens; `cached` is a part of `prompt`."""
        cached_price = self.input if self.cached is None else self.cached
        return ((prompt - cached) * self.input + cached * cached_price + completion * self.output) / 1e6


@dataclass(frozen=True, slots=True)
class Prices(Section):
    """What models cost. Without a price nothing is assumed, and cost is counted in tokens alone."""

    currency: Annotated[str, Setting("label of all amounts of money")] = ""
    models: Annotated[
        dict[str, Price],
        Setting("price of each model for a million tokens, by its name: `input`, `output`, and `cached` if it differs"),
    ] = field(default_factory=dict)


# Settings of the model endpoint, and what may be sent to it.


# No `from __future__ import annotations`: the annotations are read at run time, as objects.


OFFLINE = "offline"
"""Name of the built-in model, which is not a language model and costs nothing."""

Sharing = Literal["values", "schema", "none"]
"""How much of a candidate's output may be sent to the model's endpoint."""


@dataclass(frozen=True, slots=True)
class Endpoint(Section):
    """The model endpoint. Without `model` and `base_url` the built-in offline model is used."""

    model: Annotated[
        str | None,
        Setting("model name at the endpoint, or `offline`", variables=("EXPLORACODER_MODEL", "OPENAI_MODEL")),
        Option(metavar="M"),
    ] = None
    base_url: Annotated[
        str | None,
        Setting("OpenAI-compatible endpoint: a URL or a name", variables=("EXPLORACODER_BASE_URL", "OPENAI_BASE_URL")),
        Option(metavar="URL", reading=True),
    ] = None
    embedding_model: Annotated[
        str | None,
        Setting(
            "embedding model at the same endpoint; none: built-in word vectors",
            variables=("EXPLORACODER_EMBEDDING_MODEL",),
        ),
    ] = None
    timeout: Annotated[
        float, Setting("seconds without any data; a request for n replies ends after n + 1 times that", gt=0)
    ] = 120.0
    retries: Annotated[int, Setting("maximum retries of a failed request within that time", ge=0, le=10)] = 3
    max_tokens: Annotated[
        int | None, Setting("maximum tokens of one reply that the endpoint is asked for; none: its own limit", ge=1)
    ] = None
    headers: Annotated[
        dict[str, str], Setting("headers of every request; their values are neither recorded nor shown")
    ] = field(default_factory=dict)
    extra_body: Annotated[
        dict[str, Any],
        Setting("what is added to the body of every chat request, such as `reasoning_effort`; it is recorded"),
    ] = field(default_factory=dict)
    share: Annotated[
        Sharing, Setting("how much of the experiments' output is sent to the model's endpoint"), Option()
    ] = "values"

    def with_hidden_headers(self) -> "Endpoint":
        """Return the endpoint as it may be shown, without the values of its headers."""
        return replace(self, headers=dict.fromkeys(self.headers, "[hidden]"))


# Settings of the exploration method, its presets, and the names of strategies.


# No `from __future__ import annotations`: the annotations are read at run time, as objects.


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


# Settings of retrieval: which sources are searched for help, and how often.


# No `from __future__ import annotations`: the annotations are read at run time, as objects.


Formulation = Literal["task", "subtask", "error", "code", "explained"]
"""What a query was made from (ARKS, section 2.2): the text of the task or subtask, the error that occurred, the code
that was tried, or that code explained in words."""
Web = Literal["off", "ddgs", "searxng", "url"]
"""How the web is searched."""


@dataclass(frozen=True, slots=True)
class Retrieval(Section):
    """Which sources are searched for help, and how often."""

    rounds: Annotated[
        int, Setting("maximum number of new searches after all candidates of a subtask failed", ge=0, le=10)
    ] = 2
    formulation: Annotated[Formulation, Setting("what the query of such a search is made from")] = "error"
    context_tokens: Annotated[int, Setting("maximum tokens of search results in one prompt", ge=500, le=50_000)] = 4000
    lookups: Annotated[int, Setting("maximum API lookups by the model while it writes one snippet", ge=0, le=10)] = 3
    inline_lookups: Annotated[
        bool,
        Setting("the model was fine-tuned with `jupyter explora finetune`: it looks APIs up in the middle of its code"),
        Option(),
    ] = False
    snippets: Annotated[
        bool,
        Setting("whether code that ran is stored and offered to later tasks"),
        Option(
            "no-snippets",
            "do not use code from earlier explorations, and do not store any for later ones",
            negates=True,
        ),
    ] = True
    docs: Annotated[
        tuple[str, ...],
        Setting(
            "documentation in addition to the library's own, or of a library that is not installed: a file, a folder "
            "or a .zip of Markdown, reST, HTML, notebooks, objects.inv or signatures"
        ),
        Option(metavar="PATH", reading=True),
    ] = ()
    workspace: Annotated[
        bool,
        Setting("search the notebook's code and the Python, Markdown and notebook files next to it for help"),
        Option(command_help="search the Python, Markdown and notebook files of this folder for help"),
    ] = False
    web: Annotated[
        Web,
        Setting("search the web too: ddgs (DuckDuckGo), the URL of a SearXNG server, or a URL that contains {query}"),
        Option(kind="text", metavar="WHERE"),
    ] = "off"
    web_address: Annotated[
        str | None,
        Setting("URL of the SearXNG server, or URL template with `{query}`; `web` may set it"),
    ] = None
    embedding_folder: Annotated[
        str | None,
        Setting(
            "folder of a sentence-transformers or model2vec model; none: the endpoint's embeddings, or built-in word "
            "vectors"
        ),
        Option(
            help="embed documentation with the sentence-transformers or model2vec model in this folder, on this "
            "machine",
            metavar="FOLDER",
            reading=True,
        ),
    ] = None


# Settings of siblings: their limits, isolation, interpreter and starting state.


# No `from __future__ import annotations`: the annotations are read at run time, as objects.


@dataclass(frozen=True, slots=True)
class Sandbox(Section):
    """Limits of every sibling."""

    memory_mb: Annotated[int, Setting("memory of one sibling, on top of what it was forked with", ge=256)] = 4096
    cpu_seconds: Annotated[int, Setting("CPU seconds of one sibling", ge=1)] = 600
    processes: Annotated[int, Setting("processes and threads of one sibling", ge=1)] = 256
    open_files: Annotated[int, Setting("open files per process of a sibling", ge=64)] = 4096
    file_mb: Annotated[int, Setting("maximum size of one written file", ge=1)] = 512
    output_kb: Annotated[int, Setting("maximum stored output of one execution", ge=1)] = 1024
    copy_mb: Annotated[int, Setting("largest working directory to copy where it cannot be overlaid", ge=0)] = 200
    variables_mb: Annotated[int, Setting("maximum size of the variables that are sent to a fresh kernel", ge=0)] = 1024
    network: Annotated[bool, Setting("let experiments access the network"), Option()] = False
    allow_read: Annotated[
        tuple[str, ...],
        Setting("a file or folder in your home folder that experiments may read, besides this project"),
        Option(metavar="PATH", reading=True),
    ] = ()
    kernel: Annotated[
        str | None,
        Setting("kernelspec to explore in; none: the caller's interpreter"),
        Option(help="kernelspec to explore in", metavar="KERNELSPEC", reading=True),
    ] = None
    python: Annotated[
        str | None,
        Setting("interpreter to explore in, if no kernelspec is given: Python 3.10 or newer with ipykernel"),
        Option(metavar="PATH", reading=True),
    ] = None
    state: Annotated[
        Literal["auto", "live", "fresh"],
        Setting(
            "where experiments start: `live`, in a fork of this kernel, with all its variables; `fresh`, in a new "
            "kernel, with those that the task names or --use; `auto`, live unless something prevents it"
        ),
        Option(
            refused=(("live", "works only in notebooks: there is no live kernel on the command line"),),
            command_help="where experiments start: always in a fresh kernel",
        ),
    ] = "auto"
    branching: Annotated[Literal["auto", "fork", "rerun"], Setting("how kernel states are branched")] = "auto"
    isolation: Annotated[
        Literal["best", "require"],
        Setting("best: the strongest isolation available; require: refuse to run without full isolation"),
        Option(reading=True),
    ] = "best"
    pickle: Annotated[
        bool,
        Setting("allow sending variables to a fresh kernel as pickles, where nothing else works"),
        Option(places=("magic",)),
    ] = False
    gateway: Annotated[
        str | None,
        Setting("remote Jupyter Server or Kernel Gateway that runs the experiments"),
        Option(metavar="URL", reading=True),
    ] = None
    engine_python: Annotated[
        str | None,
        Setting("interpreter that runs the engine; none: the caller's", variables=("EXPLORACODER_ENGINE_PYTHON",)),
        Option(places=()),
    ] = None


# Settings of what is shown and stored: cells, trace, files, and the user's private history of runs.


# No `from __future__ import annotations`: the annotations are read at run time, as objects.


@dataclass(frozen=True, slots=True)
class View(Section):
    """What to show and where to write it."""

    show: Annotated[
        Literal["all", "selected", "none"], Setting("which candidates get cells in the trace"), Option()
    ] = "all"
    cells: Annotated[
        Literal["live", "collapsed", "card"],
        Setting(
            "the cells of a run in the notebook: open while it runs, collapsed from the start, or none, only the result"
            " card; the trace has all"
        ),
        Option(places=("magic",)),
    ] = "live"
    keep_files: Annotated[bool, Setting("keep the files that the solution wrote, next to the trace"), Option()] = False
    prompts: Annotated[
        bool,
        Setting("whether the trace contains the prompts"),
        Option(
            "no-prompts",
            "omit prompts from the trace; replies are stored, so that the trace can be replayed",
            negates=True,
        ),
    ] = True
    out: Annotated[
        str | None,
        Setting("path of the trace notebook; none: in explorations/ next to the notebook"),
        Option(help="path of the trace notebook", metavar="TRACE"),
    ] = None


@dataclass(frozen=True, slots=True)
class History(Section):
    """The user's private history of runs."""

    keep: Annotated[
        bool,
        Setting("whether to add a run to the history"),
        Option("no-history", "do not add this run to the history", negates=True),
    ] = True
    days: Annotated[int, Setting("days to keep a run in the history", ge=1)] = 180
    runs: Annotated[int, Setting("maximum number of runs in the history", ge=1)] = 1000

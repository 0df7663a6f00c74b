"""What the magics do: `%%explora` starts a run, `%explora` executes commands.

Imported at the first use, so that loading the extension stays instant. Starting a run means: resolve the settings,
write the variables that the task uses to a private folder, start the engine, and follow the run here or in a thread.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from IPython.core.interactiveshell import InteractiveShell

from exploracoder_jupyter.core.configuration.sections import Sandbox
from exploracoder_jupyter.core.configuration.settings import Settings
from exploracoder_jupyter.core.configuration.sources import Layer, config_path, history_path, resolve
from exploracoder_jupyter.core.errors import ExploraError, UsageError
from exploracoder_jupyter.core.history import REPLAYED_SUFFIX, HistoryStore
from exploracoder_jupyter.core.messages import did_you_mean, one_line
from exploracoder_jupyter.core.required_libraries import check_libraries, check_trace_folder
from exploracoder_jupyter.core.run_state.run_wording import cost, headline
from exploracoder_jupyter.core.types import UserVariable
from exploracoder_jupyter.core.validation import ValidationError
from exploracoder_jupyter.ipython_extension.browser.browser_comms import BrowserComms
from exploracoder_jupyter.ipython_extension.browser.browser_controls import Controls
from exploracoder_jupyter.ipython_extension.browser.page_requests import (
    FormRequests,
    list_runs,
    parse_history_limit,
    show_runs,
)
from exploracoder_jupyter.ipython_extension.jupyter_server import Reach, server_root
from exploracoder_jupyter.ipython_extension.magic_line import Call, Caller, find_caller, find_notebook
from exploracoder_jupyter.ipython_extension.model_setup import set_up_model
from exploracoder_jupyter.ipython_extension.result_card.card import as_text
from exploracoder_jupyter.ipython_extension.result_card.card_display import LineDisplay, NotebookDisplay
from exploracoder_jupyter.ipython_extension.running.cell_trace_lookup import RecordedRun, find_recorded_run
from exploracoder_jupyter.ipython_extension.running.credential_variables import find_credential_variables
from exploracoder_jupyter.ipython_extension.running.engine import (
    change_repository,
    engine_command,
    export_trace,
    with_this_interpreter,
)
from exploracoder_jupyter.ipython_extension.running.offered_state import (
    Sending,
    fork_function,
    make_offer,
    reason_not_forked,
    send_with_consent,
)
from exploracoder_jupyter.ipython_extension.running.runs import Run, build_continuation, describe_continuation
from exploracoder_jupyter.ipython_extension.searching.find_magic import choose_library, find_packages
from exploracoder_jupyter.ipython_extension.searching.found_packages import FoundPackages
from exploracoder_jupyter.ipython_extension.searching.search_process import LibrarySearcher, SearchTarget
from exploracoder_jupyter.ipython_extension.searching.search_results import Results
from exploracoder_jupyter.ipython_extension.settings_explanation import explain, save_key
from exploracoder_jupyter.ipython_extension.tab_completion import COMMANDS
from exploracoder_jupyter.ipython_extension.user_variables import (
    ReplacedVariables,
    bound_names,
    copy_files,
    describe_files,
    describe_variables,
)
from exploracoder_jupyter.protocol.browser_messages import Continue
from exploracoder_jupyter.protocol.messages import Continuation, Replan, Replay, Repository, Resume, Start
from exploracoder_jupyter.text.characters import without_controls

if TYPE_CHECKING:
    from exploracoder_jupyter.kernel_agent.undo.checkpoints import Checkpoints

_INTERRUPT = "To stop: interrupt the kernel."
_MAGIC_STOP = "To stop: %explora stop"
_FORK_SECONDS = 15.0
"""Seconds that a cell in the background waits until its kernel was forked, which takes about a second."""
_NO_REVIEW = "Leave it out, or explore in JupyterLab or Notebook 7 without --wait."
_MAX_TASK = 60
_UNSENT = "no copies were sent, since experiments were to start from a fork of this kernel"
_TAKE = "%explora solution inserts the solution into a new cell."
_OFFERED = "The solution of this run is already in a cell, or this front end does not insert cells. It is:"


@dataclass(frozen=True, slots=True)
class _Request:
    call: Call
    task: str
    layers: list[Layer]
    origin: str
    """A description of the run in a few words, if it continues or replays another one."""
    recorded: Sequence[Layer] = ()
    """The settings of the recorded run, weaker than all others."""
    given: Continuation | None = None
    resume: Resume | None = None
    replay: Replay | None = None


class Commands:
    """The commands of the magics in one shell."""

    def __init__(self, shell: InteractiveShell, *, configured: Callable[[], Layer], link: BrowserComms | None) -> None:
        """`configured` returns what `%config` has set; `link` connects to the pages, if the front end can have any."""
        self.controls = Controls(link, folder=self._folder, forms=FormRequests(shell, configured))
        self.runs = self.controls.runs
        self.variables = self.controls.variables = ReplacedVariables(shell, self.runs)
        self._searcher = LibrarySearcher(jupyter=hasattr(shell, "kernel"), configured=configured)
        self._inserted: Run | None = None
        self._shell = shell
        self._configured = configured

    def explore(self, call: Call, task: str) -> None:
        """Run an exploration: in the background if a page shows the notebook, otherwise to its end."""
        if not (call.libraries or call.repo or call.replay or call.resume is not None):
            call = replace(call, libraries=(self._choose_library(call, task),))
        caller = self._caller()
        request = self._build_request(call, task, caller)
        background = caller.watched and not call.wait
        page = self.controls.announce_call(caller.session) if caller.watched else lambda: ""
        settings, resources = resolve(*request.layers, *request.recorded), ExitStack()
        if settings.exploration.review and not background and not (page() and self.controls.handles_while_busy):
            request = replace(request, layers=_without_review(request.layers))
        refused = _refusal(request, settings, caller.notebook or Path.cwd())
        order, forked = self._build_start(request, caller, settings.sandbox, resources, refused=refused is not None)
        if not refused:
            self._searcher.last = SearchTarget(",".join(order.libraries), request.call.layer)
            self.runs.stop_runs_of_cell(caller.cell)
        try:
            run = self.runs.start(
                order,
                command=engine_command(settings.sandbox.engine_python),
                display=partial(_display, caller, page, self.variables, background=background),
                resources=resources,
                fork=fork_function(self._shell) if order.live else None,
                session=caller.session,
                origin=request.origin,
                cells=settings.view.cells != "card",
                refused=refused,
            )
        except KeyboardInterrupt:  # while waiting for the page's hello
            raise UsageError("Stopped. The run was stopped before it began.") from None
        self._follow(run, background=background, forked=forked)

    def _choose_library(self, call: Call, task: str) -> str:
        layers = with_this_interpreter([call.layer, self._configured()])
        choice = choose_library(task, layers, jupyter=hasattr(self._shell, "kernel"))
        self.write(f"{choice.sentence} To choose another: %%explora LIB.")
        return choice.library

    def _build_request(self, call: Call, task: str, caller: Caller) -> _Request:
        layers = with_this_interpreter([call.layer, self._configured()])
        run = self._find_recorded_run(call, task, layers)
        if run is None:
            given, origin = self._continuation(caller)
            return _Request(call, task, layers, origin=origin, given=given)
        out_typed = bool(call.resume) and "out" in call.layer.get("view", {})
        if not out_typed and run.has_trace(
            resolve(*layers).view.out
        ):  # the new trace is written beside the resumed one
            layers = [{"view": {"out": None}}, *layers]
        call = run.complete(call, self._shell.user_ns)
        request = _Request(call, task or run.task.text, layers, origin="", recorded=[run.settings_layer(*layers)])
        if call.replay:
            return replace(request, origin=f"{run.trace.name} replayed", replay=_build_replay(run, call))
        where = f" from {call.start}" if call.start else ""
        hint = f", hint: {call.hint}" if call.hint else ""
        resume = Resume(trace=str(run.trace), cell=call.start, hint=call.hint)
        return replace(request, origin=f"{run.trace.name} resumed{where}{hint}", resume=resume)

    def _build_start(
        self, request: _Request, caller: Caller, sandbox: Sandbox, resources: ExitStack, *, refused: bool
    ) -> tuple[Start, bool]:
        """Build the start message, and predict whether this kernel is forked: otherwise variables are sent."""
        call = request.call
        offered = not (refused or call.repo) and sandbox.state != "fresh"
        live = make_offer(self._shell) if offered else None
        variables = [] if refused or call.repo else self._describe_variables(request, caller.cell)
        sent, why = Sending(), reason_not_forked(live, sandbox)
        if variables and why:
            space = self._shell.user_ns
            required = {*call.uses, *(one.name for one in variables if one.given)}
            withheld = {*find_credential_variables(space)} - {*call.uses}
            sent = send_with_consent(variables, required, space, resources, sandbox, withheld=withheld, why=why)
            variables = [replace(one, lacking=sent.problems.get(one.name, "")) for one in variables]
        repository = None
        if call.repo:
            repository = Repository(
                path=call.repo, target=call.target, tests=list(call.tests), command=call.test_command
            )
        order = Start(
            task=request.task,
            libraries=list(call.libraries),
            uses=list(call.uses),
            check=call.check,
            setup=call.setup,
            solution_name=call.solution_name,
            layers=[{"sandbox": {"pickle": True}}, *request.layers] if sent.pickled else request.layers,
            notebook=str(caller.notebook) if caller.notebook else None,
            cell=caller.cell,
            workdir=str(Path.cwd()),
            repository=repository,
            variables=sent.folder,
            unsent=_UNSENT if variables and not sent.folder else "",
            mentioned=variables,
            live=live,
            cells=caller.cell is not None,
            given=request.given,
            resume=request.resume,
            replay=request.replay,
        )
        return order, not why

    def _describe_variables(self, request: _Request, cell: str | None) -> list[UserVariable]:
        """Describe the variables that the run is about; a replay has those of the recorded run.

        What an earlier solution of this task made is a result, however the task words it.
        """
        call, space = request.call, self._shell.user_ns
        if unknown := [name for name in call.uses if name not in space]:
            raise UsageError(f"--use: There is no variable {unknown[0]!r}.")
        text, check = ("", None) if call.replay else (request.task, call.check)
        found = describe_variables(text, check, call.uses, space, hidden=self._shell.user_ns_hidden)
        made: set[str] = set()
        for run in self.runs.all:
            if run.state.task.text == request.task or (cell and run.live.context.cell == cell):
                given = {one.name for one in run.state.task.variables if one.given}
                made |= bound_names(run.state.offered_solution or "") - given
        found = [replace(one, given=one.given and one.name not in made) for one in found]
        return [one for one in found if one.name != call.solution_name]

    def _follow(self, run: Run, *, background: bool, forked: bool) -> None:
        try:
            run.detach(patience=_FORK_SECONDS if forked else 0.0) if background else run.wait()
        except KeyboardInterrupt:
            raise UsageError(_summary_line(run)) from None
        if background:
            return
        if run.state.failure:
            raise ExploraError(run.state.failure)
        if run.state.offered_solution and not run.live.owner:  # otherwise the page inserts it as a cell
            self._insert(run, run.state.offered_solution)

    def run(self, line: str) -> Results | FoundPackages | None:
        """Execute a line of `%explora` and return its value, if it has one."""
        name, _, argument = line.strip().partition(" ")
        if name == "search":
            return self._searcher.search(argument)
        if name == "find":
            return find_packages(argument, jupyter=hasattr(self._shell, "kernel"), configured=self._configured())
        commands: Mapping[str, Callable[[str], str]] = {
            "": lambda argument: f"{self._status(argument)}\n%explora? lists all commands.",
            "status": self._status,
            "stop": self._stop,
            "accept": self._accept,
            "solution": self._solution,
            "files": self._files,
            "checkpoint": self._checkpoint,
            "back": self._back,
            "apply": lambda argument: self._change_repository("apply", argument),
            "undo": lambda argument: self._change_repository("undo", argument),
            "history": self._history,
            "export": self._export,
            "clean": self._clean,
            "config": self._config,
            "setup": lambda argument: set_up_model(argument, self._configured(), write=self.write),
        }
        if name == "doctor":
            raise UsageError("%explora doctor is a command for a terminal.", remedy="Use `jupyter explora doctor`.")
        if name not in commands:
            meant = did_you_mean(name, COMMANDS)
            raise UsageError(
                f"There is no command {name!r}.",
                remedy=f"{meant}Use one of: {', '.join(COMMANDS)}. To explore: %%explora LIB.",
            )
        if message := commands[name](argument.strip()):
            self.write(message)
        return None

    def _checkpoint(self, name: str) -> str:
        return self._ask_checkpoints(lambda found: found.make(name) if name else found.describe())

    def _back(self, which: str) -> str:
        return self._ask_checkpoints(lambda found: found.back(which))

    def _ask_checkpoints(self, ask: Callable[[Checkpoints], str]) -> str:
        if any(not run.over for run in self.runs.all):
            raise UsageError("An exploration is running, which a checkpoint cannot carry.", remedy="Stop it, or wait.")
        if sys.platform != "linux":
            raise UsageError("Checkpoints of a kernel work on Linux only.")
        from exploracoder_jupyter.kernel_agent.undo.checkpoints import Checkpoints, UndoError  # only where it is used

        try:
            return ask(Checkpoints.of(self._shell))
        except UndoError as reason:
            raise UsageError(str(reason)) from None

    def write(self, text: str) -> None:
        """Write to the cell's output, which may be a terminal."""
        sys.stdout.write(f"{without_controls(text)}\n")

    def _find_recorded_run(self, call: Call, task: str, layers: Sequence[Layer]) -> RecordedRun | None:
        """Find the run that a cell resumes or replays; traces of this session and at `--out` may be anywhere."""
        trace = call.replay or call.resume
        if trace is None:
            return None
        paths = [resolve(*layers).view.out, *(run.state.trace for run in self.runs.all)]
        return find_recorded_run(
            trace,
            task,
            self._calling_folder(),
            other_traces=[Path(path) for path in paths if path],
            check=call.check,
            any_outcome=bool(call.start),
        )

    def _continuation(self, caller: Caller) -> tuple[Continuation | None, str]:
        """Return what the page asked to continue, if it did, and a description of it in a few words.

        A page refers to runs of this kernel. Any other reference was left in a saved notebook whose cell is run again.
        """
        try:
            request = Continue.model_validate(caller.metadata.get("continue"))
        except ValidationError:
            return None, ""
        run = self.runs.find(request.run)
        if run is None:
            return None, ""
        if not run.over:
            raise UsageError("The run to continue has not ended yet.", remedy="Stop it, or steer it in the sidebar.")
        return build_continuation(run.state, request), describe_continuation(run.state, request)

    def _insert(self, run: Run, solution: str) -> None:
        self._inserted = run
        if not run.live.owner:
            run.live.dismiss_solution()
        self._shell.set_next_input(solution)

    def _status(self, _: str) -> str:
        shown = self.runs.running() or self.runs.explored()[-1:]
        return (
            "\n".join(as_text(run.state, time.time()) for run in shown) or "Nothing has been explored in this session."
        )

    def _stop(self, _: str) -> str:
        running = self.runs.running()
        self.runs.stop()
        names = "; ".join(run.state.task.subject for run in running)
        return f"Stopping: {names}." if running else "Nothing is running."

    def _accept(self, _: str) -> str:
        run = next((run for run in self.runs.running() if run.state.reviewing), None)
        if run is None:
            raise UsageError("No plan is waiting for your review.", remedy="A run waits with --review.")
        run.send(Replan(tuple(row.title for row in run.state.planned if row.status == "planned")))
        return "The plan is accepted."

    def _solution(self, _: str) -> str:
        run = next(reversed(self.runs.explored()), None)
        if run is None or not run.over:
            raise UsageError("There is no solution yet.", remedy="See %explora status.")
        if run.state.offered_solution is None:
            attempts = f"The attempts are recorded in {run.state.trace}." if run.state.trace else ""
            raise UsageError(f"There is no solution. {headline(run.state)}", remedy=attempts)
        if run is self._inserted:
            return f"{_OFFERED}\n\n{run.state.offered_solution}"
        self._insert(run, run.state.offered_solution)
        return headline(run.state)

    def _change_repository(self, action: Literal["apply", "undo"], argument: str) -> str:
        python = self._engine_python()
        if trace := argument.strip("\"'"):
            return change_repository(action, trace, engine_python=python)
        run = next((run for run in reversed(self.runs.explored()) if run.state.patch), None)
        if run is None:
            raise UsageError("No run in a repository has passed its tests here.", remedy="Name a trace or a patch.")
        return run.change_repository(action, engine_python=python)

    def _files(self, argument: str) -> str:
        if argument not in ("", "--copy"):
            raise UsageError("%explora files takes no arguments other than `--copy`.")
        run = self.runs.last(having="files")
        if run is None or run.state.files is None:
            raise UsageError("No files were kept.", remedy="Explore with --keep-files.")
        return copy_files(run.state.files, Path.cwd()) if argument else describe_files(run.state.files)

    def _history(self, argument: str) -> str:
        limit = parse_history_limit(argument)
        here = [run.state.trace for run in self.runs.all if run.state.trace]
        if session := [f"{number}. {_history_line(run)}" for number, run in enumerate(self.runs.explored(), 1)]:
            self.write("\n".join(session))
        folder = self._calling_folder()
        before = list_runs(folder, excluded_traces=here, excluded_runs=[run.state.run_id for run in self.runs.all])
        if before:
            show_runs(before, limit, Reach(folder, server_root()))
        nothing = "" if session or before else "Nothing has been explored yet, and there are no traces here."
        return " ".join(filter(None, (nothing, HistoryStore(history_path()).lost())))

    def _caller(self) -> Caller:
        """Return the caller, with the notebook's present name from its page: the kernel knows only the first name."""
        caller = find_caller(self._shell)
        notebook = self.controls.notebook(caller.session)
        return replace(caller, notebook=notebook) if notebook else caller

    def _calling_folder(self) -> Path:
        notebook = self._caller().notebook
        return notebook.parent if notebook else Path.cwd()

    def _folder(self) -> Path | None:
        notebook = find_notebook(self._shell)
        return notebook.parent if notebook else None

    def _export(self, argument: str) -> str:
        run = self.runs.last(having="trace")
        if run is None or run.state.trace is None:
            raise UsageError("There is no trace yet.", remedy="See %explora status.")
        return f"Written: {export_trace(Path(run.state.trace), argument, engine_python=self._engine_python())}"

    def _engine_python(self) -> str | None:
        return resolve(self._configured(), path=config_path()).sandbox.engine_python

    def _clean(self, argument: str) -> str:
        if argument not in ("", "--keep-solution"):
            raise UsageError("%explora clean takes no arguments other than `--keep-solution`.")
        if self.controls.clean(find_caller(self._shell).session, keep_solution=bool(argument)):
            return "The explorations in this notebook, if there are any, are removed; undo restores them."
        run = self.runs.last(having="trace")
        where = f" They are in the trace {run.state.trace}." if run else ""
        return f"Nothing to remove: only JupyterLab with our extension inserts candidates into a notebook.{where}"

    def _config(self, argument: str) -> str:
        if not argument:
            return explain(self._configured())
        if argument != "key":
            raise UsageError("%explora config takes no arguments other than `key`.")
        return f"The key is now in {save_key(_ask_key())}, readable only by you."


def _refusal(request: _Request, settings: Settings, beside: Path) -> ExploraError | None:
    """Return the error for a missing library or a read-only folder, as far as these can be known without the engine."""
    try:
        check_libraries(request.call.libraries, settings, workdir=Path.cwd())
        if not (request.resume or request.replay):
            check_trace_folder(settings, beside)
    except ExploraError as error:
        return error
    return None


def _build_replay(recorded_run: RecordedRun, call: Call) -> Replay:
    """Return what is replayed; its trace goes to `--out`, or else beside the recorded trace."""
    out = call.layer.get("view", {}).get("out") or recorded_run.trace.with_name(
        f"{recorded_run.stem}{REPLAYED_SUFFIX}.ipynb"
    )
    kernel = call.layer.get("sandbox", {}).get("kernel")
    return Replay(
        trace=str(recorded_run.trace),
        out=str(Path(str(out)).absolute()),
        delay=call.delay,
        kernel=str(kernel) if kernel else None,
    )


def _display(
    caller: Caller, page: Callable[[], str], variables: ReplacedVariables, run: Run, *, background: bool
) -> LineDisplay | NotebookDisplay:
    if found := page():
        run.live.set_owner(found)
    if not caller.jupyter:
        return LineDisplay(replaced=variables.of_run)
    hint, after = (_MAGIC_STOP, _TAKE) if background else (_INTERRUPT, "")
    return NotebookDisplay(
        hint=hint,
        after=after,
        in_page=lambda: bool(run.live.owner),
        cells=run.live.context.cells,
        folder=caller.notebook.parent if caller.notebook else None,
        stop=run.stop if background else None,
        replaced=variables.of_run,
    )


def _without_review(layers: Sequence[Layer]) -> list[Layer]:
    """Return the layers without the review that a recorded run asked for: there is no page to review the plan on."""
    if resolve(*layers).exploration.review:
        raise UsageError("--review requires a page on which you can review the plan.", remedy=_NO_REVIEW)
    return [{"exploration": {"review": False}}, *layers]


def _summary_line(run: Run) -> str:
    parts = [run.state.task.subject, headline(run.state), cost(run.state, time.time()), run.state.trace or ""]
    return " · ".join(part for part in parts if part)


def _history_line(run: Run) -> str:
    """Summarize a run with its task: runs on one library may differ only in the task."""
    parts = (_summary_line(run), one_line(run.state.task.text, _MAX_TASK), run.live.context.origin)
    return " · ".join(part for part in parts if part)


def _ask_key() -> str:
    from getpass import getpass

    from IPython.core.error import StdinNotImplementedError

    try:
        return getpass("API key: ")
    except (StdinNotImplementedError, EOFError, KeyboardInterrupt):
        raise UsageError(
            "No key was entered, or this front end cannot ask for one.", remedy="See %explora config for other ways."
        ) from None

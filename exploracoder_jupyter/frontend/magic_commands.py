"""What the magics do: start a run for `%%explora`, answer `%explora`.

Made at the first use, so that loading the extension stays instant. Starting means: settle the settings, write the
variables that the task uses to a private folder, start the engine, and follow it here or in a thread.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from pathlib import Path

from IPython.core.interactiveshell import InteractiveShell
from pydantic import ValidationError

from exploracoder_jupyter.core.errors import ExploraError, UsageError
from exploracoder_jupyter.core.settings import Layer, Sandbox, Settings, resolve
from exploracoder_jupyter.core.trace_peek import REPLAYED
from exploracoder_jupyter.core.wording import did_you_mean
from exploracoder_jupyter.frontend.browser.browser_comms import BrowserComms
from exploracoder_jupyter.frontend.browser.browser_controls import Controls
from exploracoder_jupyter.frontend.browser.run_list import history_damage, list_runs, parse_history_limit, show_runs
from exploracoder_jupyter.frontend.calling_cell import Caller, find_caller, find_notebook
from exploracoder_jupyter.frontend.jupyter_server import Reach, server_root
from exploracoder_jupyter.frontend.key_settings import explain, save_key
from exploracoder_jupyter.frontend.magic_line import Call
from exploracoder_jupyter.frontend.panel.panel_display import Display, LineDisplay, NotebookDisplay
from exploracoder_jupyter.frontend.panel.panel_html import as_text, cost, headline
from exploracoder_jupyter.frontend.running.continued_run import RecordedRun, recorded
from exploracoder_jupyter.frontend.running.engine_relay import engine_command
from exploracoder_jupyter.frontend.running.fork_offer import fork_function, make_offer, will_be_forked
from exploracoder_jupyter.frontend.running.interpreter_settings import with_this_interpreter
from exploracoder_jupyter.frontend.running.kernel_runs import Run
from exploracoder_jupyter.frontend.running.manual_steering import given, origin
from exploracoder_jupyter.frontend.running.variable_sending import Forks, send_variables
from exploracoder_jupyter.frontend.searching.search_magic import LibrarySearcher, SearchTarget
from exploracoder_jupyter.frontend.searching.search_results import Results
from exploracoder_jupyter.frontend.solution_files import copy_files, describe_files
from exploracoder_jupyter.frontend.tab_completion import COMMANDS
from exploracoder_jupyter.frontend.trace_export import export_trace
from exploracoder_jupyter.protocol.browser_messages import Continue
from exploracoder_jupyter.protocol.engine_messages import Given, Replay, Resume, Start

_INTERRUPT = "To stop: interrupt the kernel."
_MAGIC_STOP = "To stop: %explora stop"
_FORK_SECONDS = 15.0
"""How long a cell in the background waits until its kernel was forked; it takes about a second."""
_NO_REVIEW = "Leave it out, or explore in JupyterLab or Notebook 7 without --wait."
_MOST_TASK = 60
_TAKE = "%explora solution puts the solution into a new cell."
_OFFERED = "The solution of this run is in a cell already, or this front end makes none. It is:"


@dataclass(frozen=True, slots=True)
class _Asked:
    """What a cell asks for, with what it leaves to a recorded run that it goes on from or shows."""

    call: Call
    task: str
    layers: list[Layer]
    origin: str
    """What the run is, in a few words, if it goes on from another one or shows it."""
    recorded: Sequence[Layer] = ()
    """The settings of the recorded run, beneath all others."""
    given: Given | None = None
    resume: Resume | None = None
    replay: Replay | None = None

    def settings(self) -> Settings:
        """All settings, resolved.

        Raises:
            UsageError: one is bad.
        """
        return resolve(*self.layers, *self.recorded)


class Commands:
    """The front end of one shell."""

    def __init__(self, shell: InteractiveShell, *, configured: Callable[[], Layer], link: BrowserComms | None) -> None:
        """`configured` gives what `%config` has set; `link` leads to the pages, where there can be any."""
        self.controls = Controls(link, folder=self._folder)
        self.runs = self.controls.runs
        self._searcher = LibrarySearcher(jupyter=hasattr(shell, "kernel"), configured=configured)
        self._inserted: Run | None = None
        self._shell = shell
        self._configured = configured

    def explore(self, call: Call, task: str) -> None:
        """Run an exploration: in the background where somebody looks at the page, else to its end.

        Raises:
            UsageError: a setting is bad, a variable is unknown or cannot be sent, or the user interrupted.
            ExploraError: the run could not be made.
        """
        caller = self._caller()
        asked = self._asked(call, task, caller)
        background = caller.watched and not call.wait
        page = self.controls.announce_call(caller.session) if caller.watched else lambda: ""
        settings, resources = asked.settings(), ExitStack()
        if settings.exploration.review and not background and not (page() and self.controls.handles_while_busy):
            asked = replace(asked, layers=_without_review(asked.layers))
        refused = _missing_library(asked.call.libraries, settings)
        order, forks = self._order(asked, caller, settings.sandbox, resources, refused=refused is not None)
        if not refused:
            self._searcher.last = SearchTarget(",".join(order.libraries), asked.call.layer)
            self.runs.stop_runs_of_cell(caller.cell)
        try:
            run = self.runs.start(
                order,
                command=engine_command(settings.sandbox.engine_python),
                display=partial(_display, caller, page, background=background),
                resources=resources,
                fork=fork_function(self._shell) if order.live else None,
                session=caller.session,
                origin=asked.origin,
                refused=refused,
            )
        except KeyboardInterrupt:  # while the page's hello was waited for
            raise UsageError("Stopped. It was stopped before it began.") from None
        self._follow(run, background=background, forks=forks)

    def _asked(self, call: Call, task: str, caller: Caller) -> _Asked:
        """What the cell asks for, with what it leaves to the recorded run that it goes on from or shows."""
        layers = with_this_interpreter([call.layer, self._configured()])
        known = self._recorded(call, task, layers)
        if known is None:
            going_on, origin = self._going_on(caller)
            return _Asked(call, task, layers, origin=origin, given=going_on)
        layers = _beside(known, call, layers)
        call = known.complete(call, self._shell.user_ns)
        return _Asked(
            call,
            task or known.task.text,
            layers,
            recorded=[known.layer(*layers)],
            origin=_origin(known, call),
            resume=_resume(known, call),
            replay=_replay(known, call),
        )

    def _order(
        self, asked: _Asked, caller: Caller, sandbox: Sandbox, resources: ExitStack, *, refused: bool
    ) -> tuple[Start, Forks]:
        """The engine's order, and whether it will fork this kernel; for a run that is refused, no variable is sent."""
        call = asked.call
        offered = not refused and sandbox.state != "fresh"
        live = make_offer(self._shell, task=asked.task, check=call.check) if offered else None
        forks: Forks = "will" if will_be_forked(live, sandbox) else "may" if live else "never"
        uses = () if refused else call.uses
        variables, unsent = send_variables(uses, self._shell.user_ns, resources, sandbox, forks=forks)
        order = Start(
            task=asked.task,
            libraries=list(call.libraries),
            uses=list(call.uses),
            check=call.check,
            solution_name=call.solution_name,
            layers=asked.layers,
            notebook=str(caller.notebook) if caller.notebook else None,
            cell=caller.cell,
            workdir=str(Path.cwd()),
            variables=variables,
            unsent=unsent,
            live=live,
            cells=caller.cell is not None,
            given=asked.given,
            resume=asked.resume,
            replay=asked.replay,
        )
        return order, forks

    def _follow(self, run: Run, *, background: bool, forks: Forks) -> None:
        """To the end, or, in the background, until this kernel was forked."""
        try:
            run.detach(patience=_FORK_SECONDS if forks == "will" else 0.0) if background else run.wait()
        except KeyboardInterrupt:
            raise UsageError(_last_line(run)) from None
        if not background:
            self._show_end(run)

    def run(self, line: str) -> Results | None:
        """Do what `%explora` asks for; the value of the line, if it has one.

        Raises:
            UsageError: the command is unknown, or there is nothing that it could act on.
        """
        name, _, argument = line.strip().partition(" ")
        if name == "search":
            return self._searcher.search(argument)
        commands: Mapping[str, Callable[[str], str]] = {
            "": self._overview,
            "status": self._status,
            "stop": self._stop,
            "accept": self._accept,
            "solution": self._solution,
            "files": self._files,
            "history": self._history,
            "export": self._export,
            "clean": self._clean,
            "config": self._config,
        }
        if name == "doctor":
            raise UsageError("%explora doctor is a command for a terminal.", remedy="Use `jupyter explora doctor`.")
        if name not in commands:
            meant = did_you_mean(name, COMMANDS)
            raise UsageError(
                f"There is no command {name!r}.",
                remedy=f"{meant}Use one of: {', '.join(COMMANDS)}. To explore: %%explora LIB.",
            )
        if said := commands[name](argument.strip()):
            self.say(said)
        return None

    def say(self, text: str) -> None:
        """Write to the cell's output."""
        sys.stdout.write(f"{text}\n")

    def _show_end(self, run: Run) -> None:
        if run.state.failure:
            raise ExploraError(run.state.failure)
        if run.state.solution and not run.live.owner:  # else the page shows it as a cell
            self._insert(run, run.state.solution)

    def _recorded(self, call: Call, task: str, layers: Sequence[Layer]) -> RecordedRun | None:
        """The recorded run that a cell goes on from or shows; traces of this session and at `--out` may be anywhere."""
        named = call.replay or call.resume
        if named is None:
            return None
        places = [resolve(*layers).view.out, *(run.state.trace for run in self.runs.all)]
        also = [Path(place) for place in places if place]
        return recorded(
            named, task, self._calling_folder() or Path.cwd(), also=also, check=call.check, any_end=bool(call.start)
        )

    def _going_on(self, caller: Caller) -> tuple[Given | None, str]:
        """What the page wants to go on from, if this is no new exploration; and what that is, in a few words.

        A page names runs of this kernel. Anything else was left in a saved notebook, whose cell is run anew.
        """
        try:
            asked = Continue.model_validate(caller.metadata.get("continue"))
        except ValidationError:
            return None, ""
        run = self.runs.find(asked.run)
        if run is None:
            return None, ""
        if not run.over:
            raise UsageError("The run to go on from has not ended yet.", remedy="Stop it, or ask it in the sidebar.")
        return given(run.state, asked), origin(run.state, asked)

    def _insert(self, run: Run, solution: str) -> None:
        self._inserted = run
        if not run.live.owner:
            run.live.dismiss_solution()
        self._shell.set_next_input(solution)

    def _overview(self, argument: str) -> str:
        return f"{self._status(argument)}\n%explora? lists what else can be asked."

    def _status(self, _: str) -> str:
        shown = self.runs.running() or self.runs.explored()[-1:]
        return "\n".join(as_text(run.state, _now()) for run in shown) or "Nothing has been explored in this session."

    def _stop(self, _: str) -> str:
        running = self.runs.running()
        self.runs.stop()
        names = "; ".join(", ".join(run.state.libraries) for run in running)
        return f"Stopping: {names}." if running else "Nothing is running."

    def _accept(self, _: str) -> str:
        run = next((run for run in self.runs.running() if run.state.reviewing), None)
        if run is None:
            raise UsageError("No plan waits for your word.", remedy="A run waits with --review.")
        run.replan([row.title for row in run.state.subtasks if row.status == "planned"])
        return "The plan is accepted."

    def _solution(self, _: str) -> str:
        run = next(reversed(self.runs.explored()), None)
        if run is None or not run.over:
            raise UsageError("There is no solution yet.", remedy="See %explora status.")
        if run.state.solution is None:
            tried = f"What was tried is in {run.state.trace}." if run.state.trace else ""
            raise UsageError(f"There is no solution. {headline(run.state)}", remedy=tried)
        if run is self._inserted:
            return f"{_OFFERED}\n\n{run.state.solution}"
        self._insert(run, run.state.solution)
        return headline(run.state)

    def _files(self, argument: str) -> str:
        if argument not in ("", "--copy"):
            raise UsageError("%explora files takes nothing, or `--copy`.")
        run = self.runs.last(having="files")
        if run is None or run.state.files is None:
            raise UsageError("No files were kept.", remedy="Explore with --keep-files.")
        return copy_files(run.state.files, Path.cwd()) if argument else describe_files(run.state.files)

    def _history(self, argument: str) -> str:
        limit = parse_history_limit(argument)
        here = [run.state.trace for run in self.runs.all if run.state.trace]
        if session := [f"{number}. {_history_line(run)}" for number, run in enumerate(self.runs.explored(), 1)]:
            self.say("\n".join(session))
        folder = self._calling_folder() or Path.cwd()
        before = list_runs(folder, but=here, runs=[run.state.run_id for run in self.runs.all])
        if before:
            show_runs(before, limit, Reach(folder, server_root()))
        nothing = "" if session or before else "Nothing has been explored yet, and there are no traces here."
        return " ".join(filter(None, (nothing, history_damage())))

    def _caller(self) -> Caller:
        """The place of the call; the notebook as its page names it, for the kernel knows the first name alone."""
        caller = find_caller(self._shell)
        notebook = self.controls.notebook(caller.session)
        return replace(caller, notebook=notebook) if notebook else caller

    def _calling_folder(self) -> Path | None:
        """The folder of the calling notebook, if that is known."""
        notebook = self._caller().notebook
        return notebook.parent if notebook else None

    def _folder(self) -> Path | None:
        """The notebook's, as the kernel knows it from its start."""
        notebook = find_notebook(self._shell)
        return notebook.parent if notebook else None

    def _export(self, argument: str) -> str:
        run = self.runs.last(having="trace")
        if run is None or run.state.trace is None:
            raise UsageError("There is no trace yet.", remedy="See %explora status.")
        return f"Written: {export_trace(Path(run.state.trace), argument)}"

    def _clean(self, argument: str) -> str:
        if argument not in ("", "--keep-solution"):
            raise UsageError("%explora clean takes nothing, or `--keep-solution`.")
        if self.controls.clean(find_caller(self._shell).session, keep_solution=bool(argument)):
            return "The explorations in this notebook, if there are any, are removed; undo brings them back."
        run = self.runs.last(having="trace")
        where = f" They are in the trace {run.state.trace}." if run else ""
        return f"Nothing to remove: only JupyterLab with our extension puts candidates into a notebook.{where}"

    def _config(self, argument: str) -> str:
        if not argument:
            return explain(self._configured())
        if argument != "key":
            raise UsageError("%explora config takes nothing, or `key`.")
        return f"The key is in {save_key(_ask_key())} now, readable by you only."


def _missing_library(libraries: Sequence[str], settings: Settings) -> ExploraError | None:
    """The error for a library that is not installed, if one is not and that can be known without the engine."""
    from exploracoder_jupyter.core.library_check import check_libraries

    try:
        check_libraries(libraries, settings, workdir=Path.cwd())
    except ExploraError as error:
        return error
    return None


def _resume(known: RecordedRun, call: Call) -> Resume | None:
    return None if call.replay else Resume(trace=str(known.trace), cell=call.start, hint=call.hint)


def _replay(known: RecordedRun, call: Call) -> Replay | None:
    """What is shown again, and where the trace of that goes: to `--out`, else beside the recorded one."""
    if not call.replay:
        return None
    out = call.layer.get("view", {}).get("out") or known.trace.with_name(f"{known.stem}{REPLAYED}.ipynb")
    kernel = call.layer.get("sandbox", {}).get("kernel")
    return Replay(
        trace=str(known.trace),
        out=str(Path(str(out)).absolute()),
        delay=call.delay,
        kernel=str(kernel) if kernel else None,
    )


def _origin(known: RecordedRun, call: Call) -> str:
    """What a run is that goes on from a trace, or shows it again; in a few words."""
    if call.replay:
        return f"{known.trace.name} shown again"
    where = f" from {call.start}" if call.start else ""
    hint = f", hint: {call.hint}" if call.hint else ""
    return f"{known.trace.name} carried on{where}{hint}"


def _display(caller: Caller, page: Callable[[], str], run: Run, *, background: bool) -> Display:
    if found := page():
        run.live.set_owner(found)
    if not caller.jupyter:
        return LineDisplay()
    hint, after = (_MAGIC_STOP, _TAKE) if background else (_INTERRUPT, "")
    return NotebookDisplay(
        hint=hint, after=after, in_sidebar=lambda: bool(run.live.owner), stop=run.stop if background else None
    )


def _beside(known: RecordedRun, call: Call, layers: list[Layer]) -> list[Layer]:
    """The layers without an `--out` that is the very trace to go on from, unless the line names both: what goes on from
    it is written beside it."""
    typed = bool(call.resume) and "out" in call.layer.get("view", {})
    if typed or not known.is_at(resolve(*layers).view.out):
        return layers
    return [{"view": {"out": None}}, *layers]


def _without_review(layers: Sequence[Layer]) -> list[Layer]:
    """The layers where nobody reads a plan: one of a recorded run that asked for that does not wait.

    Raises:
        UsageError: a review is asked for now.
    """
    if resolve(*layers).exploration.review:
        raise UsageError("--review needs somebody who reads the plan.", remedy=_NO_REVIEW)
    return [{"exploration": {"review": False}}, *layers]


def _last_line(run: Run) -> str:
    parts = [", ".join(run.state.libraries), headline(run.state), cost(run.state, _now()), run.state.trace or ""]
    return " · ".join(part for part in parts if part)


def _history_line(run: Run) -> str:
    """What was asked for, for runs on one library differ in that alone."""
    task = " ".join(run.state.task.split())
    about = f"{task[:_MOST_TASK]}…" if len(task) > _MOST_TASK else task
    return " · ".join(part for part in (_last_line(run), about, run.live.origin) if part)


def _ask_key() -> str:
    from getpass import getpass

    from IPython.core.error import StdinNotImplementedError

    try:
        return getpass("API key: ")
    except (StdinNotImplementedError, EOFError, KeyboardInterrupt):
        raise UsageError(
            "The key was not asked for or not given.", remedy="See %explora config for other ways."
        ) from None


def _now() -> float:
    return datetime.now().timestamp()

"""Handles the controls that pages send, and broadcasts messages about runs to the pages.

Controls arrive on a thread that must not be blocked. What takes a while (an export, asking whether another page still
shows a run) runs in a separate thread and is answered when it is done. Everything else is answered immediately.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Literal

from exploracoder_jupyter.core.errors import ExploraError
from exploracoder_jupyter.core.time_limits import scale_limit
from exploracoder_jupyter.core.validation import BaseModel, ValidationError
from exploracoder_jupyter.core.version import __version__
from exploracoder_jupyter.ipython_extension.browser.browser_comms import Answer, BrowserComms
from exploracoder_jupyter.ipython_extension.browser.browser_run import LiveRun
from exploracoder_jupyter.ipython_extension.browser.page_requests import FormRequests, list_runs, trace_views
from exploracoder_jupyter.ipython_extension.jupyter_server import Reach, served_notebook, server_root
from exploracoder_jupyter.ipython_extension.running.engine import export_trace
from exploracoder_jupyter.ipython_extension.running.runs import Run, Runs, apply_control
from exploracoder_jupyter.ipython_extension.user_variables import ReplacedVariables
from exploracoder_jupyter.protocol import browser_messages, form_messages

HANDSHAKE_SECONDS = 0.5
"""How long a calling cell waits for the hello of its page."""
_OWNER_SECONDS = 3.0
"""How long the page that owns a run may take to confirm that it still shows the run."""
_UPDATE = "Update the package exploracoder_jupyter where JupyterLab runs and where the kernel runs to the same version."

Reply = Callable[[BaseModel], None]


class Controls:
    """Connects this kernel's runs to the pages."""

    def __init__(
        self, link: BrowserComms | None, *, folder: Callable[[], Path | None], forms: FormRequests | None = None
    ) -> None:
        """`link` is `None` if the kernel has no comms; `folder` returns the folder of the calling notebook."""
        self.handles_while_busy = False
        """Whether controls are handled while a cell is running."""
        self.runs: Runs = Runs(self)
        self.variables: ReplacedVariables | None = None
        """Answers which variables a solution would replace, if the kernel has a shell."""
        self._link = link
        self._folder = folder
        self._forms = forms
        self._pages = Pages()
        self._notebooks: dict[str, Path] = {}
        """The notebook of each session, if its page has named it."""

    def notebook(self, session: str) -> Path | None:
        """Return the notebook of this session under its present name, if its page has named it."""
        notebook = self._notebooks.get(session)
        return notebook if notebook and notebook.is_file() else None

    # ---- messages to pages

    @property
    def has_listeners(self) -> bool:
        """Whether a page has sent a hello."""
        return self._link is not None and self._pages.any

    def broadcast(self, message: browser_messages.FromKernel) -> None:
        """Send a message to all pages."""
        if self._link:
            self._link.send(browser_messages.to_comm_data(message))

    def assign_owner(self, run: LiveRun) -> None:
        """Make the page of the calling cell the owner of a run without one, if the page has sent a hello."""
        page = self._pages.find(run.session)
        if page and not run.owner:
            run.set_owner(page)

    def announce_call(self, session: str) -> Callable[[], str]:
        """Notify the pages that a cell of this session calls.

        Returns a function that waits for the id of the session's page, and returns an empty string if there is none.
        The wait ends half a second after the call at the latest.
        """
        if self._link is None:
            return lambda: ""
        until = time.monotonic() + scale_limit(HANDSHAKE_SECONDS)
        self._pages.reset_unsupported()
        self._open("call")
        return lambda: self._pages.wait_for_hello(session, until=until)

    def clean(self, session: str, *, keep_solution: bool) -> bool:
        """Request the removal of explorations from this session's notebook; return whether a page shows it."""
        has_page = bool(self._pages.find(session))
        if has_page:
            self.broadcast(browser_messages.CleanMessage(session=session, keep_solution=keep_solution))
        return has_page

    def _open(self, reason: Literal["call", "hello"]) -> None:
        if self._link:
            with self._views() as views:
                self._link.open(
                    browser_messages.to_comm_data(
                        browser_messages.Opening(package=__version__, reason=reason, runs=views)
                    )
                )

    @contextmanager
    def _views(self) -> Iterator[list[browser_messages.RunView]]:
        """Yield all runs and pause their updates: an older view must not be sent after the end of a run."""
        with ExitStack() as paused:
            lives = [run.live for run in self.runs.all]
            for live in lives:
                paused.enter_context(live.paused_updates)
            yield [live.listed_view for live in lives]

    # ---- controls from pages

    def handle_events_closed(self) -> None:
        """Note that a front end has closed the events comm, because it does not support it."""
        self._pages.mark_unsupported()

    def handle(self, data: object, answer: Answer) -> None:
        """Apply a control and answer it, whatever goes wrong."""
        self.handles_while_busy = threading.current_thread() is not threading.main_thread()
        number = data.get("request") if isinstance(data, Mapping) else None
        request = number if isinstance(number, int) else 0

        def reply(message: BaseModel) -> None:
            answer(browser_messages.to_comm_data(message))

        _answer_errors(request, reply, lambda: self._handle(data, request, reply))

    def _handle(self, data: object, request: int, reply: Reply) -> None:
        if (
            isinstance(data, Mapping)
            and data.get("type") == "hello"
            and data.get("version") != browser_messages.VERSION
        ):
            problem = f"JupyterLab's extension and the kernel's package do not match. {_UPDATE}"
            return reply(browser_messages.Done(request=request, problem=problem))
        try:
            message = browser_messages.parse_control(data)
        except ValidationError:
            return reply(
                browser_messages.Done(request=request, problem=f"The kernel does not know this request. {_UPDATE}")
            )
        match message:
            case browser_messages.Hello():
                self._handle_hello(message, reply)
            case browser_messages.Here():
                self._pages.confirm(message.page, message.run)
            case (
                form_messages.ListLibraries()
                | form_messages.ReadSettings()
                | form_messages.SaveSettings()
                | form_messages.FindModels()
                | form_messages.TryModel()
            ):
                if (forms := self._forms) is None:
                    return reply(browser_messages.Done(request=request, problem="This kernel has no shell."))
                _start_thread(request, reply, lambda: reply(forms.answer(message)))
            case browser_messages.FindReplaced():
                if (variables := self.variables) is None:
                    return reply(browser_messages.Replaced(request=request))
                _start_thread(request, reply, lambda: reply(variables.answer(message)))
            case _:
                self._handle_for_run(message, reply)

    def _handle_hello(self, hello: browser_messages.Hello, reply: Reply) -> None:
        self._pages.add(hello.page, hello.session)
        if notebook := served_notebook(hello.notebook):
            self._notebooks[hello.session] = notebook
            for run in self.runs.all:
                if run.live.session == hello.session:
                    run.live.set_folder(notebook.parent)
        for run in self.runs.all:
            self.assign_owner(run.live)  # a late hello: without subshells it is only handled after the calling cell
        self._open("hello")
        traces = self._earlier_traces(hello.session)
        with self._views() as views:
            reply(browser_messages.Welcome(request=hello.request, runs=views, traces=traces))

    def _earlier_traces(self, session: str) -> list[browser_messages.TraceView]:
        shown = [run.state for run in self.runs.all if run.live.context.cell]
        traces = [state.trace for state in shown if state.trace]
        notebook = self.notebook(session)
        folder = notebook.parent if notebook else self._folder()
        before = list_runs(folder, excluded_traces=traces, excluded_runs=[state.run_id for state in shown])
        return trace_views(before, Reach(folder, server_root()))

    def _handle_for_run(self, message: browser_messages.RunControl, reply: Reply) -> None:
        run = self.runs.find(message.run)
        if run is None:
            return reply(
                browser_messages.Done(request=message.request, problem="This kernel no longer knows this run.")
            )
        match message:
            case browser_messages.Sync():
                owner = run.live.owner
                if owner in ("", message.page):
                    return self._hand_over(run, message, reply)
                _start_thread(message.request, reply, lambda: self._ask_owner(run, message, owner, reply))
            case browser_messages.ExportTrace():
                _start_thread(message.request, reply, lambda: reply(self._export(run, message.request)))
            case browser_messages.ChangeRepository():
                _start_thread(message.request, reply, lambda: reply(self._change(run, message)))
            case _:
                reply(browser_messages.Done(request=message.request, problem=apply_control(run, message)))

    def _change(self, run: Run, message: browser_messages.ChangeRepository) -> browser_messages.Done:
        try:
            return browser_messages.Done(
                request=message.request, said=run.change_repository(message.action, engine_python=self._engine_python())
            )
        except ExploraError as error:
            return browser_messages.Done(request=message.request, problem=str(error))

    def _export(self, run: Run, request: int) -> browser_messages.Done:
        if run.state.trace is None:
            return browser_messages.Done(request=request, problem="There is no trace yet.")
        try:
            path = export_trace(Path(run.state.trace), "", engine_python=self._engine_python())
        except (ExploraError, OSError) as error:
            return browser_messages.Done(request=request, problem=str(error))
        return browser_messages.Done(request=request, said=f"Written: {path}", link=run.live.link(path))

    def _engine_python(self) -> str | None:
        return self._forms.engine_python() if self._forms else None

    def _ask_owner(self, run: Run, sync: browser_messages.Sync, owner: str, reply: Reply) -> None:
        """Hand the run over, unless its owner confirms that it still shows it, or the owner has changed by now."""
        key = run.live.context.key
        ask = partial(self.broadcast, browser_messages.WhoMessage(run=key))
        confirmed = self._pages.wait_for_confirmation(owner, key, ask, seconds=scale_limit(_OWNER_SECONDS))
        self._hand_over(run, sync, reply, keep_owner=confirmed or run.live.owner != owner)

    def _hand_over(self, run: Run, sync: browser_messages.Sync, reply: Reply, *, keep_owner: bool = False) -> None:
        if not keep_owner:
            run.live.set_owner(sync.page)
        with run.live.paused_updates:
            reply(run.live.snapshot(sync.request))


def _start_thread(request: int, reply: Reply, work: Callable[[], None]) -> None:
    threading.Thread(target=_answer_errors, args=(request, reply, work), daemon=True, name="explora-page").start()


def _answer_errors(request: int, reply: Reply, work: Callable[[], None]) -> None:
    """Call what answers a request; if it raises, answer with the error: a page must not wait forever."""
    try:
        work()
    except Exception as error:
        problem = f"The kernel could not do this: {type(error).__name__}: {error}".splitlines()[0]
        reply(browser_messages.Done(request=request, problem=problem))


class Pages:
    """The connected pages. Thread-safe."""

    def __init__(self) -> None:
        self._sessions: dict[str, str] = {}
        """The page of each session: a page has one session for each of its notebooks."""
        self._unsupported = False
        self._confirmations: dict[tuple[str, str], int] = {}
        self._changed = threading.Condition()

    @property
    def any(self) -> bool:
        """Whether any page has ever sent a hello: without one nothing needs to be broadcast."""
        return bool(self._sessions)

    def add(self, page: str, session: str) -> None:
        """Add a page, connected with this session."""
        with self._changed:
            self._sessions[session] = page
            self._changed.notify_all()

    def find(self, session: str) -> str:
        """Return the page with this session; empty if none has sent a hello with it."""
        return self._sessions.get(session, "")

    def reset_unsupported(self) -> None:
        """Forget `mark_unsupported`; call this before the pages are notified of a calling cell."""
        self._unsupported = False

    def mark_unsupported(self) -> None:
        """Note that the front end of the calling cell has no pages, which ends all waits for a hello."""
        with self._changed:
            self._unsupported = True
            self._changed.notify_all()

    def wait_for_hello(self, session: str, *, until: float) -> str:
        """Wait for this session's page until that time (of the monotonic clock); empty if no hello arrives."""
        with self._changed:
            timeout = max(0.0, until - time.monotonic())
            self._changed.wait_for(lambda: self.find(session) or self._unsupported, timeout=timeout)
            return self.find(session)

    def confirm(self, page: str, run: str) -> None:
        """Record a page's confirmation that it still shows this run."""
        with self._changed:
            self._confirmations[page, run] = self._confirmations.get((page, run), 0) + 1
            self._changed.notify_all()

    def wait_for_confirmation(self, page: str, run: str, ask: Callable[[], None], *, seconds: float) -> bool:
        """Call `ask` and return whether the page confirms the run within this time."""
        with self._changed:
            before = self._confirmations.get((page, run), 0)
        ask()
        with self._changed:
            return self._changed.wait_for(lambda: self._confirmations.get((page, run), 0) > before, timeout=seconds)

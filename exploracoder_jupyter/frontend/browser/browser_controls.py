"""What pages ask for, done: the desk at which their controls arrive, and the voice that tells them of runs.

Controls arrive on a thread that must not be kept: what takes a while (an export, asking whether another page is still
there) is done on a thread of its own and answered then. Everything else is answered at once.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Literal

from pydantic import ValidationError

from exploracoder_jupyter import __version__
from exploracoder_jupyter.core.errors import ExploraError
from exploracoder_jupyter.core.time_limits import scale
from exploracoder_jupyter.frontend.browser.browser_comms import Answer, BrowserComms
from exploracoder_jupyter.frontend.browser.browser_pages import Pages
from exploracoder_jupyter.frontend.browser.browser_run import LiveRun
from exploracoder_jupyter.frontend.browser.run_list import list_runs, trace_views
from exploracoder_jupyter.frontend.jupyter_server import Reach, served_notebook, server_root
from exploracoder_jupyter.frontend.running.kernel_runs import Run, Runs
from exploracoder_jupyter.frontend.running.manual_steering import RunControl, apply_control
from exploracoder_jupyter.frontend.trace_export import export_trace
from exploracoder_jupyter.protocol.browser_messages import (
    VERSION,
    CleanMessage,
    Done,
    ExportTrace,
    FromKernel,
    Hello,
    Here,
    Opening,
    RunView,
    Sync,
    TraceView,
    Welcome,
    WhoMessage,
    control,
    plain,
)

HANDSHAKE_SECONDS = 0.5
"""How long a calling cell waits for its page's hello."""
_OWNER_SECONDS = 3.0
"""How long the page that owns a run is given to say that it is still there."""
_MOST_TRACES = 200
"""What was explored before, the newest, that a page is told."""
_UPDATE = "Update the package exploracoder_jupyter where JupyterLab runs and where the kernel runs to the same version."


class Controls:
    """The pages' side of this kernel's runs."""

    def __init__(self, link: BrowserComms | None, *, folder: Callable[[], Path | None]) -> None:
        """`link` is there where the kernel has comms; `folder` gives the calling notebook's folder."""
        self.runs: Runs = Runs(self)
        self._link = link
        self._folder = folder
        self._pages = Pages()
        self._notebooks: dict[str, Path] = {}
        """The notebook of each session, where its page has named it."""
        self._apart = False

    @property
    def apart(self) -> bool:
        """Whether controls are heard while a cell is running."""
        return self._apart

    def notebook(self, session: str) -> Path | None:
        """The notebook of this session as it is named now, if its page has named it."""
        known = self._notebooks.get(session)
        return known if known and known.is_file() else None

    # ---- what pages are told

    @property
    def has_listeners(self) -> bool:
        """Whether a page has said hello."""
        return self._link is not None and self._pages.any

    def broadcast(self, message: FromKernel) -> None:
        """Tell all pages."""
        if self._link:
            self._link.send(plain(message))

    def assign_owner(self, run: LiveRun) -> None:
        """Give a run that nobody owns to the page of its calling cell, if that has said hello."""
        page = self._pages.of(run.session)
        if page and not run.owner:
            run.set_owner(page)

    def call(self, session: str) -> Callable[[], str]:
        """Tell the pages that a cell of this session calls; what waits for the id of its page, empty if none is there.

        The wait is over half a second after the call.
        """
        if self._link is None:
            return lambda: ""
        until = time.monotonic() + scale(HANDSHAKE_SECONDS)
        self._pages.called()
        self._open("call")
        return lambda: self._pages.expect(session, until=until)

    def clean(self, session: str, *, keep_solution: bool) -> bool:
        """Ask for the removal of explorations from the notebook of this session; whether a page shows it."""
        there = bool(self._pages.of(session))
        if there:
            self.broadcast(CleanMessage(session=session, keep_solution=keep_solution))
        return there

    def _open(self, reason: Literal["call", "hello"]) -> None:
        if self._link:
            with self._views() as views:
                self._link.open(plain(Opening(package=__version__, reason=reason, runs=views)))

    @contextmanager
    def _views(self) -> Iterator[list[RunView]]:
        """All runs as they stand, and stand still: an older view must not come after the news that a run has ended."""
        with ExitStack() as held:
            lives = [run.live for run in self.runs.all]
            for live in lives:
                held.enter_context(live.paused_updates)
            yield [live.view for live in lives]

    # ---- what pages ask for

    def nobody(self) -> None:
        """A front end has closed the events comm."""
        self._pages.nobody()

    def handle(self, data: object, answer: Answer) -> None:
        """Do what a control asks for, and answer it, whatever goes wrong."""
        self._apart = threading.current_thread() is not threading.main_thread()
        _surely(_number(data), answer, lambda: self._take(data, answer))

    def _take(self, data: object, answer: Answer) -> None:
        request = _number(data)
        if problem := _version_problem(data):
            return answer(plain(Done(request=request, problem=problem)))
        try:
            asked = control(data)
        except ValidationError:
            return answer(plain(Done(request=request, problem=f"The kernel does not know this request. {_UPDATE}")))
        match asked:
            case Hello():
                self._hello(asked, answer)
            case Here():
                self._pages.here(asked.page, asked.run)
            case _:
                self._take_for_run(asked, answer)

    def _hello(self, hello: Hello, answer: Answer) -> None:
        self._pages.hello(hello.page, hello.session)
        self._find_notebook(hello)
        for run in self.runs.all:
            self.assign_owner(run.live)  # a late one: without subshells the calling cell keeps it from being heard
        self._open("hello")
        traces = self._traces(hello.session)
        with self._views() as views:
            answer(plain(Welcome(request=hello.request, runs=views, traces=traces)))

    def _find_notebook(self, hello: Hello) -> None:
        """Note what the notebook is called now; the links of its runs lead from its folder."""
        notebook = served_notebook(hello.notebook)
        if notebook is None:
            return
        self._notebooks[hello.session] = notebook
        for run in self.runs.all:
            if run.live.session == hello.session:
                run.live.set_folder(notebook.parent)

    def _traces(self, session: str) -> list[TraceView]:
        shown = [run.state for run in self.runs.all if run.live.cell]
        traces = [state.trace for state in shown if state.trace]
        notebook = self.notebook(session)
        folder = notebook.parent if notebook else self._folder()
        before = list_runs(folder, but=traces, runs=[state.run_id for state in shown])
        return trace_views(before[:_MOST_TRACES], Reach(folder, server_root()))

    def _take_for_run(self, asked: RunControl, answer: Answer) -> None:
        run = self.runs.find(asked.run)
        if run is None:
            return answer(plain(Done(request=asked.request, problem="This kernel knows nothing of this run any more.")))
        match asked:
            case Sync():
                self._sync(run, asked, answer)
            case ExportTrace():
                _aside(asked.request, answer, lambda: answer(plain(_exported(run, asked.request))))
            case _:
                answer(plain(Done(request=asked.request, problem=apply_control(run, asked))))

    def _sync(self, run: Run, sync: Sync, answer: Answer) -> None:
        owner = run.live.owner
        if owner in ("", sync.page):
            return self._hand_over(run, sync, answer)
        _aside(sync.request, answer, lambda: self._ask_owner(run, sync, owner, answer))

    def _ask_owner(self, run: Run, sync: Sync, owner: str, answer: Answer) -> None:
        """Hand the run over unless its owner is still there, or it has another one by now."""
        ask = partial(self.broadcast, WhoMessage(run=run.live.key))
        if self._pages.answers(owner, run.live.key, ask, seconds=scale(_OWNER_SECONDS)) or run.live.owner != owner:
            return self._show(run, sync, answer)
        self._hand_over(run, sync, answer)

    def _hand_over(self, run: Run, sync: Sync, answer: Answer) -> None:
        run.live.set_owner(sync.page)
        self._show(run, sync, answer)

    def _show(self, run: Run, sync: Sync, answer: Answer) -> None:
        with run.live.paused_updates:
            answer(plain(run.live.snapshot(sync.request)))


def _exported(run: Run, request: int) -> Done:
    if run.state.trace is None:
        return Done(request=request, problem="There is no trace yet.")
    try:
        path = export_trace(Path(run.state.trace), "")
    except (ExploraError, OSError) as error:
        return Done(request=request, problem=str(error))
    return Done(request=request, said=f"Written: {path}", link=run.live.link(path))


def _aside(request: int, answer: Answer, deed: Callable[[], None]) -> None:
    threading.Thread(target=_surely, args=(request, answer, deed), daemon=True, name="explora-page").start()


def _surely(request: int, answer: Answer, deed: Callable[[], None]) -> None:
    """Do what answers a request; if it breaks, that is the answer: a page must not wait for ever."""
    try:
        deed()
    except Exception as error:
        said = f"The kernel could not do this: {type(error).__name__}: {error}".splitlines()[0]
        answer(plain(Done(request=request, problem=said)))


def _number(data: object) -> int:
    number = data.get("request") if isinstance(data, Mapping) else None
    return number if isinstance(number, int) else 0


def _version_problem(data: object) -> str:
    """Why a page with such a hello cannot be served, or nothing."""
    if not isinstance(data, Mapping) or data.get("type") != "hello" or data.get("version") == VERSION:
        return ""
    return f"JupyterLab's extension and the kernel's package do not fit together. {_UPDATE}"

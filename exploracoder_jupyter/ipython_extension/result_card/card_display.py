"""Displays of a run's state: a notebook's output area, a widget with a stop button, or the lines of a terminal.

In a notebook, one output is updated in place by its display id, which also works from a thread after its cell has
ended; it always contains plain text beside the HTML. The stop button is a separate output with a text fallback, and
needs ipywidgets; the panel does not depend on it. A terminal cannot update output, so each new piece of information is
written as a line.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import cast

from IPython.display import DisplayHandle, display

from exploracoder_jupyter.core.run_state import RunState
from exploracoder_jupyter.core.run_state.run_wording import candidate_line, cost, headline
from exploracoder_jupyter.ipython_extension.result_card.card import card_bundle
from exploracoder_jupyter.ipython_extension.user_variables import describe_replacement
from exploracoder_jupyter.protocol.browser_messages import ReplacedVariable
from exploracoder_jupyter.text.characters import without_controls

_ACCEPT = "To start as planned: %explora accept."
_WIDGET_VIEW = "application/vnd.jupyter.widget-view+json"


class NotebookDisplay:
    """One output of the calling cell, updated in place."""

    def __init__(
        self,
        *,
        hint: str,
        after: str,
        stop: Callable[[], None] | None = None,
        in_page: Callable[[], bool] = lambda: False,
        cells: bool = True,
        folder: Path | None = None,
        replaced: Callable[[RunState], Sequence[ReplacedVariable]] = lambda state: (),
    ) -> None:
        """Open the output.

        Args:
            hint: how to stop the run.
            after: what to do with a solution.
            stop: the action of the stop button; `None` if the cell waits for the end of the run.
            in_page: whether a page of this extension shows the run, which may start late: it has buttons of its own.
            cells: whether such a page shows the run as cells.
            folder: the folder of the notebook, if known.
            replaced: returns which of the user's variables the solution would replace; a page asks for itself.
        """
        self._hint = hint
        self._after = after
        self._stop = stop
        self._in_page = in_page
        self._cells = cells
        self._folder = folder
        self._replaced = replaced
        self._shown = self._bundle(RunState(), hint)
        self._handle = _open(self._shown)
        self._button: StopButton | None = None
        if stop and not in_page():
            with suppress(ImportError):  # without ipywidgets there is no button, and the card says how else to stop
                self._button = StopButton(stop)

    def show(self, state: RunState) -> None:
        """Update the output."""
        self._replace(self._bundle(state, f"{_ACCEPT} {self._hint}" if state.reviewing else self._hint))
        if self._in_page():
            self._take_button()

    def close(self, state: RunState) -> None:
        """Update the output and remove the button; an error that the cell itself raises is not shown twice."""
        already_shown = self._stop is None and bool(state.failure) and not state.trace
        warning, sentence = describe_replacement(() if self._in_page() else self._replaced(state))
        hint = " ".join(filter(None, [sentence, self._after if state.offered_solution else ""]))
        self._replace({"text/plain": ""} if already_shown else self._bundle(state, hint, warning))
        self._take_button()

    def _replace(self, bundle: dict[str, str]) -> None:
        """Show this if it is new: each update makes the notebook unsaved, and the page render the output again."""
        if bundle != self._shown:
            self._shown = bundle
            _update(self._handle, bundle)

    def _take_button(self) -> None:
        if self._button:
            self._button.close()
        self._button = None

    def _bundle(self, state: RunState, hint: str, warning: str = "") -> dict[str, str]:
        in_page = self._in_page()
        hint, warning = ("", "") if in_page else (hint, warning)
        cells = in_page and self._cells
        now, folder = time.time(), self._folder
        return card_bundle(state, now, hint, warning=warning, cells=cells, in_page=in_page, folder=folder)


class StopButton:
    """A button that stops the run. Its click reaches the kernel whenever no cell is running, as its caption states."""

    def __init__(self, stop: Callable[[], None]) -> None:
        from ipywidgets import HTML, Button, HBox

        self._stop = stop
        self._button = Button(description="Stop", icon="stop", tooltip="Finish now and keep what was learned")
        self._button.on_click(self._clicked)
        self._caption = HTML("<small>Acts as soon as no cell is running.</small>")
        self._box = HBox([self._button, self._caption])
        view = {"version_major": 2, "version_minor": 0, "model_id": self._box.model_id}
        bundle = {_WIDGET_VIEW: view, "text/plain": "To stop: %explora stop"}
        self._handle = _open(bundle)

    def close(self) -> None:
        """Remove the button from the page and from the kernel."""
        _update(self._handle, {"text/plain": ""})
        for widget in (self._box, self._button, self._caption):
            widget.close()

    def _clicked(self, _: object) -> None:
        self._button.disabled = True
        self._button.description = "Stopping"
        self._stop()


class LineDisplay:
    """Lines on standard output, each written once."""

    def __init__(self, *, replaced: Callable[[RunState], Sequence[ReplacedVariable]] = lambda state: ()) -> None:
        """`replaced` returns which of the user's variables the solution would replace."""
        self._written: set[str] = set()
        self._replaced = replaced

    def show(self, state: RunState) -> None:
        """Write what is new: the activity, notices, candidates that have ended."""
        self._write(headline(state))
        for notice in state.notices:
            self._write(notice.text)
        for row in (*state.planned, state.solution_section):
            for candidate in row.candidates:
                if candidate.state != "running":
                    self._write(f"  {candidate_line(candidate)}")

    def close(self, state: RunState) -> None:
        """Write what is new, what the solution would replace, the cost and the path of the trace."""
        self.show(state)
        for sentence in filter(None, describe_replacement(self._replaced(state))):
            self._write(sentence)
        self._write(f"{cost(state, time.time())}." + (f" Trace: {state.trace}" if state.trace else ""))

    def _write(self, line: str) -> None:
        if line not in self._written:
            self._written.add(line)
            sys.stdout.write(f"{without_controls(line)}\n")
            sys.stdout.flush()


def _open(bundle: Mapping[str, object]) -> DisplayHandle:
    return cast(DisplayHandle, display(bundle, raw=True, display_id=True))  # type: ignore[no-untyped-call]


def _update(handle: DisplayHandle, bundle: Mapping[str, object]) -> None:
    handle.update(bundle, raw=True)  # type: ignore[no-untyped-call]

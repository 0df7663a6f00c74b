"""The two comms to the pages: events go out, controls come in. See `page` for what is said on them.

Light to import, for it is there from `%load_ext` on; what controls mean is found out at the first one. They arrive on
the thread of a subshell where the kernel has subshells, else on the main thread. An answer may come from any thread,
but is sent in the context of its control: the kernel routes a page's next message to the subshell of the context in
which it last sent on that comm, and without one that is the main thread, which may be busy.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from contextvars import copy_context
from typing import Any, Protocol

EVENTS = "exploracoder_jupyter:events:v1"
CONTROL = "exploracoder_jupyter:control:v1"
"""As in `page`, which is too heavy for `%load_ext`; a test holds them together."""

Data = dict[str, Any]
Answer = Callable[[Data], None]
"""Sends the answer to a control, from any thread. Never raises."""

_log = logging.getLogger(__name__)
_log.addHandler(logging.NullHandler())  # else what is logged would reach the cell that is running


class ControlHandler(Protocol):
    """Where controls are dealt with."""

    def handle(self, data: object, answer: Answer) -> None:
        """Do what a control asks for, soon; the answer may come later."""
        ...

    def nobody(self) -> None:
        """A front end has closed the events comm: it knows nothing of it."""
        ...


class BrowserComms:
    """The comms of one kernel."""

    def __init__(self, desk: Callable[[], ControlHandler]) -> None:
        """`desk` gives the desk; it is asked for at each control, and may be slow at the first."""
        self._desk = desk
        self._events: Any = None
        self._controls: set[Any] = set()
        self._sending = threading.RLock()

    def register(self) -> None:
        """Let pages open their control comm."""
        import comm

        comm.get_comm_manager().register_target(CONTROL, self._opened)

    def unregister(self) -> None:
        """Hear nothing more, and close all comms: a page that still wants to be heard connects again."""
        import comm

        comm.get_comm_manager().targets.pop(CONTROL, None)
        with self._sending:
            events, self._events = self._events, None
        for old in (events, *self._controls):
            _quietly(old.close if old else None)
        self._controls.clear()

    def open(self, opening: Data) -> None:
        """Open the events comm, for all pages again if it is open. Never raises.

        It stays the same comm: to close one that a reloaded page never had is an error in that page's console.
        """
        import comm

        def publish() -> None:
            if self._events is None:
                self._events = comm.create_comm(target_name=EVENTS, data=opening)
                self._events.on_close(lambda _: self._refused(self._events))
            else:
                self._events.open(data=opening)

        with self._sending:
            _quietly(publish)

    def send(self, message: Data) -> None:
        """Tell all pages; from any thread, in the order of the calls. Never raises."""
        with self._sending:
            if self._events is not None:
                _quietly(lambda: self._events.send(message))

    def _refused(self, comm: Any) -> None:
        if comm is self._events:
            _quietly(lambda: self._desk().nobody())

    def _opened(self, comm: Any, message: Data) -> None:
        """A page opens its control comm; the first control may come along."""
        # Not by `on_msg`: that runs the shell's hooks around each message, on this thread, amid the running cell's
        # work; a figure that the cell is drawing would be shown and closed half done.
        comm.handle_msg = lambda said: self._heard(comm, said)
        comm.on_close(lambda _: self._controls.discard(comm))
        self._controls.add(comm)
        if message["content"].get("data"):
            self._heard(comm, message)

    def _heard(self, comm: Any, message: Data) -> None:
        context = copy_context()
        _quietly(
            lambda: self._desk().handle(
                message["content"].get("data"), lambda data: _quietly(lambda: context.copy().run(comm.send, data))
            )
        )


def _quietly(deed: Callable[[], object] | None) -> None:
    """Do it; what goes wrong is no concern of the user's cell: the kernel may be going down, or a page is odd."""
    if deed is None:
        return
    try:
        deed()
    except Exception:
        _log.debug("on a comm", exc_info=True)

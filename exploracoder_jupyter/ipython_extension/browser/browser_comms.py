"""The two comms to the browser pages: one sends events, one receives controls. `protocol.browser_messages` has both.

Light to import, because it is loaded with `%load_ext`; the handler of controls is created at the first one. Controls
arrive on the thread of a subshell if the kernel has subshells, otherwise on the main thread. An answer may be sent from
any thread, but is sent in the context of its control: the kernel routes a page's next message to the subshell of the
context in which it last sent on that comm. Without such a context that is the main thread, which may be busy.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from contextvars import copy_context
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from exploracoder_jupyter.ipython_extension.browser.browser_controls import Controls

EVENTS = "exploracoder_jupyter:events:v1"
CONTROL = "exploracoder_jupyter:control:v1"
"""As in `protocol.browser_messages`, which is too heavy for `%load_ext`; a test compares them."""

Data = dict[str, Any]
Answer = Callable[[Data], None]
"""Sends the answer to a control, from any thread. Never raises."""

_log = logging.getLogger(__name__)
_log.addHandler(logging.NullHandler())  # otherwise log records would appear in the output of the running cell


class BrowserComms:
    """The comms of one kernel."""

    def __init__(self, get_handler: Callable[[], Controls]) -> None:
        """`get_handler` is called for each control, and may be slow the first time."""
        self._get_handler = get_handler
        self._events: Any = None
        self._controls: set[Any] = set()
        self._sending = threading.RLock()

    def register(self) -> None:
        """Let pages open their control comm."""
        import comm

        comm.get_comm_manager().register_target(CONTROL, self._handle_open)

    def unregister(self) -> None:
        """Stop receiving controls and close all comms; a page that still wants to send controls connects again."""
        import comm

        comm.get_comm_manager().targets.pop(CONTROL, None)
        with self._sending:
            events, self._events = self._events, None
        for old in filter(None, (events, *self._controls)):
            _log_errors(old.close)
        self._controls.clear()

    def open(self, opening: Data) -> None:
        """Open the events comm; if it is open, open it again for all pages. Never raises.

        It stays the same comm: closing one that a reloaded page never had is an error in that page's console.
        """
        import comm

        def publish() -> None:
            if self._events is None:
                self._events = comm.create_comm(target_name=EVENTS, data=opening)
                self._events.on_close(lambda _: self._handle_events_closed(self._events))
            else:
                self._events.open(data=opening)

        with self._sending:
            _log_errors(publish)

    def send(self, message: Data) -> None:
        """Send to all pages; from any thread, in the order of the calls. Never raises."""
        with self._sending:
            if self._events is not None:
                _log_errors(lambda: self._events.send(message))

    def _handle_events_closed(self, comm: Any) -> None:
        if comm is self._events:
            _log_errors(lambda: self._get_handler().handle_events_closed())

    def _handle_open(self, comm: Any, message: Data) -> None:
        """Accept the control comm of a page; the first control may come with it."""
        # Not `on_msg`, which runs the shell's hooks around each message, on this thread, while the user's cell is
        # running: a figure that the cell is drawing would be shown and closed half done.
        comm.handle_msg = lambda control: self._handle_control(comm, control)
        comm.on_close(lambda _: self._controls.discard(comm))
        self._controls.add(comm)
        if message["content"].get("data"):
            self._handle_control(comm, message)

    def _handle_control(self, comm: Any, message: Data) -> None:
        context = copy_context()
        _log_errors(
            lambda: self._get_handler().handle(
                message["content"].get("data"), lambda data: _log_errors(lambda: context.copy().run(comm.send, data))
            )
        )


def _log_errors(function: Callable[[], object]) -> None:
    """Call the function; its errors must not reach the user's cell: a page may send anything."""
    try:
        function()
    except Exception:
        _log.debug("on a comm", exc_info=True)

"""The end of a ZeroMQ context, which must not hold up the end of a run."""

from __future__ import annotations

import threading
from typing import Final

import zmq.asyncio

_SECONDS: Final = 2.0


def end_context(context: zmq.asyncio.Context) -> None:
    """Close its sockets and terminate it, or let go of it: for a socket that could not be made whole, as when no
    descriptors are left, it would wait for ever."""
    ending = threading.Thread(target=context.destroy, kwargs={"linger": 0}, daemon=True, name="end-of-context")
    ending.start()
    ending.join(_SECONDS)

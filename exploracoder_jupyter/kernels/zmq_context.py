"""Terminates a ZeroMQ context without delaying the end of a run."""

from __future__ import annotations

import threading
from typing import Final

import zmq.asyncio

_SECONDS: Final = 2.0


def close_context(context: zmq.asyncio.Context) -> None:
    """Close the sockets of the context and terminate it. Gives up after two seconds: with an incomplete socket, as when
    descriptors run out, terminating would wait forever."""
    ending = threading.Thread(target=context.destroy, kwargs={"linger": 0}, daemon=True, name="end-of-context")
    ending.start()
    ending.join(_SECONDS)

"""How long to wait before a request to an endpoint is sent again."""

from __future__ import annotations

import random
from typing import Final

from exploracoder_jupyter.llm.endpoint.endpoint_error_messages import Fault

_BACKOFF: Final = 0.5
"""Seconds before the first retry; doubles with each retry."""
_MAX_BACKOFF: Final = 8.0


def retry_delay(fault: Fault, retry: int) -> float:
    """Return the seconds to wait before this retry, counted from 1: what the server asks for, else the backoff."""
    backoff = min(_BACKOFF * 2 ** (retry - 1), _MAX_BACKOFF)
    return fault.retry_after or backoff * random.uniform(0.75, 1)

"""How long to wait before a request to an endpoint is sent again."""

from __future__ import annotations

import email.utils
import math
import random
import time
from collections.abc import Mapping
from typing import Final

from exploracoder_jupyter.llm.endpoint.fault_messages import Fault

_BACKOFF: Final = 0.5
"""Seconds before the first retry; doubles with each retry."""
_MAX_BACKOFF: Final = 8.0


def retry_delay(fault: Fault, retry: int, limit: float) -> float | None:
    """Return the seconds to wait before this retry, counted from 1: what the server asks for, else the backoff.

    `None` if that would be longer than `limit` seconds: then the request is not sent again.
    """
    backoff = min(_BACKOFF * 2 ** (retry - 1), _MAX_BACKOFF)
    seconds = fault.retry_after or backoff * random.uniform(0.75, 1)
    return seconds if seconds <= limit else None


def requested_delay(headers: Mapping[str, str]) -> float | None:
    """Return the seconds that the headers of a response request to wait; `None` if they do not."""
    header = headers.get("retry-after", "")
    seconds = _parse_number(headers.get("retry-after-ms", "")) / 1000
    if math.isnan(seconds):
        seconds = _parse_number(header)
    if math.isnan(seconds) and (date := email.utils.parsedate_tz(header)):
        seconds = email.utils.mktime_tz(date) - time.time()
    return seconds if 0 < seconds < math.inf else None


def _parse_number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan

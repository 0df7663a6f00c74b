"""Osterly: a client for shelves of entries, with a service that runs in the same process.

Prices and all other amounts are in cents, moments are minutes since the beginning of 2000.
"""

from osterly._client import Client, connect
from osterly._entries import Brief, Entry, Link, Revision
from osterly._errors import (
    BadQuery,
    BatchFull,
    Binned,
    Conflict,
    CursorExpired,
    Forbidden,
    NoSuchEntry,
    NotReady,
    OsterlyError,
    Throttled,
)
from osterly._jobs import Batch, Bundle, Job, Receipt, Rejected, Report
from osterly._moments import minutes, moment
from osterly._pages import Page
from osterly._service import Service
from osterly._session import Session

__version__ = "4.2"

__all__ = [
    "BadQuery",
    "Batch",
    "BatchFull",
    "Binned",
    "Brief",
    "Bundle",
    "Client",
    "Conflict",
    "CursorExpired",
    "Entry",
    "Forbidden",
    "Job",
    "Link",
    "NoSuchEntry",
    "NotReady",
    "OsterlyError",
    "Page",
    "Receipt",
    "Rejected",
    "Report",
    "Revision",
    "Service",
    "Session",
    "Throttled",
    "connect",
    "minutes",
    "moment",
]

"""Drovel: drives through which items pass, one stage after the other."""

from drovel._drive import Drive
from drovel._errors import BadPath, BadSchema, DroveFault, DrovelError, LateItem, Missing, Unfit, Unsealed
from drovel._flow import Flow, Gauge, SealedDrive, Yield
from drovel._keyed import KeyedDrive
from drovel._routed import RoutedDrive
from drovel._times import span
from drovel._values import DROP, Batch, Fault, Keyed, Spill, Window

__version__ = "3.0"

__all__ = [
    "DROP",
    "BadPath",
    "BadSchema",
    "Batch",
    "Drive",
    "DroveFault",
    "DrovelError",
    "Fault",
    "Flow",
    "Gauge",
    "Keyed",
    "KeyedDrive",
    "LateItem",
    "Missing",
    "RoutedDrive",
    "SealedDrive",
    "Spill",
    "Unfit",
    "Unsealed",
    "Window",
    "Yield",
    "span",
]

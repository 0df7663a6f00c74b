"""Drovel: drives through which items pass, one stage after the other."""

from drovel.drive import Drive
from drovel.errors import BadPath, BadSchema, DroveFault, DrovelError, LateItem, Missing, Unfit, Unsealed
from drovel.flow import Flow, Gauge, SealedDrive, Yield
from drovel.keyed import KeyedDrive
from drovel.routed import RoutedDrive
from drovel.times import span
from drovel.values import DROP, Batch, Fault, Keyed, Spill, Window

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

"""Quernal: small tables with units and gaps.

>>> import quernal
>>> crates = quernal.Sheaf.from_rows([{"crate": "a", "mass": 12}, {"crate": "b"}], units={"mass": "kg"})
>>> crates.height
2
"""

from quernal.bunches import Bunches
from quernal.draft import Draft
from quernal.errors import BadCondition, NoSuchStrip, QuernalError, UnitClash, Unsettled
from quernal.gap import GAP
from quernal.sheaf import Sheaf, stack
from quernal.strip import Strip

__version__ = "2.1"

__all__ = [
    "GAP",
    "BadCondition",
    "Bunches",
    "Draft",
    "NoSuchStrip",
    "QuernalError",
    "Sheaf",
    "Strip",
    "UnitClash",
    "Unsettled",
    "stack",
]

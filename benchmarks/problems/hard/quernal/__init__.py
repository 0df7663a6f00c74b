"""Quernal: small tables with units and gaps.

>>> import quernal
>>> crates = quernal.Sheaf.from_rows([{"crate": "a", "mass": 12}, {"crate": "b"}], units={"mass": "kg"})
>>> crates.height
2
"""

from quernal._bunches import Bunches
from quernal._draft import Draft
from quernal._errors import BadCondition, NoSuchStrip, QuernalError, UnitClash, Unsettled
from quernal._gap import GAP
from quernal._sheaf import Sheaf, stack
from quernal._strip import Strip

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

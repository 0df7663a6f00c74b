"""NumPy arrays and scalars, and SciPy's sparse arrays."""

from __future__ import annotations

from exploracoder_jupyter.inside.summaries.facts import Family

FAMILY = Family({})

"""Values of the interpreter itself and of its standard library."""

from __future__ import annotations

from exploracoder_jupyter.inside.summaries.facts import Family

FAMILY = Family({})

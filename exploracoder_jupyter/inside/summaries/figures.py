"""Matplotlib: figures and axes."""

from __future__ import annotations

from exploracoder_jupyter.inside.summaries.facts import Family

FAMILY = Family({})

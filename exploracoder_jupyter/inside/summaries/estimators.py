"""scikit-learn: estimators and pipelines."""

from __future__ import annotations

from exploracoder_jupyter.inside.summaries.facts import Family

FAMILY = Family({})

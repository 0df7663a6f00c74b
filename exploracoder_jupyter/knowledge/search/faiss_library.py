"""Loads FAISS at the first search, and only in processes that search: never in the user's kernel.

Its import takes a tenth of a second and starts a pool of threads, which a fork does not survive. Where it cannot be
loaded, numpy computes the same scores, and that is said once.
"""

from __future__ import annotations

import logging
from functools import cache
from typing import Any

_MISSING = (
    "FAISS cannot be loaded (%s); searches use numpy instead and are slower in large indexes. Install faiss-cpu again."
)


@cache
def load_faiss() -> Any | None:
    """Return the module, limited to one thread; None where it cannot be loaded, which is logged once."""
    try:
        import faiss
    except (ImportError, OSError, AttributeError) as error:  # also of a build for another version of numpy
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        logging.getLogger(__name__).warning(_MISSING, reason)
        return None
    faiss.omp_set_num_threads(1)
    return faiss

"""The environment variables that a sibling gets: an allow-list.

A variable passes if it is listed and neither its name nor its value looks like a secret.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import Final

from exploracoder_jupyter.core.secrets.secret_names import is_secret_variable

_ALLOWED: Final = re.compile(
    r"PATH|HOME|USER|LOGNAME|SHELL|LANG|LANGUAGE|LC_\w+|TZ|TERM|"
    r"VIRTUAL_ENV|CONDA_(PREFIX|DEFAULT_ENV|EXE|PYTHON_EXE|SHLVL)|PYTHON(PATH|HOME|HASHSEED|UTF8|IOENCODING|WARNINGS)|"
    r"(DY)?LD_LIBRARY_PATH|LD_PRELOAD|(OMP|MKL|OPENBLAS|NUMEXPR|NUMBA|RAYON|POLARS|VECLIB)_\w+|"
    r"CUDA\w*|NVIDIA_\w+|ROCM_\w+|HIP_\w+|XLA_\w+|JAX_\w+|TF_(CPP|XLA|ENABLE|FORCE|GPU|NUM)_\w+|KERAS_(BACKEND|HOME)|"
    r"MPL(CONFIGDIR|STYLE)|FONTCONFIG_\w+|XDG_(CACHE|CONFIG|DATA)_(HOME|DIRS)|XDG_DATA_DIRS|"
    r"HF_(HOME|HUB_CACHE|HUB_OFFLINE|DATASETS_CACHE)|TORCH_HOME|NLTK_DATA|SCIKIT_LEARN_DATA|"
    r"JAVA_HOME|SPARK_HOME|R_HOME|JULIA_DEPOT_PATH|GDAL_\w+|PROJ_\w+|GEOS_\w+|"
    r"SSL_CERT_(FILE|DIR)|REQUESTS_CA_BUNDLE|CURL_CA_BUNDLE|NIX_\w+|LOCALE_ARCHIVE"
)
_PROXIES: Final = re.compile(r"(HTTP|HTTPS|NO|ALL)_PROXY", re.IGNORECASE)
_THREADS: Final = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS")
_MAX_THREADS: Final = 4


def allowed_environment(environ: Mapping[str, str], *, network: bool) -> dict[str, str]:
    """Return the variables that a sibling gets; numerical libraries use few threads unless the user sets more.

    Several siblings run at once, and each thread of a numerical library reserves memory that counts as used.
    """
    passed = {name: value for name, value in environ.items() if _is_allowed(name, value, network=network)}
    threads = str(max(1, min(_MAX_THREADS, os.cpu_count() or 1)))
    return {**dict.fromkeys(_THREADS, threads), **passed}


def _is_allowed(name: str, value: str, *, network: bool) -> bool:
    if is_secret_variable(name, value):
        return False
    return bool(_ALLOWED.fullmatch(name)) or (network and bool(_PROXIES.fullmatch(name)))

"""Prints what this interpreter is and has, as one line of JSON."""

from __future__ import annotations

import json
import os
import platform
import sys
import time
from importlib import metadata

from exploracoder_jupyter.inside.docs_walk import normal


def environment() -> dict[str, str | list[str]]:
    """Python version, platform, the seed of hashes, the time zone, and the installed distributions as sorted
    `name==version` lines: of one that is there twice, the version that is imported."""
    found: dict[str, str] = {}
    for distribution in metadata.distributions():
        name, version = distribution.metadata["Name"], distribution.metadata["Version"]
        if name and version:
            found.setdefault(normal(name), f"{name}=={version}")
    return {
        "python": platform.python_version(),
        "platform": platform.platform(),
        "hash_seed": "random" if sys.flags.ignore_environment else os.environ.get("PYTHONHASHSEED") or "random",
        "time_zone": time.strftime("%Z%z"),
        "packages": sorted(found.values(), key=str.lower),
    }


if __name__ == "__main__":
    print(json.dumps(environment()))

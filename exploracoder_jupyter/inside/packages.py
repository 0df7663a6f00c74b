"""Prints what this interpreter is and has, as one line of JSON."""

from __future__ import annotations

import json
import platform
from importlib import metadata


def environment() -> dict[str, str | list[str]]:
    """Python version, platform, and the installed distributions as sorted `name==version` lines."""
    found = set()
    for distribution in metadata.distributions():
        name = distribution.metadata["Name"]
        if name:
            found.add(f"{name}=={distribution.version}")
    return {
        "python": platform.python_version(),
        "platform": platform.platform(),
        "packages": sorted(found, key=str.lower),
    }


if __name__ == "__main__":
    print(json.dumps(environment()))

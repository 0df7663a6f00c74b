"""Prints this interpreter's version, platform and packages as one line of JSON."""

from __future__ import annotations

import json
import os
import platform
import sys
import time
from importlib import metadata

from exploracoder_jupyter.kernel_agent.introspection.installed_libraries import metadata_field, normalize_name
from exploracoder_jupyter.kernel_agent.introspection.public_names import PACKAGER


def describe_environment() -> dict[str, str | list[str]]:
    """Describe this interpreter's environment.

    Contains the Python version, platform, hash seed, time zone, the installed distributions as sorted `name==version`
    lines, and the names of those that came from no index. If a distribution is installed twice, the version that is
    imported counts.
    """
    packages: dict[str, str] = {}
    unindexed: list[str] = []
    for distribution in metadata.distributions():
        name, version = metadata_field(distribution, "Name"), metadata_field(distribution, "Version")
        if name and version and normalize_name(name) not in packages:
            packages[normalize_name(name)] = f"{name}=={version}"
            # Installed from a folder, an archive or a repository (PEP 610).
            installer = (distribution.read_text("INSTALLER") or "").strip()
            if distribution.read_text("direct_url.json") is not None and installer != PACKAGER:
                unindexed.append(name)
    return {
        "python": platform.python_version(),
        "platform": platform.platform(),
        "hash_seed": "random" if sys.flags.ignore_environment else os.environ.get("PYTHONHASHSEED") or "random",
        "time_zone": time.strftime("%Z%z"),
        "packages": sorted(packages.values(), key=str.lower),
        "unindexed": sorted(unindexed, key=str.lower),
    }


if __name__ == "__main__":
    print(json.dumps(describe_environment()))

"""Checks that libraries are installed, and traces can be written, before the slow imports of a run or a search."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from exploracoder_jupyter.core.configuration.options import settings_layer


def check_installed(libraries: Sequence[str], arguments: argparse.Namespace) -> None:
    """Check that the libraries of a command are installed; do nothing if this interpreter cannot determine it."""
    from exploracoder_jupyter.core.configuration.sources import resolve
    from exploracoder_jupyter.core.required_libraries import check_libraries

    check_libraries(libraries, resolve(settings_layer(arguments)), workdir=Path.cwd())


def check_writable(arguments: argparse.Namespace) -> None:
    """Check that the trace of a run can be written."""
    from exploracoder_jupyter.core.configuration.sources import resolve
    from exploracoder_jupyter.core.required_libraries import check_trace_folder

    check_trace_folder(resolve(settings_layer(arguments)), Path.cwd())

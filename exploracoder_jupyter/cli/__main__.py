"""Runs the command with `python -m exploracoder_jupyter.cli`."""

import sys

from exploracoder_jupyter.cli import main

sys.exit(main())

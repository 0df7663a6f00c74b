"""`python -m exploracoder_jupyter.cli`: the same command, in this interpreter."""

import sys

from exploracoder_jupyter.cli import main

sys.exit(main())

"""Entry point of the zip that is sent to other interpreters: `python inside.zip LIMITS MODULE ARGUMENT...`.

Sets the limits (JSON, see `resource_limits.apply`; `filter` is a system call filter in base64, if there is one), then
runs the
module of this folder that has that name as the main program.
The zip holds this folder under its usual package path, so that modules find one another there as they do here. The
working directory comes last on the import path, so that a `queue.py` in it is not taken for the real one; a kernel puts
it where notebooks have it, when its own imports are done.
"""

import base64
import json
import runpy
import sys
from typing import Any

from exploracoder_jupyter.kernel_agent.confinement import resource_limits


def confine(bounds: dict[str, Any]) -> None:
    """Bound this process and all that it starts, for good."""
    program = bounds.pop("filter", None)
    resource_limits.apply(bounds)
    if program:
        from exploracoder_jupyter.kernel_agent.confinement import syscalls  # Linux's alone

        syscalls.install_program(base64.b64decode(program))


if __name__ == "__main__":
    confine(json.loads(sys.argv[1]))
    module = sys.argv[2]
    del sys.argv[1:3]
    if module != "kernel_startup":
        sys.path.append("")
    runpy.run_module(f"exploracoder_jupyter.kernel_agent.{module}", run_name="__main__", alter_sys=True)

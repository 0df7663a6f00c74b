"""Entry point of the zip that is sent to other interpreters: `python kernel_agent.zip LIMITS MODULE ARGUMENT...`.

Applies the limits (JSON, see `resource_limits.apply`; the optional `filter` is a system call filter in base64), then
runs the module of that name in this package as the main program. The zip contains this package under its usual path, so
that imports between modules work unchanged. The working directory comes last on the import path, so that a `queue.py`
in it does not shadow the standard one; a kernel moves it to the position it has in notebooks after its own imports.
"""

import base64
import json
import runpy
import sys

from exploracoder_jupyter.kernel_agent.confinement import resource_limits

if __name__ == "__main__":
    limits = json.loads(sys.argv[1])
    program = limits.pop("filter", None)
    resource_limits.apply(limits)
    if program:
        from exploracoder_jupyter.kernel_agent.confinement import linux_calls  # Linux only

        linux_calls.install_program(base64.b64decode(program))
    module = sys.argv[2]
    del sys.argv[1:3]
    if module != "kernel_startup":
        sys.path.append("")
    runpy.run_module(f"exploracoder_jupyter.kernel_agent.{module}", run_name="__main__", alter_sys=True)

"""Makes this interpreter a sibling: an IPython kernel with bounded output that tells what its cells have done.

Started as `python inside.zip LIMITS startup OPTIONS KERNEL_ARGUMENT...`; OPTIONS is JSON: `output` (characters in one
message), `variables` (a folder written by `variable_transfer.dump`, or null), `pickled` (whether it may hold
pickles), `reap`
(adopt orphans, where no process namespace keeps them), `forks` (have a function that forks this kernel). After
start-up nothing of ours is in the way of what the cells import.
"""

from __future__ import annotations

import functools
import json
import sys
from typing import Any

from exploracoder_jupyter.kernel_agent import variable_transfer
from exploracoder_jupyter.kernel_agent.confinement import lifeline, resource_limits
from exploracoder_jupyter.kernel_agent.forking import kernel_fork
from exploracoder_jupyter.kernel_agent.reporting import bounded_output, cell_report


def serve(options: dict[str, Any], arguments: list[str]) -> None:
    """Run the kernel until it is shut down."""
    resource_limits.lead_own_group()
    lifeline.hold()
    if options.get("reap"):
        resource_limits.adopt_orphans()
    _stand_alone()
    from ipykernel.kernelapp import IPKernelApp

    bounded_output.Bounds(options["output"]).install()
    app: Any = IPKernelApp.instance()
    app.initialize(arguments)
    if options.get("variables"):
        app.shell.user_ns.update(variable_transfer.load(options["variables"], pickled=options.get("pickled", False)))
    cell_report.Aftermath.of(app.shell)
    if options.get("forks"):
        app.shell.explora_fork = functools.partial(kernel_fork.fork, app.shell)
    app.start()


def _stand_alone() -> None:
    """Leave nothing of ours on the import path: `sys.path[0]` is the zip that this process was started from."""
    del sys.path[0]
    for name in [name for name in sys.modules if name.split(".")[0] == "exploracoder_jupyter"]:
        del sys.modules[name]


if __name__ == "__main__":
    serve(json.loads(sys.argv[1]), sys.argv[2:])

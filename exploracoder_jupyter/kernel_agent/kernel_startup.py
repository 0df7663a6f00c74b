"""Runs this interpreter as a sibling: an IPython kernel with limited output that reports what its cells have done.

Started as `python kernel_agent.zip LIMITS kernel_startup OPTIONS KERNEL_ARGUMENT...`. OPTIONS is JSON: `output`
(characters in one message), `variables` (a folder written by `variable_encoding.dump`, or null), `pickled` (whether it
may contain pickles), `reap` (adopt orphans, for use without a process namespace), `forks` (provide a function that
forks this kernel). After start-up this package does not affect what the cells import.
"""

from __future__ import annotations

import functools
import json
import sys
from typing import Any

from exploracoder_jupyter.kernel_agent import variable_decoding
from exploracoder_jupyter.kernel_agent.confinement import exit_with_starter
from exploracoder_jupyter.kernel_agent.reporting import bounded_output, cell_report


def serve(options: dict[str, Any], arguments: list[str]) -> None:
    """Run the kernel until it is shut down."""
    exit_with_starter.watch_starter()
    if options.get("reap") and sys.platform.startswith("linux"):
        from exploracoder_jupyter.kernel_agent.confinement import linux_calls

        linux_calls.adopt_orphans()
    if options.get("forks"):
        from exploracoder_jupyter.kernel_agent.forking import kernel_fork  # before the zip is gone
    del sys.path[0]  # the zip that this process was started from
    for name in [name for name in sys.modules if name.split(".")[0] == "exploracoder_jupyter"]:
        del sys.modules[name]
    from ipykernel.kernelapp import IPKernelApp

    bounded_output.OutputLimits(options["output"]).install()
    app: Any = IPKernelApp.instance()
    app.initialize(arguments)
    reporter = cell_report.CellReporter.of(app.shell)
    if options.get("variables"):
        reporter.unloaded = variable_decoding.load(
            options["variables"], app.shell.user_ns, pickled=options.get("pickled", False), mapped=True
        )
    sys.argv[:] = [""]  # code that reads its arguments has none
    if options.get("forks"):
        app.shell.explora_fork = functools.partial(kernel_fork.fork, app.shell)
    app.start()


if __name__ == "__main__":
    serve(json.loads(sys.argv[1]), sys.argv[2:])

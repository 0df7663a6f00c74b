"""Runs another program of this package, tied to its starter (`lifeline`): `... confinement.bound_process MODULE ...`.

For programs that nothing else would end if their starter is killed; kernels set up their own lifeline, at another time.
"""

from __future__ import annotations

import runpy
import sys

from exploracoder_jupyter.kernel_agent.confinement import child_processes, exit_with_starter

if __name__ == "__main__":
    child_processes.lead_own_group()
    exit_with_starter.watch_starter()
    module = sys.argv.pop(1)
    runpy.run_module(f"exploracoder_jupyter.kernel_agent.{module}", run_name="__main__", alter_sys=True)

"""Runs another program of this folder, tied to whoever started it (`lifeline`): `... tied MODULE ARGUMENT...`.

For programs that nobody ends when their starter is killed; a kernel ties itself, at a moment of its own.
"""

from __future__ import annotations

import runpy
import sys

from exploracoder_jupyter.kernel_agent.confinement import lifeline, resource_limits

if __name__ == "__main__":
    resource_limits.lead_own_group()
    lifeline.hold()
    module = sys.argv.pop(1)
    runpy.run_module(f"exploracoder_jupyter.kernel_agent.{module}", run_name="__main__", alter_sys=True)

"""What is sent to kernels elsewhere can be compiled there, and the code of this package in it is used."""

import subprocess
import sys

from exploracoder_jupyter.core.configuration.sandbox_settings import Sandbox
from exploracoder_jupyter.kernel_agent import adopted_kernel
from exploracoder_jupyter.kernels.interpreter import write_agent_archive
from exploracoder_jupyter.kernels.remote.remote_payload import build_payload


def test_the_code_that_a_kernel_runs_compiles_and_calls_what_exists():
    *_, unpack = build_payload(None, Sandbox(), silence_limit=1.0).code()
    assert "adopt" in compile(unpack, "unpack", "exec").co_consts[0].co_names
    assert callable(adopted_kernel.adopt)


def test_the_archive_is_imported_even_where_the_package_is_installed(tmp_path):
    archive = write_agent_archive(tmp_path / "kernel_agent.zip")
    program = f"import sys; sys.path.insert(0, {str(archive)!r}); import exploracoder_jupyter.kernel_agent as it; "
    done = subprocess.run([sys.executable, "-c", f"{program}print(it.__file__)"], capture_output=True, text=True)
    assert done.stdout.startswith(str(archive))

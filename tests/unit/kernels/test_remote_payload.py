"""The code of this package that is sent to kernels is used there."""

import subprocess
import sys

from exploracoder_jupyter.kernels.agent import write_agent_archive


def test_the_archive_precedes_an_installed_package(tmp_path):
    archive = write_agent_archive(tmp_path / "kernel_agent.zip")
    program = f"import sys; sys.path.insert(0, {str(archive)!r}); import exploracoder_jupyter.kernel_agent as it; "
    done = subprocess.run([sys.executable, "-c", f"{program}print(it.__file__)"], capture_output=True, text=True)
    assert done.stdout.startswith(str(archive))

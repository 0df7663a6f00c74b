"""The provisioner of forks: what a kernelspec may say."""

import pytest

from exploracoder_jupyter.core.errors import KernelError
from exploracoder_jupyter.provisioner import ForkProvisioner


@pytest.mark.anyio
@pytest.mark.parametrize("sandbox", [{"memory_mb": 1}, {"memory_mb": "much"}, {"netwrok": True}])
async def test_a_sandbox_that_is_not_valid_is_refused(sandbox):
    provisioner = ForkProvisioner(connection_file="kernel.json", sandbox=sandbox)
    with pytest.raises(KernelError, match=r"config\.sandbox is not valid"):
        await provisioner.launch_kernel([])

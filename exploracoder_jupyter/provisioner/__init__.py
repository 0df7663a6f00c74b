"""Forks of running kernels as kernels that any Jupyter client can start.

`ForkProvisioner` is registered as `explora-fork` in the group `jupyter_client.kernel_provisioners`: with it, whatever
starts kernels through jupyter_client (nbclient, Jupyter Server) starts forks of a kernel that is running. `open_fork`
is the same without a kernel manager. How a fork is made is the business of `execution`; here it is asked for by Jupyter
messages, and given an address that outlives it.
"""

from exploracoder_jupyter.provisioner.fork_provisioner import ForkProvisioner
from exploracoder_jupyter.provisioner.fork_server import Served, open_fork
from exploracoder_jupyter.provisioner.kernel_requests import RunningKernel

__all__ = ["ForkProvisioner", "RunningKernel", "Served", "open_fork"]

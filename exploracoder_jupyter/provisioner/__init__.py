"""Forks of running kernels, as kernels that any Jupyter client can start.

`ForkProvisioner` is registered as `explora-fork` in the group `jupyter_client.kernel_provisioners`. With it, any
program that starts kernels through jupyter_client (nbclient, Jupyter Server) can start forks of a running kernel.
`open_fork` does the same without a kernel manager. The package `kernels` makes the forks; this package requests them
by Jupyter messages and gives each an address that survives a restart.
"""

from exploracoder_jupyter.provisioner.fork_provisioner import ForkProvisioner, ForkServer, open_fork

__all__ = ["ForkProvisioner", "ForkServer", "open_fork"]

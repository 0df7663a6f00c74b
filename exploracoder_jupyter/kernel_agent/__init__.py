"""Code that runs inside kernels: standard library only, imports nothing of the rest, sent there as a zip."""

"""Code that runs inside kernels, sent there as a zip: standard library only, imports no other part of the package."""

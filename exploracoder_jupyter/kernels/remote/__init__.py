"""Siblings on another machine, behind a Jupyter Server or Kernel Gateway."""

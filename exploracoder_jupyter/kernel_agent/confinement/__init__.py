"""Confinement of a process before it runs code of a model, and its termination with the process that started it."""

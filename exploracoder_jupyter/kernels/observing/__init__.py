"""Turns the messages of a kernel into an `Observation`."""

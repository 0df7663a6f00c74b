"""From the messages of a kernel to an `Observation`."""

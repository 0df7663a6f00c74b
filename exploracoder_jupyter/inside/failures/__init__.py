"""The parts of the report on an exception: where it came from, the values there, names like one that is missing."""

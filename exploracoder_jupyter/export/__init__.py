"""A run for those who have not this package: its solution as a script, all of it as a page to read.

Both are computed from the fold of the run's records, as the cells of the trace are.
"""

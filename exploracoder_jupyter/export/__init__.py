"""Exports a run for readers without this package: the solution as a script, or the whole run as an HTML page.

Both are computed from the fold of the run's records, like the cells of the trace.
"""

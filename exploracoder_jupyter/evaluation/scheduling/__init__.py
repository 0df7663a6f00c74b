"""Scheduling: which unit runs next, local processes or a Dask cluster, results that survive an interrupt."""

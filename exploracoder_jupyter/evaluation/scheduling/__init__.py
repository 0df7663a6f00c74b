"""Scheduling: units of work, local processes or a Dask cluster, results that survive an interrupt."""

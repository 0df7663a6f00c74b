"""Scheduling: units of work, local processes or a Dask cluster, results that survive an interrupt.

- `unit_queue` decides which unit runs next. Pure.
- `retry_policy` decides whether a unit whose worker died runs again, and when an evaluation stops.
- `local_workers` and `dask_workers` run units: processes of this machine, or a Dask cluster.
- `unit_execution` is what every worker does with a unit.
- `endpoint_rate_limit` keeps all workers within one limit of the endpoint.
- `results_store` appends results and reads them; `manifest` records what was asked for.
"""

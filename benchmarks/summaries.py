"""What summarizing a value for a model costs, by type and size: `python benchmarks/summaries.py [--rounds N]`.

Time in milliseconds and characters of the text, medians of one run, for the same value: our summary (in a forked child,
as after a cell; and the describer alone), `repr`, pandas' `describe`, and where they are installed two summarisers of
others: `repr-llm` for pandas, `lovely-numpy` for arrays. `repr` of a figure says nothing about its content.
"""

import argparse
import statistics
import time
from collections.abc import Callable, Iterator
from typing import Any

import matplotlib as mpl
import networkx as nx
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import scipy.sparse
from matplotlib.figure import Figure
from sklearn.linear_model import LinearRegression

from exploracoder_jupyter.kernel_agent.reporting.notebook_names import type_path
from exploracoder_jupyter.kernel_agent.summaries import summarizer_registry
from exploracoder_jupyter.kernel_agent.summaries.facts import SummaryOptions
from exploracoder_jupyter.kernel_agent.summaries.short_values import ShortFormatter
from exploracoder_jupyter.kernel_agent.summaries.summarizer import Summarizer

mpl.use("agg")
Action = Callable[[Any], str]


def frame(rows: int) -> pd.DataFrame:
    """Eight columns of the kinds that tables have."""
    random = np.random.default_rng(0)
    hours = pd.to_timedelta(random.integers(0, 10_000, rows), unit="h")
    return pd.DataFrame(
        {
            "id": np.arange(rows),
            "x": random.normal(size=rows),
            "y": np.where(random.random(rows) < 0.1, np.nan, random.random(rows)),
            "count": random.integers(0, 100, rows),
            "flag": random.random(rows) < 0.5,
            "when": pd.Timestamp("2024-01-01", tz="UTC") + hours,
            "city": pd.Categorical.from_codes(random.integers(0, 3, rows), ["Berlin", "Paris", "Rome"]),
            "word": np.array(["alpha", "beta", "gamma", "delta"], dtype=object)[random.integers(0, 4, rows)],
        }
    )


def lines() -> Figure:
    """A figure with two lines."""
    figure = Figure()
    axes = figure.subplots()
    x = np.linspace(0, 10, 1000)
    axes.plot(x, np.sin(x), label="sine")
    axes.plot(x, np.cos(x), label="cosine")
    axes.legend()
    return figure


def values(largest: int) -> Iterator[tuple[str, Any]]:
    """Yields the values to summarize, with their names."""
    for rows in (100, 100_000, largest):
        yield f"pandas frame, {rows:,} x 8", frame(rows)
    yield "polars frame, 100,000 x 7", pl.from_pandas(frame(100_000).drop(columns="city"))
    yield "arrow table, 100,000 x 7", pa.Table.from_pandas(frame(100_000).drop(columns="city"))
    for count in (100, 1_000_000, largest):
        yield f"array, {count:,} floats", np.random.default_rng(0).normal(size=count)
    yield "sparse matrix, 10,000 x 10,000", scipy.sparse.random_array((10_000, 10_000), density=0.001, rng=0)
    yield "list of 1,000 dicts", [{"id": n, "tags": ["a", "b"], "at": (n, n)} for n in range(1000)]
    yield "dict of 1,000,000", {n: str(n) for n in range(1_000_000)}
    yield "text of 10 MB", "words " * 1_700_000
    yield "graph, 10,000 nodes", nx.gnm_random_graph(10_000, 50_000, seed=0)
    yield "figure, 2 lines of 1,000", lines()
    yield "fitted estimator", LinearRegression().fit(np.eye(3), [1, 2, 3])


def alone(value: Any) -> str:
    """The describer's facts, without the child process."""
    known = summarizer_registry.find(value)
    assert known
    assert known.describe
    return "\n".join(fact.text for fact in known.describe(value, SummaryOptions(ShortFormatter(apart=False))))


def other() -> dict[str, Action]:
    """The summarisers of others that are installed."""
    found: dict[str, Action] = {}
    try:
        from repr_llm.pandas import summarize_dataframe

        found["pandas.DataFrame"] = summarize_dataframe
    except ImportError:
        pass
    try:
        from lovely_numpy import lo

        found["numpy.ndarray"] = lambda value: str(lo(value))
    except ImportError:
        pass
    return found


def cost(action: Action, value: Any, rounds: int) -> str:
    """Median milliseconds and characters; one round is enough for what takes seconds."""
    taken, text = [], ""
    for _ in range(rounds):
        started = time.perf_counter()
        text = action(value)
        taken.append((time.perf_counter() - started) * 1000)
        if taken[-1] > 1000:
            break
    return f"{statistics.median(taken):>9.2f} ms {len(text):>11,}"


def main(rounds: int, largest: int) -> None:
    """Measure and print."""
    summarizer, others = Summarizer(), other()
    names = ("summary", "describer alone", "repr", "describe()", "another")
    print(f"{'':<32}" + "".join(f"{name:>24}" for name in names))
    for name, value in values(largest):
        actions: list[Action | None] = [lambda one: summarizer.tell([one])[0].text, alone, repr]
        actions.append((lambda one: repr(one.describe())) if isinstance(value, pd.DataFrame) else None)
        actions.append(others.get(type_path(value)))
        row = [cost(action, value, rounds) if action else "" for action in actions]
        print(f"{name:<32}" + "".join(f"{cell:>24}" for cell in row), flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--largest", type=int, default=10_000_000)
    arguments = parser.parse_args()
    main(arguments.rounds, arguments.largest)

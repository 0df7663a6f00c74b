"""Summaries of the tables of pandas, Polars and Arrow."""

import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import dask.dataframe as dd
import duckdb
import ibis
import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from exploracoder_jupyter.kernel_agent.summaries.summarizer_registry import find
from tests.unit.summaries.described import facts, measure, schema, text

TABLES = (pd.DataFrame, pl.DataFrame, pa.table)
CITIES = ["Berlin"] * 4 + ["Paris"] * 3 + ["Rome"] * 2 + ["Oslo"]


def sales() -> pd.DataFrame:
    frame = pd.DataFrame(
        {
            "id": range(1, 11),
            "when": pd.date_range("2024-01-01", periods=10, freq="D", tz="UTC", unit="ns"),
            "city": pd.Categorical(CITIES),
            "note": [*CITIES[:9], None],
            "paid": [True] * 6 + [False] * 4,
            "share": [0.5, np.nan, *[1.5] * 8],
            "more": [{"a": 1}] * 5 + [[1]] * 5,
        }
    )
    frame.loc[9, "when"] = pd.NaT
    return frame


def test_a_frame_is_described_by_its_columns() -> None:
    head, *lines = text(sales()).splitlines()
    assert head.startswith("10 rows x 7 columns, ")
    assert schema(sales()).splitlines()[1:] == lines[:7]
    assert lines[:11] == [
        "id: int64",
        "when: datetime64[ns, UTC], 1 missing (10 %)",
        "city: category of 4",
        f"note: {sales()['note'].dtype}, 1 missing (10 %)",
        "paid: bool",
        "share: float64, 1 missing (10 %)",
        "more: object, of dict 5, list 5",
        "all rows:",
        "  id | when | city | note | paid | share | more",
        "  1 | 2024-01-01 | Berlin | Berlin | True | 0.5 | {'a': 1}",
        "  2 | 2024-01-02 | Berlin | Berlin | True | nan | {'a': 1}",
    ]
    assert lines[-7:] == [
        "  10 | NaT | Oslo | nan | False | 1.5 | [1]",
        "id: int64, 1 to 10, mean 5.5",
        "when: datetime64[ns, UTC], 1 missing (10 %), 2024-01-01 to 2024-01-09",
        "city: category of 4 (Berlin 4, Paris 3, Rome 2)",
        f"note: {sales()['note'].dtype}, 1 missing (10 %), 3 distinct (Berlin 4, Paris 3, Rome 2)",
        "paid: bool, 60 % True",
        "share: float64, 1 missing (10 %), 0.5 to 1.5, mean 1.38889",
    ]
    longer = text(pd.DataFrame({"id": range(1, 12)})).splitlines()
    assert longer[1:4] == ["id: int64, 1 to 11, mean 6", "first rows:", "  id"] and len(longer) == 7


def test_the_name_of_a_series_is_not_schema() -> None:
    row = sales().iloc[0].rename("zqx")
    assert schema(row).splitlines()[1].startswith("values: object")
    assert "zqx: object" in text(row)
    assert schema(pd.Series([], name="zqx", dtype="int64")).splitlines()[1] == "values: int64"


def test_what_fills_up_sparse_values_is_data() -> None:
    sparse = pd.Series(pd.arrays.SparseArray([98761, 1, 98761], fill_value=98761))
    assert "98761" not in schema(sparse) + measure(sparse) + measure(sparse.to_frame()) + measure(sparse.array)
    assert "Sparse[int64], 33 % stored" in schema(sparse)


@pytest.mark.parametrize("kind", TABLES)
def test_numbers_that_differ_late_are_distinguished(kind: Any) -> None:
    summary = text(kind({"amount": [12345.678912, 12345.68, 1234567.891]}))
    assert "12345.678912\n  12345.68\n  1234567.891" in summary
    assert "  0.1\n  2.5" in text(kind({"short": np.array([0.1, 2.5], "float32")}))
    assert "12345.678912 to 12345.68," in text(kind({"amount": [12345.678912, 12345.68]}))
    thirds = {name: [1 / 3, 2 / 3, 1.0] * 2 for name in "abcd"}
    rounded = text(kind({**thirds, "near": [12345.678912, 12345.678955] * 3}))
    assert "  0.333333 | 0.333333 | 0.333333 | 0.333333 | 12345.678912" in rounded


@pytest.mark.parametrize("kind", TABLES)
def test_all_rows_of_a_small_table_are_shown(kind: Any) -> None:
    lines = text(kind({"k": list("abcdefghij"), "v": [*range(10)]})).splitlines()
    assert lines[3] == "all rows:"
    assert lines[5:15] == [f"  {letter} | {place}" for place, letter in enumerate("abcdefghij")]


@pytest.mark.parametrize("kind", TABLES)
def test_ambiguous_texts_are_quoted(kind: Any) -> None:
    summary = text(kind({" s": [" a ", "a", ""], "n": ["nan", None, "1"]}))
    gone = "nan" if kind is pd.DataFrame else "null"
    assert f"  ' s' | n\n  ' a ' | 'nan'\n  a | {gone}\n  '' | '1'" in summary


LEVELS = pd.MultiIndex.from_tuples([("x", 1), ("y", 2)], names=["k", None])
PERIODS = pd.period_range("2024-01", periods=3, freq="M")

PANDAS = [
    (pd.DataFrame(columns=["a"]), ["0 rows x 1 columns", "a: object"]),
    (pd.DataFrame([[1, 2]], columns=["a", "a"]), ["names that occur more than once: a", "a: int64, all 1", "all 2"]),
    (pd.DataFrame({"a": [1, 2]}, index=LEVELS), ["index: MultiIndex of 2 levels", "level k: ", "(x, 1) | 1"]),
    (pd.DataFrame([[1, 2]], columns=LEVELS), ["columns of 2 levels: k, unnamed", "(x, 1): int64"]),
    (pd.DataFrame({"a": [1, 2]}, index=[5, 5]), ["index: Index of int64, with duplicates, all 5", "5 | 2"]),
    (pd.DataFrame({"a": [1]}).rename_axis(columns="kinds"), ["columns are named 'kinds'"]),
    (pd.DataFrame({"a": [1]}).pipe(lambda frame: frame.attrs.update(source="web") or frame), ["attrs: source=web"]),
    (pd.DataFrame({"a": ["x" * 500]}), ["x" * 40 + "...[+460 characters]"]),
    (pd.DataFrame({"a": pd.array([1, None, 3], dtype="Int64")}), ["a: Int64, 1 missing (33 %), 1 to 3, mean 2"]),
    (pd.DataFrame({"a": PERIODS}), ["a: period[M], 2024-01 to 2024-03"]),
    (pd.DataFrame({"a": pd.interval_range(0, 3)}), ["a: interval[int64, right], 0 to 3"]),
    (pd.DataFrame({"a": pd.arrays.SparseArray([0, 0, 1])}), ["a: Sparse[int64], 33 % stored, 0 to 1"]),
    (pd.DataFrame({"a": [Decimal("1.5"), None]}, dtype=object), ["a: object, each of Decimal, 1 missing (50 %)"]),
    (pd.DataFrame({"a": pd.to_timedelta([1, 2], unit="h")}), ["0 days 01:00:00 to 0 days 02:00:00"]),
    (pd.Series([1, None], dtype="int64[pyarrow]"), ["int64[pyarrow], 1 missing (50 %), all 1"]),
    (pd.Series([[1], None], dtype=pd.ArrowDtype(pa.list_(pa.int64()))), ["each of list"]),
    (pd.Series([datetime.timedelta(1)], dtype="duration[ns][pyarrow]"), ["all 1 days"]),
    (pd.Series([1.5, None], name="x"), ["2 values, ", "x: float64, 1 missing (50 %), all 1.5", "all: 1.5, nan"]),
    (pd.Series([1, 2], index=["a", "b"]), ["unnamed: int64, 1 to 2", "index: Index of ", "  a | 1"]),
    (pd.Series(range(10)), ["all: 0, 1, 2, 3, 4, 5, 6, 7, 8, 9"]),
    (pd.RangeIndex(5, 20, 5), ["index: RangeIndex by 5, 5 to 15"]),
    (pd.date_range("2024", periods=30, tz="Europe/Berlin"), ["freq D", "Europe/Berlin", "2024-01-01 to 2024-01-30"]),
    (pd.CategoricalIndex(["a", "b", "a"]), ["index: CategoricalIndex, category of 2, with duplicates (a 2, b 1)"]),
    (pd.interval_range(0, 3), ["IntervalIndex of interval[int64, right], 0 to 3", "all: (0, 1], "]),
    (LEVELS, ["MultiIndex of 2 levels", "level k: ", "2 labels", "all: (x, 1), (y, 2)"]),
    (sales().groupby("city", observed=True), ["groups of 10 rows x 7 columns", "by city"]),
    (sales().groupby(["city", "note"], observed=True)["id"], ["groups of 10 rows", "by city, note"]),
    (pd.DataFrame({"a": [1]}, index=LEVELS[:1]).groupby(level="k"), ["by level k"]),
    (pd.Timestamp("2024-01-01 12:00", tz="UTC"), ["2024-01-01 12:00:00+00:00, zone UTC"]),
    (pd.Period("2024-01"), ["2024-01, freq M"]),
    (pd.Interval(0, 1), ["(0, 1]"]),
    (pd.NA, ["<NA>"]),
    (pd.Categorical(["a", "b", "a"], ordered=True), ["values: ordered category of 2 (a 2, b 1)", "all: a, b, a"]),
    (pd.array([1, None], dtype="Int64"), ["2 values, ", "Int64, 1 missing (50 %)"]),
    (sales().style, ["a styled frame", "10 rows x 7 columns"]),
]

FRAME = pl.DataFrame(
    {
        "id": [1, 2, 3, 4],
        "f": [1.5, float("nan"), None, float("inf")],
        "s": ["a", "b", None, "a"],
        "b": [True, None, False, True],
        "d": [datetime.date(2024, 1, 1), None, None, datetime.date(2024, 1, 3)],
        "l": [[1, 2], None, [], list(range(5000))],
        "t": [{"a": 1}] * 4,
        "y": [b"abc", None, None, None],
        "n": [None] * 4,
    }
).with_columns(
    c=pl.col("s").cast(pl.Categorical),
    e=pl.col("s").cast(pl.Enum(["a", "b", "z"])),
    z=pl.col("d").cast(pl.Datetime).dt.replace_time_zone("UTC"),
    g=pl.col("id").cast(pl.Decimal(10, 2)),
    u=pl.col("id").cast(pl.Duration("ms")),
    o=pl.Series([object()] * 4, dtype=pl.Object),
)

POLARS = [
    (
        FRAME,
        [
            "4 rows x 15 columns, ",
            "columns: id, f, s, b, d, ",
            "id: Int64, 1 to 4, mean 2.5",
            "f: Float64, 1 null (25 %), 1 NaN (33 %), all 1.5, 1 infinite (33 %)",
            "s: String, 1 null (25 %), 2 distinct (a 2, b 1)",
            "b: Boolean, 1 null (25 %), 67 % True",
            "d: Date, 2 null (50 %), 2024-01-01 to 2024-01-03",
            "l: List(Int64), 1 null (25 %)",
            "n: Null, all null",
            "c: Categorical, 1 null (25 %), 2 distinct (a 2, b 1)",
            "e: Enum of 3, 1 null (25 %), 2 distinct",
            "z: Datetime('us', time_zone='UTC'), ",
            "g: Decimal(precision=10, scale=2), 1.00 to 4.00",
            "u: Duration('ms'), 0:00:00.001000 to 0:00:00.004000",
            "  1 | 1.5 | a | True | 2024-01-01 | [1, 2] | {'a': 1} | b'abc' | null | a | a | 2024-01-01 | 1.00 | ",
        ],
    ),
    (FRAME["l"], ["4 values, ", "all: [1, 2], null, [], (40.0 kB)"]),
    (pl.Series([b"x" * 5000, b"abc"]), ["all: (5.0 kB), b'abc'"]),
    (pl.Series(["x" * 1000]), ["x" * 40 + "..."]),
    (FRAME.lazy(), ["lazy, not collected"]),
    (pl.col("a") > 4711, ["4711"]),
]

TABLE = pa.table(
    {
        "id": pa.array([1, 2, 3]),
        "f": pa.array([1.5, float("nan"), None]),
        "h": pa.array([1.5, 2.5, None], pa.float16()),
        "s": pa.array(["a", "b", "a"]),
        "v": pa.array(["a", None, "a"], pa.string_view()),
        "b": pa.array([True, None, False]),
        "t": pa.array([0, None, 10**9], pa.timestamp("ns", "UTC")),
        "u": pa.array([0, None, 10**9], pa.duration("ns")),
        "c": pa.array([0, None, 10**9], pa.time64("ns")),
        "d": pa.array(["a", "b", "a"]).dictionary_encode(),
        "l": pa.array([[1], None, list(range(5000))]),
        "m": pa.array([[("k", 1)], None, []], pa.map_(pa.string(), pa.int8())),
        "y": pa.array([b"abc", None, b""]),
        "w": pa.array([b"abc", None, b""], pa.binary_view()),
        "i": pa.array([None, (1, 2, 3), None], pa.month_day_nano_interval()),
        "n": pa.nulls(3),
        "g": pa.array([Decimal("1.5"), None, Decimal("2.5")]),
    }
)

ARROW = [
    (
        TABLE,
        [
            "3 rows x 17 columns, ",
            "columns: id, f, h, s, ",
            "id: int64, 1 to 3, mean 2",
            "f: double, 1 null (33 %), 1 NaN (50 %), all 1.5",
            "h: halffloat, 1 null (33 %), 1.5 to 2.5, mean 2",
            "s: string, 2 distinct (a 2, b 1)",
            "v: string_view, 1 null (33 %), all a",
            "b: bool, 1 null (33 %), 50 % True",
            "t: timestamp[ns, tz=UTC], 1 null (33 %), 1970-01-01 to 1970-01-01 00:00:01",
            "u: duration[ns], 1 null (33 %), 0:00:00 to 0:00:01",
            "d: dictionary<values=string, indices=int32, ordered=0>, 2 distinct (a 2, b 1)",
            "n: null, all null",
            "g: decimal128(2, 1), 1 null (33 %), 1.5 to 2.5, mean 2",
            "  1 | 1.5 | 1.5 | a | a | True | 1970-01-01 | 0:00:00 | 00:00:00 | a | [1] | [('k', 1)] | b'abc' | ",
        ],
    ),
    (TABLE.to_batches()[0], ["3 rows x 17 columns"]),
    (pa.array([1, None]), ["2 values, ", "values: int64, 1 null (50 %), all 1", "all: 1, null"]),
    (pa.chunked_array([[1], [2]]), ["2 values in 2 chunks"]),
    (TABLE["l"], ["all: [1], null, (40.0 kB)"]),
    (TABLE.schema.with_metadata({"owner": "x"}), ["17 columns", "id: int64", "metadata for owner"]),
    (pa.schema([pa.field("a", pa.int8(), nullable=False)]), ["a: int8 not null"]),
    (ds.dataset(TABLE), ["not scanned", "id: int64"]),
    (TABLE.to_reader(), ["record batches, not read", "id: int64"]),
]


@pytest.mark.parametrize(("value", "parts"), [*PANDAS, *POLARS, *ARROW], ids=lambda value: type(value).__name__)
def test_a_table_or_its_part_is_described(value: object, parts: list[str]) -> None:
    before = memory(value)
    summary = text(value)
    for part in parts:
        assert part in summary
    assert memory(value) == before


def memory(value: Any) -> str:
    """What a value of pandas takes with its caches; empty for others."""
    return str(value.memory_usage(deep=True)) if hasattr(value, "memory_usage") else ""


def test_many_columns_are_grouped_by_type() -> None:
    frame = pd.DataFrame(np.zeros((2, 100)), columns=[f"c{place}" for place in range(100)]).assign(name="x")
    lines = text(frame).splitlines()
    assert lines[1].startswith("100 of float64: c0, c1, c2, ") and lines[1].endswith(", ... 60 more")
    assert lines[2] == f"1 of {frame['name'].dtype}: name" and "... 61 more columns" in lines
    assert all(len(line) < 400 for line in lines)


@pytest.mark.parametrize("convert", TABLES)
def test_samples_are_shares_and_not_counts(convert: Any) -> None:
    frame = convert({"a": np.arange(1_000_000), "s": ["x", "y"] * 500_000})
    lines = text(frame).splitlines()
    assert lines[0].endswith("; sampled 20,000 of 1,000,000")
    assert "at least 2 distinct" in lines[2] and "500,000" not in lines[2]


@pytest.mark.parametrize("convert", [pl.Series, pa.array, lambda values: pd.Series(values, dtype="string")])
def test_of_long_texts_few_are_taken(convert: Any) -> None:
    summary = text(convert(["x" * 1_000_000 + str(place) for place in range(30)]))
    assert "x" * 40 + "..." in summary
    assert "x" * 200 not in summary


def test_statistics_are_left_out_when_it_is_late() -> None:
    for summary in (text(frame, deadline=0.0) for frame in (sales(), FRAME, TABLE)):
        assert "id: " in summary and "mean" not in summary


class Hostile:
    """A value in a cell that hurts whoever touches it."""

    def refuse(self, *others: object) -> Any:
        raise RuntimeError("not to be run")

    __eq__ = __lt__ = __hash__ = __str__ = __len__ = __bool__ = refuse  # type: ignore[assignment]

    def __repr__(self) -> str:
        return "hostile"


@pytest.mark.parametrize("convert", [pd.Series, lambda cells: pl.Series(cells, dtype=pl.Object)])
def test_values_in_cells_are_only_seen(convert: Any) -> None:
    assert "hostile" in text(convert([Hostile(), Hostile()]), short=repr)


def test_lazy_frames_stay_lazy(tmp_path: Path) -> None:
    ran: list[Any] = []
    assert text(pl.DataFrame({"a": [1]}).lazy().map_batches(ran.append)).startswith("lazy")
    assert text(pl.scan_csv(tmp_path / "none.csv")).startswith("lazy")
    assert not ran


@pytest.mark.parametrize(
    "value, lines",
    [
        (
            ibis.table({"a": "int64", "b": "string"}),
            ["2 columns, not computed; to_pandas() computes it", "a: int64", "b: string"],
        ),
        (ibis.table({"a": "int64"}).a, ["a: int64, not computed; to_pandas() computes it"]),
        (ibis.table({"a": "int64"}, name="t").a.sum(), ["Sum(a): int64, not computed; to_pandas() computes it"]),
        (
            duckdb.sql("select 1 as a, 'x' as b"),
            ["2 columns, not computed; df() or pl() computes it", "a: INTEGER", "b: VARCHAR"],
        ),
        (
            dd.from_pandas(pd.DataFrame({"a": [1, 2, 3], "b": [1.5, 2.5, 3.5]}), npartitions=2),
            ["2 columns, not computed; compute() computes it", "a: int64", "b: float64", "2 partitions"],
        ),
        (
            dd.from_pandas(pd.DataFrame({"a": [1, 2, 3]}), npartitions=2)["a"],
            ["a: int64, not computed; compute() computes it"],
        ),
        (
            nw.from_native(pl.DataFrame({"a": [1], "b": ["x"]})),
            ["1 rows x 2 columns, around polars.DataFrame", "a: Int64", "b: String"],
        ),
        (
            nw.from_native(pl.LazyFrame({"a": [1]})),
            ["around polars.LazyFrame, lazy; collect_schema() returns its columns"],
        ),
        (nw.from_native(pl.Series("a", [1, 2]), series_only=True), ["2 values of Int64, around polars.Series"]),
    ],
    ids=lambda value: "" if isinstance(value, list) else type(value).__module__,
)
def test_tables_computed_later_show_their_columns(value: Any, lines: list[str]) -> None:
    assert schema(value).splitlines() == lines


def test_a_query_is_not_computed() -> None:
    connection = duckdb.connect()
    connection.sql("create sequence counted")
    relation = connection.sql("select nextval('counted') as number")
    assert "number: BIGINT" in text(relation)
    assert relation.fetchall() == [(1,)]


def test_readers_stay_unread_and_files_unscanned(tmp_path: Path) -> None:
    reader = TABLE.to_reader()
    facts(reader)
    assert reader.read_all().num_rows == 3
    pq.write_table(TABLE.select(["id", "s"]), tmp_path / "secret.parquet")
    dataset = ds.dataset(tmp_path / "secret.parquet")
    assert "1 files of parquet, not scanned" in text(dataset)
    assert "secret.parquet" in text(dataset, cell_width=500)
    assert "secret" not in schema(dataset)
    with pq.ParquetFile(tmp_path / "secret.parquet") as file:
        assert "3 rows x 2 columns in 1 row groups" in text(file)


@pytest.mark.parametrize(
    "value, apart, here",
    [
        (FRAME, False, True),
        (TABLE, True, False),
        (sales().drop(columns="more"), True, True),
        (sales(), True, False),
        (pd.Series(["held"], dtype=object), True, False),
    ],
    ids=lambda value: "" if isinstance(value, bool) else type(value).__name__,
)
def test_where_a_table_can_be_described(value, apart, here) -> None:
    known = find(value)
    assert (known.can_describe(value, in_fork=True), known.can_describe(value, in_fork=False)) == (apart, here)


MEASURED = [
    (sales(), "10 rows x 7 columns of bool, category, "),
    (sales()["id"], "10 values of int64 #"),
    (sales().index, "10 values of int64"),
    (pd.array([1, None], dtype="Int64"), "2 values of Int64"),
    (FRAME.select("id", "s"), "4 rows x 2 columns of Int64, String #"),
    (FRAME["id"], "4 values of Int64"),
    (TABLE, "3 rows x 17 columns #"),
    *((kind({f"c{place}": [1, 2] for place in range(1_001)}), "2 rows x 1001 columns") for kind in TABLES),
]


@pytest.mark.parametrize(("value", "beginning"), MEASURED, ids=lambda value: type(value).__name__)
def test_measures_name_the_shape(value: object, beginning: str) -> None:
    assert measure(value).startswith(beginning)


CHANGES = {
    "cell": lambda frame: frame.__setitem__("id", [99, *frame["id"][1:]]),
    "moment": lambda frame: frame.loc.__setitem__((0, "when"), frame["when"][1]),
    "category": lambda frame: frame.loc.__setitem__((0, "city"), "Oslo"),
    "column": lambda frame: frame.insert(0, "new", 1),
    "name": lambda frame: setattr(frame, "columns", [*frame.columns[:-1], "other"]),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_change_of_a_small_frame_is_noticed(change: Any) -> None:
    frame = sales()
    before = measure(frame)
    facts(frame)
    assert measure(frame) == before
    change(frame)
    assert measure(frame) != before


LINES = st.tuples(
    st.integers(10**12, 10**13),
    st.floats(allow_nan=True, allow_infinity=True),
    st.text(min_size=1).map(lambda text: f"zqx{text}") | st.none(),
    st.datetimes(datetime.datetime(1700, 1, 1), datetime.datetime(2200, 1, 1)) | st.none(),
)


@given(st.lists(LINES, max_size=12), st.sampled_from([object, "category", None]), st.integers(1, 20))
def test_any_table_is_described_unchanged(lines: list[Any], kind: Any, sample: int) -> None:
    columns = {name: [line[place] for line in lines] for place, name in enumerate(("i", "f", "s", "w"))}
    pandas, polars = pd.DataFrame(columns, dtype=kind), pl.DataFrame(columns, strict=False)
    arrow = polars.to_arrow()
    before = pandas.copy(), polars.clone(), repr(arrow.to_pylist())
    for value in (pandas, polars, arrow):
        assert not any("\n" in fact.text for fact in facts(value, sample=sample))
        assert "zqx" not in schema(value, sample=sample)
        assert not [line[0] for line in lines if str(line[0]) in schema(value, sample=sample)]
    assert pandas.equals(before[0]) and polars.equals(before[1]) and repr(arrow.to_pylist()) == before[2]

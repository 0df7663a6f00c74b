"""Rows survive whatever ends their writers, and no unit is counted twice."""

import json
import os
import random
from dataclasses import replace

import pyarrow.parquet as parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st

from exploracoder_jupyter.evaluation.records import ResultsWriter, read_results, unique_results, write_parquet
from exploracoder_jupyter.evaluation.scheduling import is_final
from tests.scripted_units import ScriptedUnit, result_of, table, units

NUMBERS = st.integers(0, 5)
ROWS = st.lists(st.tuples(NUMBERS, st.sampled_from(["", "endpoint", "fault"]), st.integers(0, 2)), max_size=30)


@given(ROWS, st.lists(st.integers(0, 200), max_size=3))
def test_every_complete_row_is_read_once(tmp_path_factory, rows, cuts):
    folder = tmp_path_factory.mktemp("store")
    writers = [ResultsWriter(folder) for _ in range(3)]
    for number, failure, writer in rows:
        writers[writer].append(result_of(ScriptedUnit(number, fails=failure)))
    for writer, cut in zip(writers, cuts, strict=False):  # killed within its last row
        with writer.path.open("ab") as file:
            file.write(json.dumps({"unit": "x" * 300}).encode()[:cut])
    for writer in writers:
        writer.close()
    found = read_results(folder)
    finals = {result_of(ScriptedUnit(number)).unit for number, failure, _ in rows if not failure}
    assert sorted(row.unit for row in found) == sorted({result_of(ScriptedUnit(number)).unit for number, *_ in rows})
    assert {row.unit for row in found if is_final(row)} == finals


@given(st.permutations(range(8)), st.integers(0, 8))
def test_the_first_final_row_of_a_unit_counts(order, split):
    rows = [
        replace(result_of(ScriptedUnit(0)), seconds=float(place), failure="endpoint" if place % 2 else "")
        for place in order
    ]
    first = next(row for row in rows if not row.failure)
    assert unique_results(rows) == [first]
    assert unique_results([*unique_results(rows[:split]), *rows[split:]]) == [first]


def test_a_row_after_a_full_disk_is_whole(tmp_path, monkeypatch):
    with ResultsWriter(tmp_path) as writer:
        real, written = os.write, []

        def full(file, row):
            if written:
                raise OSError(28, "No space left on device")
            written.append(real(file, row[:40]))
            return 40

        with monkeypatch.context() as patch, pytest.raises(OSError, match="space"):
            patch.setattr(os, "write", full)
            writer.append(result_of(ScriptedUnit(0)))
        writer.append(result_of(ScriptedUnit(1)))
    assert table(read_results(tmp_path)) == table([result_of(ScriptedUnit(1))])


def test_the_rows_are_the_same_in_parquet(tmp_path):
    rows = [replace(result_of(unit), recall=0.5, missing_apis=("a.b", "c")) for unit in units(5)]
    random.Random(1).shuffle(rows)
    assert read_results(tmp_path) == [] and parquet.read_table(write_parquet([], tmp_path)).num_rows == 0
    read = parquet.read_table(write_parquet(rows, tmp_path)).to_pylist()
    assert [one["unit"] for one in read] == [row.unit for row in rows]
    assert read[0]["missing_apis"] == ["a.b", "c"] and read[0]["recall"] == 0.5 and read[0]["precision"] is None
    assert json.loads(read[0]["settings"]) == rows[0].settings

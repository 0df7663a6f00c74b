"""Values come back as what they were, or are refused by name; by pickle only where that was asked for."""

import datetime
import decimal
import fractions
import math
import tempfile

import pytest

from exploracoder_jupyter.kernel_agent.variable_decoding import load
from exploracoder_jupyter.kernel_agent.variable_encoding import VariableTransferError, dump


def carried(value, folder, **options):
    return sent({"x": value}, folder, **options)["x"]


def sent(namespace, folder, *names, mapped=False, pickled=False, **limits):
    """What arrives in an empty namespace of the variables of these names, or of all."""
    fresh = tempfile.mkdtemp(dir=folder)
    dump(names or namespace, namespace, fresh, pickled=pickled, **limits)
    received = {"__name__": "__main__"}
    assert load(fresh, received, pickled=pickled, mapped=mapped) == {}
    return received


@pytest.mark.parametrize(
    "value",
    [
        None, True, 3, 10**30, 0.1, math.inf, "ä\n\x00", [], [1, [2.5, "a"]], (1, (2,)), {1, 2}, frozenset("ab"),
        {"a": 1, 2: (3, 4), (5, 6): None}, {"dict": [1]}, {"array": "x.npy"}, b"\xff", bytearray(b"a"), 1 - 2j,
        range(3, 9, 2), slice(1, None), decimal.Decimal("0.10"), datetime.date(2026, 1, 2), datetime.time(3, 4),
        datetime.datetime(2026, 1, 2, 3, tzinfo=datetime.UTC), datetime.timedelta(days=-1, microseconds=3),
    ],
)  # fmt: skip
def test_plain_values(value, tmp_path):
    back = carried(value, tmp_path)
    assert back == value
    assert type(back) is type(value)


def test_arrays_and_scalars_of_numpy(tmp_path):
    numpy = pytest.importorskip("numpy")
    given = {"grid": numpy.arange(6, dtype="int16").reshape(2, 3), "flags": [numpy.array([True, False])]}
    back = carried(given, tmp_path)
    assert back["grid"].dtype == "int16"
    numpy.testing.assert_array_equal(back["grid"], given["grid"])
    numpy.testing.assert_array_equal(back["flags"][0], given["flags"][0])
    scalar = carried(numpy.float32(0.1), tmp_path)
    assert type(scalar) is numpy.float32
    assert scalar == numpy.float32(0.1)
    words = numpy.array([["a", None], [1, (2,)]], dtype=object)
    assert carried(words, tmp_path).tolist() == words.tolist()
    with pytest.raises(VariableTransferError, match=r"holds a .*Odd"):
        carried(numpy.array([Odd()], dtype=object), tmp_path)


def test_mapped_arrays_are_private_and_plain(tmp_path):
    numpy = pytest.importorskip("numpy")
    given = numpy.arange(100_000)
    dump(["x"], {"x": given}, str(tmp_path))
    for _ in range(2):
        received = {}
        load(str(tmp_path), received, mapped=True)
        assert type(received["x"]) is numpy.ndarray
        assert (received["x"] == given).all()
        received["x"][0] = 7  # changes neither the file nor what the next kernel receives


@pytest.mark.parametrize("mapped", [False, True])
def test_tables_of_pandas(tmp_path, mapped):
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    check_tables(pandas, tmp_path, mapped=mapped)


def check_tables(pandas, folder, *, mapped):
    """Send frames and what belongs to them, and compare."""
    frame = pandas.DataFrame(
        {
            "n": [1, 2], "x": [0.1 + 0.2, None], "s": ["a", None],
            "t": pandas.to_datetime(["2026-01-01", "2026-01-02"]), 5: [True, False],
        }
    )  # fmt: skip
    indexed = [frame.set_index(names) for names in ("s", ["s", "n"], "t")]
    for one in (frame, *indexed, frame.iloc[::-1], frame[:0]):
        back = carried(one, folder, mapped=mapped)
        pandas.testing.assert_frame_equal(back, one, check_index_type=False, check_column_type=False)
        back["x"] = back["x"] + 1
        back.iloc[:, 0] = back.iloc[:, 0]  # it can be written to
    series = pandas.Series([1.5, 2.5], name=("odd", 1))
    pandas.testing.assert_series_equal(carried(series, folder), series)
    assert carried(frame.index, folder).equals(frame.index)


def test_tables_of_polars(tmp_path):
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame(
        {"n": [1, None], "s": ["a", None], "d": [datetime.date(2026, 1, 2)] * 2, "l": [[1], [2, 3]], "c": ["u", "v"]},
        schema_overrides={"n": polars.Int8, "c": polars.Categorical},
    ).with_columns(e=polars.lit("a", dtype=polars.Enum(["a", "b"])))
    for one in (frame, frame[:0], polars.concat([frame, frame], rechunk=False)):
        back = carried(one, tmp_path, mapped=True)
        assert back.schema == one.schema
        assert back.equals(one)
    assert carried(frame["s"], tmp_path).equals(frame["s"])


def test_tables_and_arrays_of_arrow(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    table = pyarrow.table({"a": [1, None], "s": ["x", "y"]})
    for one in (table, table[:0], table.to_batches()[0], table.column("s"), pyarrow.array([[1], []])):
        back = carried(one, tmp_path, mapped=True)
        assert type(back) is type(one)
        assert back.equals(one)


def test_labelled_arrays_of_xarray(tmp_path):
    xarray, numpy = pytest.importorskip("xarray"), pytest.importorskip("numpy")
    array = xarray.DataArray(
        numpy.arange(6.0).reshape(2, 3),
        dims=("place", "day"),
        coords={"place": ["Graz", "Wien"], "day": numpy.array(["2026-01-01", "2026-01-02", "2026-01-03"], "M8[ns]")},
        name="rain",
        attrs={"unit": "mm"},
    )
    assert carried(array, tmp_path).identical(array)
    data = array.to_dataset().assign(height=("place", [350, 170]))
    assert carried(data, tmp_path).identical(data)


def in_notebook(*cells):
    """The namespace of a shell that has run these cells, as the `__main__` of a process of its own has it."""
    from IPython.core.interactiveshell import InteractiveShell
    from traitlets.config import Config

    shell = InteractiveShell(config=Config({"HistoryManager": {"enabled": False}}))
    shell.user_ns["__name__"] = "__main__"
    for cell in cells:
        shell.run_cell(cell).raise_error()
    return shell.user_ns


def test_functions_of_the_notebook(tmp_path):
    space = in_notebook(
        "import math as m\nfrom operator import add\nrate = 3\nkey = 'sk-1'",
        "def helper(x):\n    return add(m.floor(x), rate)",
        "def total(xs, *, start=rate):\n    return sum(map(helper, xs), start)",
        "def leak():\n    return key",
    )
    received = sent(space, tmp_path, "total")
    assert received["total"]([1.5, 2.5]) == 12
    assert "key" not in received
    with pytest.raises(VariableTransferError, match="'leak' needs 'key', which looks like a credential"):
        sent(space, tmp_path, "leak", withheld=["key"])


def test_what_is_too_large_is_refused(tmp_path):
    numpy = pytest.importorskip("numpy")
    with pytest.raises(VariableTransferError, match=r"too large .* `variables_mb`"):
        carried(numpy.zeros(1000), tmp_path, most_bytes=7_999)
    with pytest.raises(VariableTransferError, match="too large"):
        carried("x" * 100, tmp_path, most_bytes=99)
    ring = []
    ring.append(ring)
    with pytest.raises(VariableTransferError, match="contains itself"):
        carried(ring, tmp_path)


def test_what_cannot_be_loaded_is_named(tmp_path):
    (tmp_path / "x.json").write_text('{"module": "no_such_module"}')
    (tmp_path / "y.json").write_text("3")
    received = {}
    assert load(str(tmp_path), received) == {"x": "ModuleNotFoundError: No module named 'no_such_module'"}
    assert received == {"y": 3}


class Odd:
    pass


@pytest.mark.parametrize("value", [Odd(), [Odd()], {"k": Odd()}, type("Text", (str,), {})("x")])
def test_what_cannot_be_carried_is_named(value, tmp_path):
    with pytest.raises(VariableTransferError, match=r"'x' holds a .*, which cannot be sent"):
        carried(value, tmp_path)


def test_an_unknown_name_is_refused(tmp_path):
    with pytest.raises(VariableTransferError, match="no variable 'y'"):
        dump(["y"], {}, str(tmp_path))


def pickled(value, folder):
    return carried(value, folder, pickled=True)


def test_with_leave_special_values_are_pickled(tmp_path):
    pandas = pytest.importorskip("pandas")
    value = {"plain": (1, 2), "odd": [fractions.Fraction(1, 3), iter([3])]}
    back = pickled(value, tmp_path)
    assert (back["plain"], back["odd"][0], next(back["odd"][1])) == ((1, 2), fractions.Fraction(1, 3), 3)
    series = pandas.Series([range(2), {1}], name="s")
    assert list(pickled(series, tmp_path)) == [range(2), {1}]


@pytest.mark.parametrize(
    ("value", "why"),
    [
        ((i for i in ()), "cannot pickle 'generator' object"),
        (type("Mine", (), {"__module__": "__main__"})(), "Mine is defined in the notebook"),
    ],
)
def test_what_no_pickle_carries_is_refused_by_name(value, why, tmp_path):
    with pytest.raises(
        VariableTransferError, match=rf"'x' holds a .*, which cannot be sent .*\(it cannot be pickled: {why}"
    ):
        pickled(value, tmp_path)


def test_a_pickle_is_read_only_where_allowed(tmp_path):
    dump(["x"], {"x": fractions.Fraction(1, 3)}, str(tmp_path), pickled=True)
    received = {}
    assert "pickles are not allowed" in load(str(tmp_path), received)["x"]
    assert received == {}

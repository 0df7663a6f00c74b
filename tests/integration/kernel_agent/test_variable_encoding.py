"""Values that another process loads: its libraries, threads and `__main__` are its own."""

import subprocess
import sys

import pytest

from exploracoder_jupyter.kernel_agent.variable_encoding import VariableTransferError, dump
from tests.unit.kernel_agent.test_variable_encoding import in_notebook


def output(code):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout


def test_polars_frames_start_no_threads(tmp_path):
    polars = pytest.importorskip("polars")
    pytest.importorskip("pyarrow")
    dump(["x"], {"x": polars.DataFrame({"a": [1, 2], "s": ["u", "v"]})}, str(tmp_path))
    code = f"""
from exploracoder_jupyter.kernel_agent.variable_decoding import load
from exploracoder_jupyter.kernel_agent.forking.fork_hazards import find_hazards
received = {{}}
assert load({str(tmp_path)!r}, received, mapped=True) == {{}}
print(received["x"].shape, [one["what"] for one in find_hazards(received) if one["kind"] == "refuse"])
"""
    assert output(code) == "(2, 2) []\n"


def test_pickled_instances_bring_their_class(tmp_path):
    space = in_notebook(
        "class Book:\n    def __init__(self, pages):\n        self.pages = pages\n    def half(self):\n"
        "        return self.pages // 2",
        "book = Book(8)",
    )
    with pytest.raises(VariableTransferError, match=r"'book' holds a __main__\.Book"):
        dump(["book"], space, str(tmp_path / "refused"))
    folder = str(tmp_path / "sent")
    dump(["book"], space, folder, pickled=True)
    code = f"""
from exploracoder_jupyter.kernel_agent.variable_decoding import load
assert load({folder!r}, globals(), pickled=True) == {{}}
print(book.half())
"""
    assert output(code) == "4\n"


def test_tables_without_pyarrow(tmp_path):
    pytest.importorskip("pandas")
    pytest.importorskip("polars")
    code = f"""
import pathlib, sys
sys.modules["pyarrow"] = None
import pandas, polars
from tests.unit.kernel_agent.test_variable_encoding import carried, check_tables
check_tables(pandas, pathlib.Path({str(tmp_path)!r}), mapped=True)
frame = polars.DataFrame({{"n": [1, None], "s": ["a", None]}})
assert carried(frame, pathlib.Path({str(tmp_path)!r}), mapped=True).equals(frame)
print("equal")
"""
    assert output(code) == "equal\n"

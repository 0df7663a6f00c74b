import os
import sys
from pathlib import Path

import pytest

from exploracoder_jupyter.cli.display import standard_streams
from exploracoder_jupyter.text.terminal_text import printable


def test_control_characters_do_not_reach_a_terminal():
    assert printable("a\x1b[2Jb\tc\nd\x07\x9b") == "a�[2Jb\tc\nd��"


def test_json_is_the_only_thing_on_standard_output(capsys):
    standard_streams.print_note("beside")
    standard_streams.print_json({"status": "solved"})
    captured = capsys.readouterr()
    assert captured.out == '{\n  "status": "solved"\n}\n'
    assert captured.err == "beside\n"


def test_a_reader_that_goes_away_ends_the_writing_not_the_command(monkeypatch):
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "w") as stream:
        monkeypatch.setattr(sys, "stdout", stream)
        for _ in range(3):
            standard_streams.print_result("x" * 100_000)
        assert os.path.samestat(os.fstat(stream.fileno()), Path(os.devnull).stat())


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8"])
def test_text_that_the_terminal_cannot_show_is_replaced(tmp_path, encoding):
    with (tmp_path / "out").open("w", encoding=encoding) as stream:
        standard_streams.write_line(stream, "✓ \udcff ü")
    assert (tmp_path / "out").read_text(encoding=encoding).endswith(("ü\n", "?\n"))

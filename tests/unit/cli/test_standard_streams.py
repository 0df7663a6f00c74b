import os
import re
import sys
from pathlib import Path

import pytest

from exploracoder_jupyter.cli import output
from exploracoder_jupyter.cli.output import print_results
from exploracoder_jupyter.text.characters import printable


def test_control_characters_do_not_reach_a_terminal():
    assert printable("a\x1b[2Jb\tc\nd\x07\x9b") == "a�[2Jb\tc\nd��"


ESCAPES = "\x1b[2J\x1b]0;title\x07 \x1b]52;c;AAAA\x1b\\ \x9b31m \x7f\x08 \r over"


def test_escape_sequences_do_not_pass_a_pipe(capsys):
    row = {"path": ESCAPES, "signature": ESCAPES, "description": ESCAPES, "deprecated": ESCAPES, "returns": ESCAPES}
    row |= {"parameters": [dict.fromkeys(("name", "type", "about", "default"), ESCAPES)], "examples": [ESCAPES]}
    libraries = [{"name": ESCAPES, "version": "1", "cached": True}]
    print_results({"results": [row], "libraries": libraries, "apis": 1, "seconds": 0.0}, details=True)
    output.print_code(f"x = '{ESCAPES}'\n\tüber　x")
    output.print_code(f"+{ESCAPES}", "diff")
    captured = capsys.readouterr()
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]", captured.out + captured.err)
    assert "�[2J" in captured.out
    assert "\n\tüber　x" in captured.out


def test_json_is_the_only_thing_on_standard_output(capsys):
    output.print_note("beside")
    output.print_json({"status": "solved"})
    captured = capsys.readouterr()
    assert captured.out == '{\n  "status": "solved"\n}\n'
    assert captured.err == "beside\n"


def test_a_closed_reader_ends_only_the_writing(monkeypatch):
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "w") as stream:
        monkeypatch.setattr(sys, "stdout", stream)
        for _ in range(3):
            output.print_result("x" * 100_000)
        assert os.path.samestat(os.fstat(stream.fileno()), Path(os.devnull).stat())


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8"])
def test_text_that_the_terminal_cannot_show_is_replaced(tmp_path, encoding):
    with (tmp_path / "out").open("w", encoding=encoding) as stream:
        output.write_line(stream, "✓ \udcff ü")
    assert (tmp_path / "out").read_text(encoding=encoding).endswith(("ü\n", "?\n"))

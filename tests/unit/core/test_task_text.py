import io
import types

import pytest

from exploracoder_jupyter.core.errors import UsageError
from exploracoder_jupyter.core.task import MAX_BYTES, read_code, read_task


@pytest.fixture
def stdin(monkeypatch):
    def give(content: bytes):
        monkeypatch.setattr("sys.stdin", types.SimpleNamespace(buffer=io.BytesIO(content)))

    return give


def test_a_task_is_text_file_or_standard_input(tmp_path, stdin):
    file = tmp_path / "task.md"
    file.write_text("Sum ü\n", encoding="utf-8-sig")
    stdin(b"from a pipe\n")
    assert read_task(["  as text "], None) == "as text"
    assert read_task([], str(file)) == "Sum ü"
    assert read_task([], "-") == "from a pipe"


@pytest.mark.parametrize(
    ("texts", "source", "sentence"),
    [
        ([], None, "No task was given."),
        (["a", "b"], None, "-t was given 2 times."),
        (["a"], "b.md", "Both a task file and -t were given."),
        ([" \n\t"], None, "The task is empty."),
        (["x" * 100_000], None, "The task is longer than 64 kB."),
        (["ü" * (MAX_BYTES // 2 + 1)], None, "The task is longer than 64 kB."),
        (["broken \udcff"], None, "The task is not UTF-8 text."),
        ([], "no/such/task.md", "cannot be read: No such file or directory."),
        ([], ".", "cannot be read: Is a directory."),
    ],
)
def test_an_unusable_task_is_one_sentence(texts, source, sentence):
    with pytest.raises(UsageError) as caught:
        read_task(texts, source)
    assert sentence in caught.value.message
    assert caught.value.remedy


def test_a_task_of_exactly_the_limit_is_taken():
    assert len(read_task(["x" * MAX_BYTES], None)) == MAX_BYTES


def test_a_long_or_binary_task_file_is_refused(tmp_path):
    file = tmp_path / "task.txt"
    file.write_bytes(b"x" * 100_000)
    with pytest.raises(UsageError, match="longer than 64 kB"):
        read_task([], str(file))
    file.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(UsageError, match="not UTF-8"):
        read_task([], str(file))


def test_a_check_is_text_or_a_file(tmp_path):
    file = tmp_path / "check.py"
    file.write_text("assert f(1) == 2\n")
    assert read_code(None, "check") is None
    assert read_code("assert f(2) == 3", "check") == "assert f(2) == 3"
    assert read_code(str(file), "check") == "assert f(1) == 2\n"


@pytest.mark.parametrize(
    ("given", "sentence"), [("missing.py", "cannot be read"), (" ", "is empty"), ("1" * 70_000, "longer")]
)
def test_a_check_that_cannot_be_used_is_refused(given, sentence):
    with pytest.raises(UsageError, match=sentence):
        read_code(given, "check")

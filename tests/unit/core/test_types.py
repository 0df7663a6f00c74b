"""The nouns of an exploration."""

from exploracoder_jupyter.core.types import ErrorInfo


def test_a_headline_is_one_short_line():
    assert ErrorInfo("KeyError", "").headline == "KeyError"
    assert ErrorInfo("KeyError", "'x'\nand more").headline == "KeyError: 'x'"
    long = ErrorInfo("KeyError", "x" * 5000).headline
    assert len(long) == 300
    assert long.startswith("KeyError: xxx") and long.endswith("x...")

"""Examples, deprecation and prose out of documentation."""

import textwrap

import pytest

from exploracoder_jupyter.knowledge.extraction import docstrings


def doc(text: str) -> str:
    return textwrap.dedent(text).strip()


def test_a_doctest_is_one_program_without_outputs():
    text = doc("""
        Sort.

        >>> xs = [3, 1]
        >>> for x in sorted(xs):
        ...     print(x)  # doctest: +NORMALIZE_WHITESPACE
        1
        3
    """)
    assert docstrings.extract_examples(text) == ("xs = [3, 1]\nfor x in sorted(xs):\n    print(x)",)


def test_a_block_brings_needed_earlier_blocks_only():
    text = doc("""
        >>> import math
        >>> base = 2

        An unrelated one:

        >>> print(len("abc"))
        3

        And one that needs the first:

        >>> math.log(8, base)
        3.0
    """)
    assert docstrings.extract_examples(text) == (
        'print(len("abc"))',
        "import math\nbase = 2\nmath.log(8, base)",
    )


def test_skipped_and_failing_examples_are_left_out():
    text = doc("""
        >>> show()  # doctest: +SKIP
        >>> int("x")
        Traceback (most recent call last):
        ValueError: invalid
        >>> int("3")
        3
    """)
    assert docstrings.extract_examples(text) == ('int("3")',)


@pytest.mark.parametrize(
    "text",
    [
        "Use it:\n\n```python\nrun(1)\n```\n",
        "Use it:\n\n```\nrun(1)\n```\n",
        "Use it:\n\n.. code-block:: python\n\n    run(1)\n",
        "Use it:\n\n.. code-block:: python\n   :linenos:\n\n   run(1)\n\nMore.\n",
        "Use it::\n\n    run(1)\n\nMore.\n",
    ],
)
def test_code_blocks_count_where_there_are_no_doctests(text):
    assert docstrings.extract_examples(text) == ("run(1)",)


README = """\
# Lib

[![build](https://x/badge.svg)](https://x) <img src="logo.png">

.. image:: https://x/y.svg
   :target: https://x

It reads [files](https://files).


It is fast.
"""
GRAMMAR = "<query> ::= <term> | <query> and <term>"
TABLE = "| page | |\n| --- | --- |\n| Start | step by step |\n|a|b c|d|"


@pytest.mark.parametrize(
    ("text", "prose"),
    [
        (README, "# Lib\n\nIt reads files.\n\nIt is fast."),
        # Issue 14, item 9: a comment that is not closed stays
        ("a <!-- x\ny --> b <!-- c --> [d](e) ![f](g) <!-- h", "a  b  d  <!-- h"),
        (f"<p align='left'>Queries</p>\n\n{GRAMMAR}", f"Queries\n\n{GRAMMAR}"),
        (f"|build| |docs|_ Lib.\n\n{TABLE}", f"Lib.\n\n{TABLE}"),
    ],
)
def test_prose_loses_only_badges_images_and_html(text, prose):
    assert docstrings.strip_markup(text) == prose


@pytest.mark.timeout(20)
@pytest.mark.parametrize(
    "doc",
    [
        ">>> f() " + " \t" * 60_000 + "x\n",
        "".join(f">>> a{number} = f(a{number - 1})\n1\n\nx\n\n" for number in range(1_200)),
        " " * 60_000 + "x",
        "[" * 60_000,
        "![a](" * 20_000,
        "<!--" * 60_000,
        "Example::\n\n    -" + "-" * 60_000 + "1\n",
    ],
    ids=["option", "chain", "blanks", "brackets", "images", "comments", "signs"],
)
def test_a_hostile_docstring_or_readme_takes_no_minutes(doc):
    """Issue 14, item 9: what is read of a docstring in this process takes about linear time."""
    docstrings.extract_examples(doc)
    docstrings.strip_markup(doc)

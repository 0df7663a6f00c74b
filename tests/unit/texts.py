"""Texts as libraries, models and programs may give them: arbitrary ones, and those known to be hard to read."""

import re
from html.parser import HTMLParser

from hypothesis import settings
from hypothesis import strategies as st

HARD = (
    "",
    "\n",
    "It's the caller's job.\nDon't do that.",
    'def f():\n    """Return the graph\'s edges.\n    """\n    return "unclosed\n',
    "'\\N{'",
    '"\\N{no such name}"',
    "'\\x'",
    "'\\uD800'",
    "\ud800 lone \udfff",
    "nul \x00 nul",
    "\x1b[31mred\x1b[0m\r\n\x08\x7f",
    "[" * 2_000,
    "(" * 300 + ")" * 300,
    "{" * 2_000 + "}" * 2_000,
    "-" * 3_000 + "1",
    "+".join(["1"] * 3_000),
    "a" + ".b" * 3_000,
    "9" * 5_000,
    "x = " + "9" * 5_000,
    "1e999",
    "-1e999",
    "nan",
    "inf",
    "1" * 400,
    "[" + "1" * 400 + "]",
    "{'a': nan, 'b': 1e999}",
    "{[]: 1}",
    "x" * 20_000,
    "ab " * 7_000,
    "'" * 5_000,
    '"' * 5_001,
    "`" * 5_000,
    "```python\n",
    "```python\nprint('it\\'s')\n``` ~~~",
    "~~~\n```\n~~~\n",
    "<think>" * 500,
    "</think>",
    '{"subtasks": [1, null, {"a": []}]}',
    '{"subtasks": ' + "[" * 2_000,
    '{"verdict": {"a": 1}, "tests": [[], 1, null]}',
    '{"apis": ' + "9" * 5_000 + "}",
    "t1: right: wrong | unsure",
    "assert " + "not " * 500 + "x",
    "if x:\n" + "".join(f"{' ' * depth}if x:\n" for depth in range(1, 90)),
    "lambda: " * 300 + "1",
    "f'{x!r:{y}}'",
    "%%bash\necho it's",
    "!ls 'unclosed",
    "?print",
    "$\\frac{1}{$ <script>alert('1')</script> <p><b>" + "<div>" * 1_000,
    "&#xD800; &#0; &bogus; &#99999999999;",
    "| a | b\n|---|\n" + "|" * 2_000,
    "\u202e\u2066\ufeff\u0130\u0660 ﬀ ǅ ß",
    ">>> 1 +\n... \n>>> 'it's\n>>>x",
    'Traceback (most recent call last):\n  File "<cell>", line ' + "9" * 5_000 + "\nKeyError: 'x\n",
    "<function=search_api><parameter=x>",
    "<tool_call>" * 200,
    '[TOOL_CALLS][{"name": "search_api", "arguments": "{\\"query\\": [}"}]',
    "APISearch(" * 500,
    ":param x: y\n\nParameters\n----------\nx : " + "int, " * 1_000,
    ".. py:function:: f(" + "(" * 500,
    "0x" + "f" * 5_000,
    "1_000_000e-" + "9" * 5_000,
    "http://[ http://[::1 https://a:b@c:99999999/?q=%zz",
)
"""Each of these has broken something, or is of a kind that has."""

_PIECES = st.sampled_from(
    [
        *("'", '"', "'''", '"""', "\\", "\\N{", "\\x", "\n", "\r", "\t", " ", "    ", "`", "```", "```python\n", "~~~"),
        *("{", "}", "[", "]", "(", ")", "<", ">", "=", ":", ",", ".", "->", "#", "##", "*", "**", "-", "1.", "|", "@"),
        *(
            "assert ",
            "import ",
            "from ",
            "def f(",
            "class ",
            "lambda ",
            "x",
            "nx.Graph",
            "None",
            "True",
            "nan",
            "1e999",
        ),
        *(
            "0",
            "1",
            "-1",
            "9" * 30,
            "1.5",
            "0x",
            "<think>",
            "</think>",
            "<b>",
            "</b>",
            "&amp;",
            "\x00",
            "\ud800",
            "\x1b[",
        ),
        *(">>> ", "... ", "%%", "!", "?", "$", "right", "wrong", "t1", "before", "after", "Parameters\n-------\n"),
        *(
            ":param x:",
            ".. code::",
            "APISearch(",
            "<tool_call>",
            '{"verdict": "right"}',
            '{"subtasks": [',
            "Empty DataFrame",
        ),
        *("KeyError: ", "Traceback (most recent call last):\n", 'File "<cell>", line 1', "name 'x' is not defined"),
    ]
)
texts = st.one_of(
    st.sampled_from(HARD),
    st.lists(_PIECES, max_size=14).map("".join),
    st.text(st.characters(), max_size=40),
    st.tuples(st.lists(_PIECES, max_size=6).map("".join), st.text(max_size=10)).map("".join),
)
"""Any text at all; surrogates, which JSON can bring, among its characters."""

few = settings(max_examples=max(2, settings.default.max_examples // 6))


class _Typeset(HTMLParser):
    """The texts in which a front end looks for formulas: those between two tags, some of which join, but not code."""

    def __init__(self, html):
        super().__init__()
        self.texts, self._code = [""], 0
        self.feed(html)
        self.close()

    def handle_starttag(self, tag, attributes):
        self._code += tag in ("pre", "code")
        self.texts += [""] if tag not in ("wbr", "br") else []

    def handle_endtag(self, tag):
        self._code -= tag in ("pre", "code")
        self.texts.append("")

    def handle_data(self, data):
        self.texts[-1] += "" if self._code else data


def formulas(html):
    """The texts of HTML that a front end might typeset, all or a part."""
    return [text for text in _Typeset(html).texts if re.search(r"[$\\].|.[$\\]", text, re.DOTALL)]

"""What is read of docstrings in the styles that libraries are written in, and made of it with what code says."""

import pytest

from exploracoder_jupyter.core.types import Parameter
from exploracoder_jupyter.knowledge.extraction import docstrings

NUMPY = """Group the rows.

.. versionadded:: 1.2
.. versionchanged:: 1.3
   The `by` may be a list.

Parameters
----------
by, level : label or list, default None
    What to group by. If it is
    a list, in its order.
how : {'any', 'all'}, optional
    Which.
where : str (optional)

Returns
-------
Grouped
    The groups.

See Also
--------
resample : For times. See :func:`not_this`.
lib.merge, :meth:`~lib.Table.join`
    Of `nor_this`.

Notes
-----
none : is a link here
"""

GOOGLE = """Group the rows.

Args:
    by (str, optional): What to group by.
        A label.
    **options: Go to the engine.

Returns:
    Grouped: The groups.

See Also:
    resample: For times.
"""

SPHINX = """Group the rows.

:param str by: What to group by.
:param level: Which level.
:type level: int
:returns: The groups.
:rtype: Grouped

.. seealso:: :func:`resample`, :class:`lib.Table`

New in version 2.0.
"""


def test_numpy_style():
    sections = docstrings.parse_docstring(NUMPY)
    about = "What to group by. If it is a list, in its order."
    assert sections.parameters == (
        Parameter("by", "label or list", "None", about),
        Parameter("level", "label or list", "None", about),
        Parameter("how", "{'any', 'all'}", "'any'", "Which."),
        Parameter("where", "str", "", ""),
    )
    assert sections.returns == "Grouped. The groups."
    assert sections.notes == ("Added in 1.2", "Changed in 1.3: The `by` may be a list.")
    assert sections.see_also == ("resample", "lib.merge", "lib.Table.join")


def test_google_style():
    sections = docstrings.parse_docstring(GOOGLE)
    assert sections.parameters == (
        Parameter("by", "str", "", "What to group by. A label."),
        Parameter("**options", "", "", "Go to the engine."),
    )
    assert (sections.returns, sections.see_also) == ("Grouped. The groups.", ("resample",))


def test_sphinx_style():
    sections = docstrings.parse_docstring(SPHINX)
    assert sections.parameters == (
        Parameter("by", "str", "", "What to group by."),
        Parameter("level", "int", "", "Which level."),
    )
    assert (sections.returns, sections.notes) == ("Grouped. The groups.", ("New in version 2.0.",))
    assert sections.see_also == ("resample", "lib.Table")


@pytest.mark.timeout(20)
@pytest.mark.parametrize("head", ["    .. seealso::", "    See Also:"])
def test_many_links_may_be_indented_further(head):
    links = "\n".join(f"        :func:`lib.f{number}`" for number in range(300))
    sections = docstrings.parse_docstring(f"Do it.\n\nNote:\n{head}\n{links}\n\nArgs:\n    x: What it is.")
    assert sections.see_also[:2] == ("lib.f0", "lib.f1")


@pytest.mark.parametrize(
    ("signature", "expected"),
    [
        ("(x, y=1, *rest) -> int", [("x", "", ""), ("y", "", "1"), ("*rest", "", "")]),
        ("(*, k: int = 2, **more)", [("k", "int", "2"), ("**more", "", "")]),
        ("(a, [b, c=None])", [("a", "", ""), ("b", "", ""), ("c", "", "None")]),
        ("(x1, /, out=None, *, where=True)", [("x1", "", ""), ("out", "", "None"), ("where", "", "True")]),
        ("(Loc loc, STRING name=None)", [("loc", "", ""), ("name", "", "None")]),
        ("(shape, dtype=float, ...)", [("shape", "", ""), ("dtype", "", "float")]),
        ("()", []),
        ("", []),
    ],
)
def test_a_written_signature_is_read(signature, expected):
    assert [(one.name, one.type, one.default) for one in docstrings.parse_signature(signature)] == expected


def test_parameters_come_from_code_and_meanings_from_docstrings():
    documented = (Parameter("by", "label", "0", "What to group by."), Parameter("gone", "", "", "No longer there."))
    assert docstrings.merge_parameters([("by", "Any", "None"), ("n", "int", "")], "(by=None, n)", documented) == (
        Parameter("by", "label", "None", "What to group by."),
        Parameter("n", "int", "", ""),
    )


@pytest.mark.parametrize(
    ("doc", "expected"),
    [
        ("Do it.\n\n.. deprecated:: 1.2\n\n   Use `x`.\n\nMore.", "1.2 Use `x`."),
        ("Deprecated since version 2: use y\ninstead.\n\nDo it.", "Deprecated since version 2: use y instead."),
        ("Do it.\n\nThis function is deprecated, use z.", "This function is deprecated, use z."),
        ("Do it.\n\nDeprecated:\n    1.2: use it.\n", "1.2: use it."),
        ("Do it. A deprecated value is refused.", None),
    ],
)
def test_deprecation_in_its_many_forms(doc, expected):
    assert docstrings.find_deprecation(doc) == expected

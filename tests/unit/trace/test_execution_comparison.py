"""What an execution shows again is judged against its record: the same, varying by itself, or changed."""

import base64
import zlib
from datetime import date
from io import BytesIO
from struct import pack

import pytest

from exploracoder_jupyter.core.types import ErrorInfo, Observation
from exploracoder_jupyter.trace import comparison
from exploracoder_jupyter.trace.comparison import comparable_result, compare_with_record
from tests.unit.factories import shown, stream

DAY = date(2026, 11, 22)


def of(*outputs, code="", **fields):
    """What an observation with these outputs shows."""
    return comparable_result(Observation(fields.pop("status", "ok"), tuple(outputs), **fields), day=DAY, code=code)


def printed(text, **options):
    return of(stream(text), **options)


def result(recorded, *again, **options):
    return compare_with_record(recorded, again, **options).result


def test_a_differing_execution_names_its_first_line():
    judged = compare_with_record(printed("a\n1\n"), [printed("a\n2\n")])
    assert (judged.result, judged.why) == ("changed", "stdout: 1 -> 2")


def test_a_late_difference_is_shown_in_context():
    judged = compare_with_record(printed("x" * 200 + " 1 end"), [printed("x" * 200 + " 2 end")])
    assert judged.why == f"stdout: …{'x' * 19} 1 end -> …{'x' * 19} 2 end"


FAILED = printed("", status="error", error=ErrorInfo("ValueError", "no"))
ARRAYS = ("array([-0.9, -0.7,\n       -0.5])", "array([ 0.4, -0.1, 1.])", "array([ 0.2, 0.1, 0.12])")
PARTS = [of(stream(f"{n}"), shown(text_plain=value)) for n, value in ((0.1, "a"), (0.2, "b"), (0.3, "b"))]
RESULTS = {
    "streams in other pieces": ("same", of(stream("a\n"), stream("b\n")), printed("a\nb\n")),
    "all differ": ("varies", printed("drew 0.1"), printed("drew 0.2"), printed("drew 0.3")),
    "the record now and then": ("varies", printed("heads"), printed("tails"), printed("heads")),
    "the record first": ("same", printed("heads"), printed("heads"), printed("tails")),
    "a failure now and then": ("same", printed("42"), printed("42"), FAILED, printed("42")),
    "changed where it does not fail": ("changed", printed("41"), printed("42"), FAILED, printed("42")),
    "values of any sign and width": ("varies", *(of(shown(text_plain=text)) for text in ARRAYS)),
    "values that vary do not excuse other words": (
        "changed",
        printed("lost 0.1"),
        printed("drew 0.2"),
        printed("drew 0.3"),
    ),
    "a part that varies does not excuse another": ("changed", *PARTS),
}


@pytest.mark.parametrize("name", RESULTS)
def test_a_record_is_compared_with_all_executions_anew(name):
    expected, recorded, *again = RESULTS[name]
    assert result(recorded, *again) == expected


@pytest.mark.parametrize(
    "again",
    [
        {"status": "error", "error": ErrorInfo("ValueError", "no")},
        {"status": "timeout", "error": ErrorInfo("Timeout", "")},
        {"names": (("x", "str"),)},
        {"names": ()},
        {"names": (("x", "int"), ("y", "int"))},
    ],
)
def test_another_structure_is_a_change(again):
    recorded = printed("0.1", names=(("x", "int"),))
    others = [printed(text, **{"names": (("x", "int"),), **again}) for text in ("0.2", "0.3")]
    judged = compare_with_record(recorded, others)
    assert judged.result == "changed"
    assert "->" in judged.why or "names" in judged.why


def test_type_and_message_of_errors_are_compared():
    one, other = (ErrorInfo("KeyError", "'x'"), ErrorInfo("KeyError", "'y'"))
    assert result(of(status="error", error=one), of(status="error", error=one)) == "same"
    assert (
        compare_with_record(of(status="error", error=one), [of(status="error", error=other)]).why
        == "message: 'x' -> 'y'"
    )


def test_fractions_have_a_tolerance_and_integers_none():
    assert result(printed("0.30000000000000004  x"), printed("0.3 x")) == "same"
    assert result(printed("1.00001"), printed("1.00002")) == "changed"
    assert result(printed("1.00001"), printed("1.00002"), tolerance=1e-4) == "same"
    assert result(printed("100000001"), printed("100000002"), tolerance=1e-4) == "changed"


def test_the_order_of_lines_counts_without_threads():
    one, other = "worker 1\nworker 2\n", "worker 2\nworker 1\n"
    assert result(printed(one), printed(other)) == "changed"
    code = "import threading"
    assert result(printed(one, code=code), printed(other, code=code)) == "same"
    assert result(printed(one, code=code), printed("worker 2worker 1\n\n", code=code)) == "same"
    assert result(printed(one, code=code), printed("worker 3\nworker 1\n", code=code)) == "changed"
    assert result(printed(one, code=code), printed("workerworker 2\n 1\n", code=code)) == "same"
    assert result(printed(one, code=code), printed("workerworker 12\n\n", code=code)) == "same"
    assert result(printed("1234\n5\n", code=code), printed("4321\n5\n", code=code)) == "changed"


def test_markup_is_compared_tag_by_tag():
    one, other = "<td>0x7f2c3d4e5f60</td><td>3</td>", "<td>0x7f2c3d4e0000</td><td>3</td>"
    assert result(of(shown(text_html=one)), of(shown(text_html=other))) == "same"
    assert result(of(shown(text_html=one)), of(shown(text_html=other.replace("3</td>", "4</td>")))) == "changed"


def test_trees_are_compared_by_what_they_hold():
    def tree(value):
        return of({"output_type": "display_data", "data": {"application/json": value}, "metadata": {}})

    assert result(tree({"a": [1.0, {"b": None}]}), tree({"a": [1.0000000001, {"b": None}]})) == "same"
    assert result(tree({"a": 1.0}), tree({"a": 1})) == "same"
    assert result(tree({"a": True}), tree({"a": 1})) == "changed"
    judged = compare_with_record(tree({"a": [1, 2]}), [tree({"a": [1, 3]})])
    assert judged.why == "application/json: a[1]: 2 -> 3"


def drawn(size=(40, 40), *, changed=0, to=255, text=b""):
    """A PNG picture in base64, written by hand: grey, with so many lighter pixels, and a word in its metadata."""
    width, height = size
    grey = [to if n < changed else 128 for n in range(width * height)]
    rows = b"".join(b"\0" + bytes(grey[n * width : (n + 1) * width]) for n in range(height))

    def chunk(kind, data):
        return pack(">I", len(data)) + kind + data + pack(">I", zlib.crc32(kind + data))

    out = BytesIO()
    out.write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)))
    out.write(chunk(b"tEXt", b"Software\0" + text) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))
    return base64.b64encode(out.getvalue()).decode()


def test_pictures_without_pillow_are_compared_by_bytes(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "PIL", None)
    assert comparison.describe_image_difference(drawn(), drawn()) == ""
    assert comparison.describe_image_difference(drawn(), drawn(changed=1)) == "a different picture"


def test_pictures_are_compared_by_what_is_drawn():
    pytest.importorskip("PIL")
    assert comparison.describe_image_difference(drawn(text=b"one"), drawn(text=b"two")) == ""
    assert comparison.describe_image_difference(drawn(), drawn(changed=800))
    assert comparison.describe_image_difference(drawn(), drawn(size=(41, 40)))


def test_a_picture_with_another_detail_differs():
    pytest.importorskip("PIL")
    assert comparison.describe_image_difference(drawn((400, 400)), drawn((400, 400), changed=4)) == ""
    assert comparison.describe_image_difference(drawn((400, 400)), drawn((400, 400), changed=5)) == "a detail differs"


@pytest.mark.parametrize(("one", "other"), [("0.41", "0.47"), ("0.38", "0.33"), ("10", "18")])
def test_another_number_in_a_figure_is_seen(one, other):
    figure = pytest.importorskip("matplotlib.figure")

    def shown(title):
        out, made = BytesIO(), figure.Figure()
        made.add_subplot(title=title).plot([1, 2, 3])
        made.savefig(out, dpi=72)
        return base64.b64encode(out.getvalue()).decode()

    assert comparison.describe_image_difference(shown(one), shown(one)) == ""
    assert comparison.describe_image_difference(shown(one), shown(other)) == "a detail differs"


def test_what_is_not_a_picture_is_compared_exactly():
    broken = base64.b64encode(b"\x89PNG\r\n\x1a\nbroken").decode()
    assert comparison.describe_image_difference(broken, "") == "a different picture"
    assert comparison.describe_image_difference("no base64", "no base64 either") == "a different picture"

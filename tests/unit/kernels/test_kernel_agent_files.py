"""The agent inside a sibling: it reports what a cell did without running user code, in bounded messages."""

import pytest

from exploracoder_jupyter.kernel_agent.reporting import bounded_output, cell_report, notebook_names


@pytest.mark.parametrize(
    "code, bound",
    {
        "a = b = 1; c: int = 2; d += 1": {"a", "b", "c", "d"},
        "for i, (j, k) in x: pass\nwith o as p: q = 1": {"i", "j", "k", "p", "q"},
        "import a.b, c as d\nfrom e import f, g as h": {"a", "d", "f", "h"},
        "def f(x):\n    y = 1\nclass C:\n    z = 1\nasync def g(): w = 1": {"f", "C", "g"},
        "l = [m for m in n]; (o := 1); p.q = 1; r[0] = 1": {"l", "o"},
        "not python": set(),
    }.items(),
)
def test_names_bound_at_the_top_level(code, bound):
    assert notebook_names.bound_names(code) == bound


class Rude:
    def __repr__(self):
        raise AssertionError

    def __getattribute__(self, name):
        raise AssertionError

    __class__ = property(lambda self: AssertionError)


def test_names_are_ordered_by_last_mention():
    code = "a = 1\nb = a + c\ndef f(): return d\nfor e in b: a = e"
    assert notebook_names.mentioned_names(code) == ["c", "d", "f", "b", "e", "a"]


def test_imports_are_distinguished_from_other_names():
    assert notebook_names.imported_names("import a.b, c as d\nfrom e import f\ng = d") == {"a", "d", "f"}


def test_changed_names_are_new_rebound_or_mutated(monkeypatch):
    for name in ("_SECONDS_MENTIONED", "_SECONDS_OTHERS"):  # which a busy machine exceeds
        monkeypatch.setattr(cell_report, name, 5)
    kept = []
    namespace = {
        "same": kept,
        "again": kept,
        "grown": [1, 2],
        "longer": [1],
        "other": (1,),
        "_private": 1,
        "In": [],
        3: 4,
    }
    before = cell_report.take_snapshot(namespace, "")
    namespace["grown"][0] = 3
    namespace["longer"].append(2)
    namespace |= {"other": (2,), "new": 1.0, "fr": pytest}
    found = cell_report.find_changes(before, namespace, "import pytest as fr\nagain = again\ngrown\nnew")
    assert [(one.name, one.how, one.before) for one in found] == [
        ("new", "new", ""),
        ("grown", "mutated", ""),
        ("again", "rebound", ""),
        ("other", "rebound", ""),
        ("longer", "mutated", "1 item"),
        ("fr", "new", ""),
    ]


def test_attributes_of_the_users_objects_are_compared_passively():
    class Own(Rude):
        __module__ = "__main__"

    namespace = {"own": Own(), "rude": Rude()}
    before = cell_report.take_snapshot(namespace, "")
    for value in namespace.values():
        object.__getattribute__(value, "__dict__")["x"] = 1
    assert [one.name for one in cell_report.find_changes(before, namespace, "")] == ["own"]


def test_many_mentioned_names_are_all_compared(monkeypatch):
    monkeypatch.setattr(cell_report, "_SECONDS_OTHERS", 0)
    namespace = {"first": [1], "other": [1]} | {f"v{number}": [number] for number in range(100)}
    before = cell_report.take_snapshot(namespace, "first.append(2)")
    namespace["first"].append(2)
    namespace["other"].append(2)
    assert [one.name for one in cell_report.find_changes(before, namespace, "first.append(2)")] == ["first"]


def test_streams_lose_their_middle_and_count_it():
    content = bounded_output.bound_content("stream", {"name": "stdout", "text": "a" * 50 + "b" * 50}, 20)
    assert content == {"name": "stdout", "text": "a" * 10 + "b" * 10, "cut": 80}


def test_results_name_losses_and_drop_huge_images():
    data = {"text/plain": "a" * 100, "image/png": "i" * 1000, "text/html": "short"}
    bounded = bounded_output.bound_content("execute_result", {"data": data, "metadata": {}}, 20)["data"]
    assert bounded["text/plain"] == "a" * 10 + "\n... [80 characters cut] ...\n" + "a" * 10
    assert set(bounded) == {"text/plain", "text/html"}


LONG = {
    "values": ("display_data", {"data": {"application/json": list(range(1000))}, "metadata": {}}),
    "types": ("display_data", {"data": {f"a/{number}": "x" * 50 for number in range(100)}, "metadata": {}}),
    "metadata": ("display_data", {"data": {}, "metadata": {"m": ["x" * 1000]}}),
    "name": ("error", {"ename": "E" * 1000, "evalue": "", "traceback": []}),
    "lines": ("error", {"ename": "E", "evalue": "", "traceback": ["line"] * 1000}),
}


@pytest.mark.parametrize("kind, content", LONG.values(), ids=LONG)
def test_whatever_a_message_holds_is_bounded(kind, content):
    assert bounded_output.encoded_size(bounded_output.bound_content(kind, content, 100)) < 700


def test_first_and_last_lines_are_kept():
    lines = bounded_output.shorten_lines([str(number) for number in range(1000)], 30)
    assert lines == ["0", "1", "2", "3", "4", "... [992 lines cut] ...", "997", "998", "999"]
    assert bounded_output.shorten_lines(["a", "b"], 30) == ["a", "b"]
    last = bounded_output.shorten_lines(["first", "x" * 5000, "last"], 1000)
    assert (last[0], last[-1]) == ("first", "last")
    assert "characters cut" in last[1]

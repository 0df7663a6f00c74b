"""Summaries of plugins: found by the package of a value, run in the forked child alone, isolated like all others."""

import sys

from exploracoder_jupyter.kernel_agent.summaries.summarizer import Summarizer, Summary

Ledger = type("Ledger", (), {"__module__": "tidebook.books"})
Lines = type("Lines", (list,), {"__module__": "tidebook.books"})
CODE = """
def ledger(value, options):
    yield ("3 lines",)
    yield f"first: {options.short([1, 2])}"
    yield ("total 9", True, "total: int")

describers = {"tidebook.Ledger": ledger, "builtins.list": ledger}
"""


def _summarize(register_plugin, code, value, name="tidebook"):
    register_plugin({"summarizers": f"{name} = explora_tides"}, code)
    (summary,) = Summarizer().tell([value])
    return summary


def test_a_plugin_describes_values_in_the_child(register_plugin):
    summary = _summarize(register_plugin, CODE, Ledger())
    text = "tidebook.books.Ledger: 3 lines\n  first: [1, 2]\n  total 9"
    assert summary == Summary(text, "tidebook.books.Ledger: 3 lines\n  total: int")
    assert "explora_tides" not in sys.modules


def test_a_subclass_of_a_described_class_is_described(register_plugin):
    assert _summarize(register_plugin, CODE, type("More", (Ledger,), {})()).text.endswith("total 9")


def test_no_built_in_describer_is_replaced(register_plugin):
    assert "3 lines" not in _summarize(register_plugin, CODE, [1], name="builtins").text
    assert "1 item" in Summarizer().tell([Lines([1])])[0].text


def test_an_unloadable_plugin_is_named(register_plugin):
    value = Ledger()
    value.total = 9
    text = _summarize(register_plugin, "import missing_tides", value).text
    assert "the summarizer 'tidebook' of explora-tides 0.1 cannot be loaded: ModuleNotFoundError" in text
    assert "total = 9" in text


def test_a_hanging_plugin_costs_one_value(register_plugin):
    register_plugin({"summarizers": "tidebook = explora_tides"}, "import time; time.sleep(3600)")
    hung, other = Summarizer().tell([Ledger(), ValueError("x")], seconds=30.0)
    assert hung.text == "tidebook.books.Ledger\n  (summary timed out)"
    assert other.text == "ValueError: x"


def test_a_plugin_that_raises_or_exits_is_noted(register_plugin):
    code = CODE.replace('    yield f"first', '    raise SystemExit\n    yield f"first')
    assert _summarize(register_plugin, code, Ledger()).text == (
        "tidebook.books.Ledger: 3 lines\n  (to tell more raises SystemExit)"
    )


def test_a_file_here_does_not_shadow_a_plugin(register_plugin, tmp_path, monkeypatch):
    (tmp_path / "explora_tides.py").write_text(CODE.replace("3 lines", "planted"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend("")
    assert "3 lines" in _summarize(register_plugin, CODE, Ledger()).text

"""What is listed of a library's objects after a failure."""

import sys
from types import ModuleType

import pytest

from exploracoder_jupyter.kernel_agent.reporting.failing_objects import describe_failing_objects


class Basin:
    depth = 3

    def __init__(self):
        self._hidden, self.value = 1, "not shown"

    def fill(self, level, *, slowly=False): ...

    @property
    def level(self):
        raise RuntimeError("must not be evaluated")

    def _inner(self): ...


class Sluice:
    def shut(self): ...


Basin.__module__, Sluice.__module__ = "tides.basins", "tides"
TIDES = ModuleType("tides")
TIDES.Basin = Basin


@pytest.fixture
def failed(monkeypatch):
    def fail(code, **names):
        names["__name__"] = "__main__"
        try:
            exec(code, names)
        except Exception as error:
            monkeypatch.setattr(sys, "last_value", error, raising=False)
        return describe_failing_objects(["tides"], names)

    return fail


def test_the_object_whose_attribute_is_missing_comes_first(failed):
    text = failed("basin.drain()", sluice=Sluice(), basin=Basin(), other=Sluice())
    first, second = text.splitlines()
    assert first == "tides.basins.Basin has: depth, fill(self, level, *, slowly=False), level"
    assert second.startswith("tides.Sluice has: shut(")
    assert "not shown" not in text


def test_variables_of_the_failing_function_come_first(failed):
    code = "def work():\n    sluice = make()\n    sluice.shut(1, 2)\nwork()"
    text = failed(code, make=Sluice, basin=Basin())
    assert [line.split()[0] for line in text.splitlines()] == ["tides.Sluice", "tides.basins.Basin"]


def test_a_module_is_listed_where_attributes_lack(failed):
    assert failed("tides.Lock", tides=TIDES) == "tides has: Basin"
    assert failed("1 / 0", tides=TIDES, kind=Basin) == ""


def test_objects_of_other_packages_are_not_listed(failed):
    assert failed("[].push(1)", number=1) == ""

"""The digest of a unit: the same for what gives the same result, another one for anything else."""

from dataclasses import replace

import pytest

from exploracoder_jupyter.core.errors import UsageError
from exploracoder_jupyter.evaluation import Problem, Unit

PROBLEM = Problem("p1", "Sum the list.", ("statistics",), ("assert total == 6",), setup="numbers = [1, 2, 3]")
UNIT = Unit(PROBLEM)


def test_only_what_determines_results_changes_the_digest():
    others = [
        Unit(PROBLEM, "direct"),
        replace(UNIT, sample=1),
        *(
            replace(UNIT, settings=layer)
            for layer in ({"exploration": {"candidates": 3}}, {"endpoint": {"model": "m"}})
        ),
        *(
            replace(UNIT, problem=replace(PROBLEM, **change))
            for change in (
                {"id": "p2"},
                {"task": "Sum it."},
                {"setup": "numbers = []"},
                {"tests": ("assert 1",)},
                {"live": ("numbers",)},
                {"check": "assert total"},
            )
        ),
    ]
    assert len({unit.digest for unit in (UNIT, *others)}) == len(others) + 1
    layer = {
        "exploration": {"candidates": 5, "strategy": "direct"},
        "endpoint": {"base_url": "http://models.example/v1", "retries": 0},
        "view": {"out": "elsewhere.ipynb"},
    }
    same = replace(UNIT, settings=layer, problem=replace(PROBLEM, solution="total = sum(numbers)"))
    assert same.digest == UNIT.digest


def test_documentation_counts_by_its_content(tmp_path):
    digests = []
    for name, text in (("a", "one"), ("b", "one"), ("c", "two")):
        (tmp_path / name / "docs").mkdir(parents=True)
        (tmp_path / name / "docs" / "page.md").write_text(text)
        digests.append(Unit(replace(PROBLEM, folder=tmp_path / name, docs=("docs",))).digest)
    assert digests[0] == digests[1] != digests[2]
    assert digests[0] != UNIT.digest


def test_the_machine_has_no_effect_on_the_settings(tmp_path, monkeypatch):
    before = UNIT.digest, UNIT.layer
    (tmp_path / "config.toml").write_text("[exploration]\ncandidates = 2\n")
    monkeypatch.setenv("EXPLORACODER_CONFIG", str(tmp_path / "config.toml"))
    monkeypatch.setenv("EXPLORACODER_MODEL", "another")
    assert (UNIT.digest, UNIT.layer) == before
    assert UNIT.layer["exploration"]["candidates"] == 5
    assert "base_url" not in UNIT.layer["endpoint"]


def test_only_differing_settings_are_recorded():
    unit = Unit(PROBLEM, "direct", settings={"exploration": {"candidates": 3, "subtasks": 8}})
    assert unit.changed_settings == {"exploration": {"candidates": 3, "strategy": "direct"}}
    with pytest.raises(UsageError, match="candidate"):
        assert Unit(PROBLEM, settings={"exploration": {"candidate": 3}}).digest

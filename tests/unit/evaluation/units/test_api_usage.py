"""APIs that a solution uses: those that do not exist, and gold ones."""

from dataclasses import replace

import pytest

from exploracoder_jupyter.core.types import ErrorInfo
from exploracoder_jupyter.evaluation.scoring import find_missing_apis, measure_gold_apis
from tests.unit.world import FewApis, InlineBranch, api

APIS = FewApis(
    (
        api("statistics.mean"),
        api("statistics.median"),
        api("statistics.NormalDist", kind="class"),
        api("statistics.NormalDist.overlap", kind="method"),
        api("statistics.NormalDist.index", kind="method"),
    )
)


class PrintingBranch(InlineBranch):
    """Gives what is printed as an output, as a kernel does."""

    async def run(self, code, *, timeout):
        seen = await super().run(code, timeout=timeout)
        return replace(seen, outputs=({"output_type": "stream", "name": "stdout", "text": seen.text},))

    async def fork(self, n):
        return [PrintingBranch(self.codes, self.log) for _ in range(n)]


@pytest.mark.parametrize(
    ("code", "missing"),
    [
        ("import statistics\nstatistics.mean([1])", ()),
        ("import statistics as st\nst.average([1])", ("statistics.average",)),
        ("from statistics import median, middle", ("statistics.middle",)),
        ("from statistics import NormalDist\nNormalDist.from_values([1])", ("statistics.NormalDist.from_values",)),
        ("import statistics.robust", ("statistics.robust",)),
        ("import os\nos.no_such_call()", ()),
        ("import statistics\nstatistics = object()\nstatistics.anything", ()),
        ("def broken(:", ()),
        ("stats.average([1])", ("statistics.average",)),
    ],
)
async def test_names_that_do_not_exist_are_found(code, missing):
    setup = "import statistics as stats"
    found = await find_missing_apis(PrintingBranch(), code, {"statistics"}, setup=setup, errors=(), timeout=60)
    assert found == missing


async def test_a_missing_method_is_known_by_its_error():
    errors = [
        ErrorInfo("AttributeError", message)
        for message in (
            "'NormalDist' object has no attribute 'average'. Did you mean: 'variance'?",
            "type object 'NormalDist' has no attribute 'fit'",
            "'list' object has no attribute 'average'",
        )
    ]
    code = "from statistics import NormalDist"
    found = await find_missing_apis(PrintingBranch(), code, {"statistics"}, errors=errors, timeout=60)
    assert found == ("NormalDist.average", "NormalDist.fit")


@pytest.mark.parametrize(
    ("code", "gold", "expected"),
    [
        ("d.index(1)", [["statistics.NormalDist.index"]], (1.0, 1.0)),
        ("from statistics import mean\nmean([1])", [["statistics.mean"]], (1.0, 1.0)),
        ("from statistics import mean\nmean([1])", [["mean"]], (1.0, 1.0)),
        ("from statistics import mean\nmean([1])", [["fmean", "statistics.mean"], ["median"]], (0.5, 1.0)),
        ("import statistics as s\ns.mean([1]), s.median([1])", [["statistics.mean"]], (1.0, 0.5)),
        ("a.overlap(b)", [["statistics.NormalDist.overlap"]], (1.0, 1.0)),
        ("[1].index(1)", [["statistics.NormalDist.overlap"]], (0.0, None)),
        ("x = 1", [], (None, None)),
    ],
)
def test_recall_and_precision_of_gold_apis(code, gold, expected):
    assert measure_gold_apis(code, gold, APIS, types={"d": "statistics.NormalDist"}) == expected

"""Which APIs a snippet calls."""

import pytest

from exploracoder_jupyter.core.types import Candidate, Experience, Observation, Subtask
from exploracoder_jupyter.pipeline.code_analysis import find_called_apis, known_types
from exploracoder_jupyter.pipeline.exploring.candidates import fingerprint
from tests.unit.world import FewApis, api

KNOWN = FewApis([api("nx.path"), api("nx.Graph", kind="class"), api("nx.Graph.add", kind="method"), api("nx.sub.deep")])


def test_imports_are_resolved_with_their_aliases():
    code = "import nx as n\nfrom nx import path as p\nfrom nx.sub import deep\nn.Graph()\np(1)\ndeep()\nprint(1)"
    assert find_called_apis(code, KNOWN) == ("nx.Graph", "nx.path", "nx.sub.deep")


def test_methods_are_resolved_by_types_then_recommendation():
    assert find_called_apis("g.add(1)", KNOWN, types={"g": "nx.Graph"}) == ("nx.Graph.add",)
    assert find_called_apis("g.add(1)", KNOWN, recommended=[api("nx.Graph.add", kind="method")]) == ("nx.Graph.add",)
    assert find_called_apis("g.add(1)", KNOWN) == ()


def test_types_are_known_from_what_ran():
    def seen(status, kind):
        return Experience(Subtask("1", "s"), Candidate("1.1", "1", "g"), Observation(status, names=(("g", kind),)))

    assert known_types([seen("ok", "nx.Graph"), seen("error", "nx.Lost")]) == {"g": "nx.Graph"}


@pytest.mark.parametrize("code", ["x = " + "(" * 20_000, "x = " + "-" * 20_000 + "1", "x = 0" + " + 1" * 20_000])
def test_bottomless_code_is_its_own_fingerprint(code):
    assert find_called_apis(code, KNOWN) == ()
    assert fingerprint(code) == code


def test_imports_of_cells_before_still_hold():
    before = ["import nx as n", "def (", "from nx import path"]
    assert find_called_apis("n.Graph()\npath(1)", KNOWN, before=before) == ("nx.Graph", "nx.path")
    assert find_called_apis("import other as n\nn.Graph()", KNOWN, before=before) == ()
    assert find_called_apis("n.Graph()", KNOWN) == ()

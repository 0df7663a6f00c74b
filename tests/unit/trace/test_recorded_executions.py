"""What was executed in a run, and from which state: identified by marks that candidates leave in their state."""

import ast
from collections import Counter

import pytest

from exploracoder_jupyter.pipeline import CarriedSubtask, ResumePoint, run_task
from exploracoder_jupyter.protocol.messages import Choose, Retry, Skip
from exploracoder_jupyter.trace.reading import executions
from tests.unit.factories import complete_run, recorded
from tests.unit.pipeline.test_steering import FAILING, steered
from tests.unit.pipeline.test_task_run import fenced
from tests.unit.trace.test_correctness_cells import run as a_tested_run


def mark(id, before="globals().get('marks', [])"):
    return f"marks = [*{before}, '{id}']\nprint(marks)"


class Marking:
    """Two candidates a subtask, each of which leaves its own id behind those of the candidates before it."""

    def __init__(self, *, failing=()):
        self.numbers = Counter()
        self.failing = failing

    def __call__(self, request):
        return [self._candidate(request.subject) for _ in "ab"]

    def _candidate(self, subtask):
        self.numbers[subtask] += 1
        return fenced(f"{mark(f'{subtask}.{self.numbers[subtask]}')}{'; 1/0' if subtask in self.failing else ''}")


def ancestors(found, id):
    """The ids from the first candidate to this one, by what the executions say."""
    return [*ancestors(found, found[id].parent), id] if id else []


RUNS = {
    "straight on": {},
    "explored again": {"moments": {("propose", "3"): [Retry("1")], ("solve", "solution"): [Retry("2")]}},
    "another candidate": {"moments": {("propose", "2"): [Choose("1.2")]}},
    "chosen in another state": {"moments": {("propose", "3"): [Retry("1")], ("solve", "solution"): [Choose("2.2")]}},
    "skipped": {"moments": {("propose", "2"): [Skip("2")]}},
    "skipped, then wanted": {"moments": {("propose", "2"): [Skip("2")], ("propose", "3"): [Retry("2")]}},
    "failed": {"propose": Marking(failing=("2",)), "debug": FAILING[0]},
    "given": {"given": ResumePoint(("a", "b", "c"), (CarriedSubtask(mark("1.1")), CarriedSubtask(mark("2.1"))))},
}


@pytest.mark.parametrize("name", RUNS)
async def test_parents_are_states_the_code_ran_in(name):
    options = {"propose": Marking(), **RUNS[name]}
    if isinstance(options["propose"], Marking):
        options["propose"].numbers.clear()
    if "given" in options:
        options["propose"].numbers.update({"1": 1, "2": 1})
    moments = options.pop("moments", {})
    run, _ = steered(moments, holds=True, **options)
    await run_task(run)
    found = {one.id: one for one in executions(recorded(run.emit.__self__))}
    marked = {id: one for id, one in found.items() if one.kind == "candidate" and "r" not in id}
    assert len(marked) >= 4
    for id, one in marked.items():
        assert ast.literal_eval(one.observation.text.strip()) == ancestors(found, id)
    assert all(one.parent == "" for one in found.values() if one.kind != "candidate")


async def test_repairs_start_where_what_they_repair_did():
    run, _ = steered(propose=Marking(failing=("2",)), debug=fenced(mark("2.1r1")))
    await run_task(run)
    found = {one.id: one for one in executions(recorded(run.emit.__self__))}
    assert (found["2.1"].parent, found["2.1r1"].parent, found["3.1"].parent) == ("1.1", "1.1", "2.1r1")


def test_each_execution_is_listed_once():
    found = executions(complete_run())
    assert [one.id for one in found] == ["1.1", "1.2", "2.1", "2.1r1", "s1", "s2"]
    assert [one.id for one in found if one.selected] == ["1.2", "2.1r1", "s2"]
    assert [one.kind for one in found][-1] == "solution"
    assert found[-1].code == "print('the end')"
    assert found[1].apis == ("networkx.karate_club_graph",)


def test_inputs_run_with_the_program_from_the_start():
    found = [one for one in executions(recorded(a_tested_run())) if one.kind == "input"]
    assert [one.id for one in found] == ["s1-t1", "s1-t2", "s1-t3", "s2-t1", "s2-t2", "s2-t3"]
    assert found[0].code == "naive"
    assert found[0].given.before == "df = frame()"
    assert {one.parent for one in found} == {""}

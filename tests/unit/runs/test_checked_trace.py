"""What a check reads before it executes anything: the trace, its records, or the notebook that led to it."""

import json
from dataclasses import replace

import nbformat
import pytest

from exploracoder_jupyter.core.configuration.sections import Sandbox
from exploracoder_jupyter.core.configuration.settings import Settings
from exploracoder_jupyter.core.errors import UsageError
from exploracoder_jupyter.core.events import CandidateObserved, Notice, Record, RunFinished, RunStarted, SolutionJudged
from exploracoder_jupyter.core.types import Judgement, LibraryInfo
from exploracoder_jupyter.runs.order import TraceLock
from exploracoder_jupyter.runs.trace_check.checked_trace import (
    code_before_run,
    find_explorations,
    find_unfounded_claims,
    read_subject,
)
from exploracoder_jupyter.runs.trace_check.environments import describe_differences, lock_of, matching_sandbox
from exploracoder_jupyter.trace import render
from exploracoder_jupyter.trace.edits import without_unselected
from exploracoder_jupyter.trace.file import serialize_notebook
from exploracoder_jupyter.trace.reading import executions
from tests.unit.factories import RUN_ID, complete_events, recorded
from tests.unit.trace.views import journaled

code, words = nbformat.v4.new_code_cell, nbformat.v4.new_markdown_cell


def events(change=lambda event: event, *, check="assert True"):
    """Those of a whole run whose task has a check."""
    whole = complete_events()
    begun = replace(whole[0], task=replace(whole[0].task, check=check))
    return [change(event) for event in [begun, *whole[1:]]]


def written(path, records):
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(serialize_notebook(render(records)))
    return path


def settings(**sandbox):
    """A change of events: a run with these settings."""
    return lambda event: replace(event, settings={"sandbox": sandbox}) if isinstance(event, RunStarted) else event


@pytest.fixture
def trace(tmp_path):
    return written(tmp_path / "explorations" / "networkx.ipynb", recorded(events()))


def reported_differences(subject):
    """The differences reported for a matching environment."""
    sandbox = matching_sandbox(subject, Settings(), network=False, kernel=None)
    return describe_differences(subject, subject.started.environment, sandbox)


def claims(change, **options):
    records = recorded(events(change, **options))
    return find_unfounded_claims(records, executions(records))


def ending(**changes):
    """A change of events: a run with another end."""
    return lambda event: replace(event, **changes) if isinstance(event, RunFinished) else event


class TestClaims:
    def test_outcomes_are_confirmed_by_what_ran(self):
        assert claims(lambda event: event) == {}

    def test_a_solution_is_the_code_that_was_run(self):
        change = ending(solution=replace(events()[-1].solution, code="print('another end')"))
        assert claims(change) == {"s2": "the solution is not the code that was run"}

    @pytest.mark.parametrize("outcome", ["solved", "unchecked"])
    def test_a_verdict_needs_a_solution_that_ran(self, outcome):
        def change(event):
            match event:
                case CandidateObserved(candidate="s2"):
                    return replace(event, observation=replace(event.observation, status="error"))
                case RunFinished():
                    return replace(event, verdict=replace(event.verdict, outcome=outcome))
            return event

        assert claims(change) == {"verdict": f"it is {outcome}, but no solution ran"}

    def test_solved_is_what_was_checked_or_judged_right(self):
        assert claims(lambda event: event, check=None) == {"verdict": "it is solved, but nothing was checked"}
        whole = events(check=None)
        whole.insert(-1, SolutionJudged("s2", Judgement("right")))
        assert find_unfounded_claims(recorded(whole), executions(recorded(whole))) == {}

    def test_joined_code_of_a_stop_was_never_run(self):
        last = events()[-1]
        joined = replace(last.solution, code="1\n2", candidate="2.1r1")
        assert claims(ending(verdict=replace(last.verdict, outcome="stopped"), solution=joined)) == {}

    def test_versions_of_libraries_are_those_of_the_packages(self):
        def change(event):
            return (
                replace(event, libraries=(LibraryInfo("networkx", "NetworkX", "9.9"),))
                if hasattr(event, "libraries")
                else event
            )

        assert "networkx is recorded as 9.9" in claims(change)["libraries"]


class TestReading:
    def test_a_whole_trace_is_as_it_was(self, trace):
        subject = read_subject(trace)
        assert subject.edited == {}
        assert [one.id for one in subject.executions] == ["1.1", "1.2", "2.1", "2.1r1", "s1", "s2"]

    def test_a_journal_completes_a_cut_off_notebook(self, trace):
        journaled(trace, recorded(events()))
        subject = read_subject(written(trace, recorded(events())[:-8]))
        assert subject.executions[-1].id == "s2"
        assert (subject.edited, subject.complete) == ({}, False)
        assert any("journal" in clause for clause in reported_differences(subject))

    def test_an_active_run_is_reported_as_such(self, trace):
        journaled(trace, recorded(events()))
        written(trace, recorded(events())[:-8])
        run = TraceLock(trace)
        subject = read_subject(trace)
        run.release()
        assert subject.edited == {}
        assert reported_differences(subject) == (
            "the run is still active: only what it has recorded so far is checked",
        )
        assert not read_subject(trace).is_active

    def test_a_journal_does_not_hide_an_edited_notebook(self, trace):
        journaled(trace, [*recorded(events()), Record(99, 0.0, Notice("more"))])
        trace.write_text(trace.read_text().replace("%%explored 1.1\\n", "%%explored 1.1\\nmine\\n"))
        assert read_subject(trace).edited == {"1.1": "its code was edited"}

    def test_one_of_a_later_version_is_refused(self, trace):
        notebook = json.loads(trace.read_text())
        notebook["metadata"]["exploracoder_jupyter"]["schema_version"] = 99
        trace.write_text(json.dumps(notebook))
        with pytest.raises(UsageError, match="trace format 99"):
            read_subject(trace)


class TestSurroundings:
    def test_an_interpreter_only_in_traces_is_not_started(self, trace):
        for setting in ("kernel", "python"):
            subject = read_subject(written(trace, recorded(events(settings(**{setting: "/tmp/evil/python"})))))
            sandbox = matching_sandbox(subject, Settings(), network=False, kernel=None)
            assert (sandbox.kernel, sandbox.python) == (None, None)
            assert any("/tmp/evil/python" in clause for clause in reported_differences(subject))

    def test_a_kernelspec_or_a_named_interpreter_is_used(self, trace):
        subject = read_subject(written(trace, recorded(events(settings(kernel="my-kernel")))))
        assert matching_sandbox(subject, Settings(), network=False, kernel=None).kernel == "my-kernel"
        assert matching_sandbox(subject, Settings(), network=False, kernel="/opt/python").kernel == "/opt/python"

    def test_what_is_stricter_now_stays_so(self, trace):
        subject = read_subject(
            written(trace, recorded(events(settings(memory_mb=99_000, isolation="best", branching="fork"))))
        )
        now = Settings(sandbox=Sandbox(memory_mb=1_000, isolation="require"))
        sandbox = matching_sandbox(subject, now, network=False, kernel=None)
        assert (sandbox.memory_mb, sandbox.isolation, sandbox.branching) == (1_000, "require", "auto")
        assert "memory_mb 99000 -> 1000" in describe_differences(subject, subject.started.environment, sandbox)
        assert matching_sandbox(subject, now, network=False, kernel=None, isolation="best").isolation == "best"

    def test_only_installed_packages_are_requested_of_an_index(self, trace):
        """Not the standard library, nor a library that lies beside the notebook: an index may have others."""

        def change(event):
            libraries = (
                LibraryInfo("networkx", "networkx", "3.6.1"),
                LibraryInfo("statistics", "python", "3.11.9"),
                LibraryInfo("tidebook", "tidebook", ""),
                LibraryInfo("odd", "--index-url=http://evil", "1"),
            )
            return replace(event, libraries=libraries) if hasattr(event, "libraries") else event

        lock = lock_of(read_subject(written(trace, recorded(events(change)))), ())
        assert lock.requirements(lock.libraries) == ["networkx==3.6.1", "ipykernel"]

    def test_packages_from_no_index_are_requested_of_none(self, trace):
        def begun(*unindexed):
            def change(event):
                if not isinstance(event, RunStarted):
                    return event
                return replace(event, environment=replace(event.environment, unindexed=unindexed))

            return read_subject(written(trace, recorded(events(change))))

        assert "numpy" not in lock_of(begun("NumPy"), ()).versions
        with pytest.raises(UsageError, match=r"networkx came from a folder.*--with NAME==VERSION"):
            lock_of(begun("networkx"), ("numpy==2.3.0",))
        assert lock_of(begun("networkx"), ("networkx==3.6",)).versions["networkx"] == "3.6"


class TestNotebooksThatExplored:
    @staticmethod
    def notebook(path, *cells):
        nbformat.write(nbformat.v4.new_notebook(cells=list(cells)), path)
        return path

    @pytest.mark.parametrize(
        "line",
        [
            "%%explora networkx --out explorations/networkx.ipynb",
            "%%explora networkx --out=explorations/networkx.ipynb --wait",
            "%%explora networkx --out 'explorations/networkx.ipynb'",
        ],
    )
    def test_a_trace_is_found_by_the_call(self, tmp_path, trace, line):
        cells = [code("%load_ext exploracoder_jupyter"), code("x = 1"), code(f"{line}\nDo it."), code("y = 2")]
        [found] = find_explorations(self.notebook(tmp_path / "mine.ipynb", *cells))
        assert (found.trace, found.before, found.edited) == (trace, ("x = 1",), ())

    def test_a_trace_is_found_by_the_calls_output(self, tmp_path, trace):
        output = nbformat.v4.new_output(
            "display_data", {"text/html": "<div>Trace: <code>explorations/networkx.ipynb</code></div>"}
        )
        [found] = find_explorations(
            self.notebook(tmp_path / "mine.ipynb", code("%%explora networkx\nDo it.", outputs=[output]))
        )
        assert found.trace == trace

    def test_a_trace_is_found_by_its_run(self, tmp_path, trace):
        mark = {"exploracoder_jupyter": {"role": "candidate", "candidate": "1.1", "run_id": RUN_ID, "source_hash": "0"}}
        cells = [code("x = 1"), code("%%explora networkx\nDo it."), code("%%explored 1.1\nmine", metadata=mark)]
        [found] = find_explorations(self.notebook(tmp_path / "mine.ipynb", *cells))
        assert (found.trace, found.before, found.edited) == (trace, ("x = 1",), ("1.1",))

    def test_each_exploration_has_what_stands_before_it(self, tmp_path, trace):
        other = written(tmp_path / "explorations" / "other.ipynb", recorded(events()))
        calls = [code(f"%%explora networkx --out explorations/{path.name}\nDo it.") for path in (trace, other)]
        cells = [code("x = 1"), calls[0], code("y = 2"), calls[1]]
        found = find_explorations(self.notebook(tmp_path / "mine.ipynb", *cells))
        assert {one.trace: one.before for one in found} == {trace: ("x = 1",), other: ("x = 1", "y = 2")}

    @pytest.mark.parametrize("option", ["", " --out ~nobody-of-this-name/a.ipynb"])
    def test_a_trace_that_is_gone_is_missed(self, tmp_path, option):
        with pytest.raises(UsageError, match="their traces were not found"):
            find_explorations(self.notebook(tmp_path / "mine.ipynb", code(f"%%explora networkx{option}\nDo it.")))

    def test_an_export_leads_to_its_trace(self, trace):
        made = trace.with_name("networkx-selected.ipynb")
        made.write_bytes(serialize_notebook(without_unselected(nbformat.read(trace, 4))))
        assert [found.trace for found in find_explorations(made)] == [trace]
        trace.unlink()
        assert find_explorations(made) == ()
        with pytest.raises(UsageError, match="was exported from a trace"):
            read_subject(made)

    def test_a_notebook_that_explored_nothing_leads_nowhere(self, tmp_path, trace):
        assert find_explorations(trace) == ()
        assert find_explorations(self.notebook(tmp_path / "mine.ipynb", code("x = 1"))) == ()
        assert find_explorations(tmp_path / "nowhere.ipynb") == ()

    def test_code_before_an_exploration_is_the_users(self):
        cells = [words("Hi"), code("%load_ext exploracoder_jupyter"), code("%load_ext exploracoder_jupyter\nx = 1")]
        cells += [code("y = 2"), code("%%explora networkx\nDo it."), code("z = 3")]
        assert code_before_run(nbformat.v4.new_notebook(cells=cells)) == ("x = 1", "y = 2")
        mark = {"exploracoder_jupyter": {"role": "task", "run_id": "0" * 8}}
        cells = [code("x = 1"), words("# Task", metadata=mark), code("z = 3")]
        assert code_before_run(nbformat.v4.new_notebook(cells=cells)) == ("x = 1",)

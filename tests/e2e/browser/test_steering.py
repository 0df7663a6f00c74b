"""What the user asks for in the sidebar is acknowledged at once and happens, whatever the kernel is busy with."""

import pytest

from tests.e2e.browser.lab import candidates, ended, metadata, of_role, source, text
from tests.e2e.browser.stories import FIRST, SECOND, start_run, two_scenes

DELAY_FIRST_SUBSHELL = """(() => {
  const own = Object.getOwnPropertyDescriptor(WebSocket.prototype, 'onmessage');
  const decoder = new TextDecoder();
  let delayed = false;
  const isReply = data => data instanceof ArrayBuffer && decoder.decode(data).includes('create_subshell_reply');
  Object.defineProperty(WebSocket.prototype, 'onmessage', {
    ...own,
    set(listener) {
      own.set.call(this, event => {
        const delay = !delayed && isReply(event.data);
        delayed ||= delay;
        window.subshellDelayed = delayed;
        delay ? setTimeout(() => listener(event), 4000) : listener(event);
      });
    }
  });
})()"""
"""JupyterLab receives the reply to its first request for a subshell 4 s late, as on a busy machine."""


def siblings(server):
    """Processes of runs: everything below the server but the kernels themselves."""
    kernels = [child for child in server.process().children() if "ipykernel" in " ".join(child.cmdline())]
    return [process for kernel in kernels for process in kernel.children(recursive=True) if process.is_running()]


def test_stop_ends_the_run_and_its_processes(tab, server, play):
    script = play(*two_scenes())
    gate = script.hold("propose", SECOND)
    notebook = start_run(tab, server, script)
    gate.reached()
    notebook.until(lambda cells: "selected" in metadata(candidates(cells).get("1.2", {})))
    tab.sidebar.open().stop()
    tab.until(lambda: "stopp" in tab.sidebar.text().lower(), "an acknowledgement", 1)
    cells = notebook.until_ended(10)
    assert metadata(of_role(cells, "plan")[0])["status"] == "stopped"
    tab.until(lambda: "not finished" in tab.sidebar.text(), "the sidebar to say what was left", 5)
    tab.until(lambda: not siblings(server), "the end of the run's processes", 10)


def test_a_subtask_is_skipped_and_retried_with_a_hint(tab, server, play):
    script = play(*two_scenes())
    first, second, solve = script.hold("propose", FIRST), script.hold("propose", SECOND), script.hold("solve")
    notebook = start_run(tab, server, script)
    first.reached()
    tab.sidebar.open().skip(FIRST)
    notebook.until(lambda cells: any(metadata(c).get("status") == "skipped" for c in of_role(cells, "subtask")))
    first.open()
    second.reached()
    second.open()
    solve.reached()
    tab.sidebar.retry(SECOND, "look from the other side")
    notebook.until(lambda cells: any("hinted" in source(c) for c in candidates(cells).values()))
    assert script.hints and set(script.hints) == {"look from the other side"}
    solve.open()
    notebook.until_ended()


@pytest.mark.full
def test_controls_work_where_the_subshell_of_jupyterlab_starts_late(tabs, server, play):
    """The page starts one of its own then; it was deleted when the other came, and what was sent to it was lost."""
    tab = tabs()
    tab.page.add_init_script(DELAY_FIRST_SUBSHELL)
    tab.reload()
    script = play(*two_scenes())
    gate = script.hold("propose", SECOND)
    notebook = start_run(tab, server, script)
    gate.reached()
    assert tab.page.evaluate("window.subshellDelayed")
    tab.page.wait_for_timeout(5000)
    tab.sidebar.open().stop()
    assert metadata(of_role(notebook.until_ended(10), "plan")[0])["status"] == "stopped"


def test_another_candidate_is_chosen_during_the_run_and_after_it(tab, server, play):
    script = play(*two_scenes())
    solve = script.hold("solve")
    notebook = start_run(tab, server, script)
    solve.reached()
    cells = notebook.until(lambda cells: "selected" in metadata(candidates(cells).get("2.2", {})))
    assert metadata(candidates(cells)["1.1"])["selected"]

    tab.sidebar.open().choose("1.2", FIRST)
    notebook.until(lambda cells: metadata(candidates(cells)["1.2"]).get("selected") is True, "the other candidate")
    notebook.until(
        lambda cells: any("spread 200" in text(c) for c in candidates(cells).values()), "what follows from it"
    )
    solve.open()
    before = notebook.until_ended()
    (run,) = {metadata(c)["run_id"] for c in candidates(before).values()}

    tab.sidebar.choose("1.1", FIRST, ended=True)
    cells = notebook.until(
        lambda cells: ended(cells) and {metadata(c)["run_id"] for c in of_role(cells, "plan")} != {run},
        "a run that goes on from the one that has ended",
    )
    assert any("around 2" in text(c) for c in candidates(cells).values())


def test_controls_work_while_the_kernel_is_busy(tab, server, play):
    script = play(*two_scenes())
    gate = script.hold("propose", SECOND)
    notebook = start_run(tab, server, script, more=("import time\nprint('asleep', flush=True)\ntime.sleep(600)",))
    gate.reached()
    cells = notebook.until(lambda cells: len(of_role(cells, "subtask")) == 2, "the last cell before the gate")
    notebook.run(len(cells) - 1)
    notebook.until(lambda cells: "asleep" in text(cells[-1]), "a busy kernel")
    tab.sidebar.open().stop()
    assert "KeyboardInterrupt" not in text(notebook.until_ended(10)[-1])
    notebook.do("async () => { await kernel.interrupt() }")
    notebook.until(lambda cells: "Interrupt" in str(cells[-1]["outputs"]), "the interrupt")

    waiting = play(*two_scenes())
    gate = waiting.hold("propose", SECOND)
    notebook = start_run(tab, server, waiting, "--wait", name="waiting.ipynb")
    gate.reached()
    notebook.until(lambda cells: "selected" in metadata(candidates(cells).get("1.2", {})), "cells while the cell waits")
    tab.sidebar.open().stop()
    notebook.until_ended(10)
    notebook.until_run(1)


def test_an_interrupt_ends_a_run_that_is_waited_for(tab, server, play):
    script = play(*two_scenes())
    gate = script.hold("propose", SECOND)
    notebook = start_run(tab, server, script, "--wait")
    gate.reached()
    notebook.do("async () => { await kernel.interrupt() }")
    notebook.until_run(1)
    assert metadata(of_role(notebook.until_ended(), "plan")[0])["status"] == "stopped"


def test_the_user_explores_step_by_step_while_a_whole_program_is_tried(tab, server, play):
    script = play(*two_scenes())
    program = script.hold("solve")
    notebook = start_run(tab, server, script, "--effort", "auto")
    program.reached()
    tab.shot("effort-direct")
    tab.sidebar.open().button("Explore step by step").click()
    notebook.until(lambda cells: "selected" in metadata(candidates(cells).get("1.2", {})))
    tab.sidebar.button("Explore step by step").wait_for(state="hidden")
    program.open()
    cells = notebook.until_ended()
    assert "You chose to explore." in source(of_role(cells, "plan")[0])
    tab.shot("effort-explored")

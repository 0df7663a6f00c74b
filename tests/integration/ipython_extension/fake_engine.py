"""Speaks the engine's protocol and explores nothing; what it does is named by the library that it is asked for."""

import json
import os
import signal
import sys
import time
from dataclasses import asdict
from pathlib import Path

from exploracoder_jupyter.core import events, types
from exploracoder_jupyter.protocol import messages
from exploracoder_jupyter.protocol.browser_messages import CellChange

_seq = 0


def send_event(event):
    global _seq
    _seq += 1
    send(messages.RecordMessage(record=events.Record(_seq, time.time(), event)))


def send(message):
    sys.stdout.write(messages.encode(message))
    sys.stdout.flush()


def end(outcome, reason, code=None):
    send_event(
        events.RunFinished(
            types.Verdict(outcome, reason), types.Solution(code, "s1") if code else None, types.Usage(2, 30, 12, 0.5, 1)
        )
    )
    send(
        messages.Finished(
            summary={"status": outcome, "reason": reason, "solution": code, "trace": "explorations/fake.ipynb"}
        )
    )


def until_stopped():
    for line in sys.stdin:
        if messages.decode_to_engine(line).type == "stop":
            return "asked"
    return "left alone"


def answer_of_a_fork():
    """What the kernel says when it is asked to fork, and how long that took."""
    before = time.monotonic()
    send(messages.ForkKernel(number=7, address="/run/engine"))
    answer = messages.decode_to_engine(sys.stdin.readline())
    return {**answer.model_dump(), "seconds": time.monotonic() - before}


def cell(name, source, **fields):
    metadata = {"exploracoder_jupyter": {"run_id": "0123abcd", "role": name, **fields}}
    return {"id": name, "cell_type": "markdown", "source": source, "metadata": metadata}


def insert(name, after, source=""):
    send(messages.CellsChanged(changes=[CellChange(action="insert", id=name, after=after, cell=cell(name, source))]))


def be_steered(anchor):
    """Insert a cell for each control that arrives."""
    send_event(events.PlanMade(types.Plan((types.Subtask("1", "Look"), types.Subtask("2", "Leap")))))
    send_event(events.SubtaskStarted("1", ()))
    insert("plan", anchor)
    send_event(events.CandidateProposed(types.Candidate("1.1", "1", "x = 1")))
    send_event(events.CandidateProposed(types.Candidate("1.2", "1", "x = 2")))
    send_event(events.CandidateObserved("1.1", types.Observation("ok", text="1", seconds=0.5)))
    send_event(events.CandidateObserved("1.2", types.Observation("ok")))
    send_event(events.CandidateSelected(types.Selection("1", "1.1", ("it ran",))))
    last = "plan"
    for number, line in enumerate(sys.stdin, 1):
        asked = messages.decode_to_engine(line)
        if asked.type == "stop":
            end("stopped", "By the user.")
            return
        if asked.type == "replan" and asked.titles == ("end",):
            end("unchecked", "It ran.", "answer = 42")
            return
        insert(f"control-{number}", last, arguments(asked))
        last = f"control-{number}"


def arguments(control):
    return json.dumps({name: value for name, value in asdict(control).items() if name != "type"}, separators=(",", ":"))


def main():
    start = messages.decode_to_engine(sys.stdin.readline())
    order = {**start.model_dump(), "pid": os.getpid(), "session": os.getsid(0) == os.getpid()}
    Path("order.json").write_text(json.dumps(order))
    kind = start.libraries[0]
    if kind == "hesitates":
        how = until_stopped()
        Path("ended").write_text(how)
        send(messages.Failed(error="The run was stopped before it began."))
        return
    if kind == "cannot":
        send(messages.Failed(error="There is no memory."))
        time.sleep(600)
    if kind == "forks-late":
        time.sleep(1)
        Path("forked.json").write_text(json.dumps(answer_of_a_fork()))
        time.sleep(1)
    send_event(
        events.RunStarted(
            "0123abcd",
            types.Task(start.task, tuple(start.libraries)),
            {},
            "fake",
            types.Environment("3", "L", "p", "none", "rerun"),
            "0",
        )
    )
    if kind == "refuses":
        send(messages.Failed(error="The library is unknown.", remedy="Install it."))
        return
    if kind == "steered":
        be_steered(start.cell)
        return
    send_event(events.Notice("Nothing is sent anywhere."))
    send_event(events.PlanMade(types.Plan((types.Subtask("1", "Look <around>"),))))
    send_event(events.CandidateProposed(types.Candidate("1.1", "1", "x = 1")))
    send_event(events.CandidateObserved("1.1", types.Observation("ok")))
    if kind == "dies" and len(start.libraries) > 1:
        send(messages.TraceAt(path="/notes/explorations/dies.ipynb"))
    if kind == "dies":
        sys.stderr.write("a last cry\n")
        os.kill(os.getpid(), signal.SIGKILL)
    if kind == "babbles":
        sys.stdout.write("this is no message\n")
    if kind == "stubborn":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        time.sleep(600)
    if kind == "forks":
        until = time.monotonic() + 20
        while len(start.libraries) > 1 and not Path(start.libraries[1]).exists() and time.monotonic() < until:
            time.sleep(0.01)
        Path("forked.draft").write_text(json.dumps(answer_of_a_fork()))
        Path("forked.draft").rename("forked.json")
    if kind == "writes":
        send_event(events.FilesKept(str(Path("kept").resolve()), ("a.csv", "new/b.csv")))
    if kind == "slow":
        how = until_stopped()
        Path("ended").write_text(how)
        end("stopped", "By the user.")
        return
    if kind == "shown":
        insert("plan", start.cell)
        insert("solution", "plan")
    if kind == "reviewed":
        send_event(events.PlanMade(types.Plan((types.Subtask("1", "Look"), types.Subtask("2", "Leap")))))
        send_event(events.ReviewAsked())
        asked = messages.decode_to_engine(sys.stdin.readline())
        Path("accepted.json").write_text(json.dumps(asdict(asked)))
        send_event(events.Steered("replan"))
    if kind == "unsolved":
        end("unsolved", "No solution ran.", "answer = 1 / 0")
        return
    end("unchecked", "It ran.", "answer = 42")


main()

"""Pages (browser tabs) as a kernel meets them: a connection with a session of its own, and the two comms."""

import time
import uuid
from queue import Empty

from jupyter_client.blocking import BlockingKernelClient

from exploracoder_jupyter.protocol.browser_messages import CONTROL, EVENTS, VERSION
from tests.integration.cells import cell_request
from tests.patience import is_over, patience


class Page:
    """One tab. `cells` is the part of its notebook that shows runs, changed only where it owns the run."""

    def __init__(self, manager, name):
        self.name = name
        self._client = BlockingKernelClient()
        self._client.load_connection_info(manager.get_connection_info())
        self._client.start_channels()
        self._client.shell_channel.socket.linger = self._client.iopub_channel.socket.linger = 0
        self._comm, self._requests, self._subshell = None, 0, None
        self._answers, self._event_comms, self._replies = {}, set(), {}
        self.deaf = False
        """Whether it answers nothing that the kernel asks."""
        self.openings, self.states, self.events, self.displays = [], {}, [], {}
        self.cells, self.seq = {}, {}

    @property
    def session(self):
        return self._client.session.session

    def close(self):
        self._client.stop_channels()

    def listen(self):
        """Wait until messages that the kernel publishes arrive."""
        began = time.monotonic()
        while not is_over(began, 30):
            self._client.kernel_info()
            try:
                self._handle(self._client.get_iopub_msg(timeout=0.5))
                return self
            except Empty:
                continue
        raise AssertionError("no message arrives")

    def connect(self, *, subshell=True):
        """Open the control comm, over a subshell, and say hello."""
        self._subshell = self._make_subshell() if subshell else None
        self._comm = uuid.uuid4().hex
        self._send("comm_open", comm_id=self._comm, target_name=CONTROL, data={})
        return self.hello()

    def hello(self, **fields):
        return self.ask("hello", **{"version": VERSION, "page": self.name, "session": self.session, **fields})

    def post(self, kind, **fields):
        """Send a control; its number."""
        self._requests += 1
        data = {"type": kind, "request": self._requests, **fields}
        self._send("comm_msg", comm_id=self._comm, data=data)
        return self._requests

    def ask(self, kind, *, seconds=20, **fields):
        """Send a control and wait for its answer."""
        return self.answer(self.post(kind, **fields), seconds)

    def answer(self, number, seconds=20):
        """Wait for the answer to a control."""
        self.until(lambda: number in self._answers, f"answer {number}", seconds)
        return self._answers[number]

    def sync(self, run):
        return self.restore(run, self.ask("sync", page=self.name, run=run))

    def restore(self, run, answer):
        """Take over a snapshot."""
        self.seq[run] = answer["seq"]
        self.cells[run] = {cell["id"]: cell for cell in answer["cells"]}
        self.states[run] = answer["state"]
        return answer

    def execute(self, code, cell="a-cell", **ours):
        """Begin a cell; its number."""
        metadata = {**({"cellId": cell} if cell else {}), "exploracoder_jupyter": ours}
        message = cell_request(self._client.session, code, metadata)
        self._client.shell_channel.send(message)
        return message["header"]["msg_id"]

    def reply(self, sent):
        """Wait for the end of a cell."""
        self.until(lambda: self._replied(sent), "the end of the cell")
        return self._replies[sent]

    def run(self, code, cell="a-cell", **ours):
        return self.reply(self.execute(code, cell, **ours))

    def state(self, holds, what, run=None):
        """Wait until a run's state is so, and return it."""

        def found():
            states = [state for key, state in self.states.items() if run in (None, key)]
            return next((state for state in reversed(states) if holds(state)), None)

        self.until(found, what)
        return found()

    def shows(self, text):
        """Wait until an output has this text."""
        self.until(lambda: any(text in data.get("text/plain", "") for data in self.displays.values()), text)
        return next(data for data in self.displays.values() if text in data.get("text/plain", ""))

    def until(self, holds, what, seconds=20):
        """Process the kernel's messages until this holds."""
        began = time.monotonic()
        while not holds():
            assert not is_over(began, seconds), f"{self.name} waits for {what}: {self.states} {self.displays}"
            self.receive(0.05)

    def receive(self, seconds):
        try:
            self._handle(self._client.get_iopub_msg(timeout=seconds))
        except Empty:
            return

    def _send(self, kind, **content):
        message = self._client.session.msg(kind, content)
        if self._subshell:
            message["header"]["subshell_id"] = self._subshell
        self._client.shell_channel.send(message)

    def _make_subshell(self):
        message = self._client.session.msg("create_subshell_request", {})
        self._client.control_channel.send(message)
        while True:
            reply = self._client.get_control_msg(timeout=patience(20))
            if reply["parent_header"].get("msg_id") == message["header"]["msg_id"]:
                return reply["content"]["subshell_id"]

    def _replied(self, sent):
        while sent not in self._replies:
            try:
                reply = self._client.get_shell_msg(timeout=0)
            except Empty:
                return False
            self._replies[reply["parent_header"].get("msg_id")] = reply["content"]
        return True

    def _handle(self, message):
        content, kind = message["content"], message["msg_type"]
        if kind in ("display_data", "update_display_data"):
            self.displays[content.get("transient", {}).get("display_id")] = content["data"]
        elif kind == "comm_open" and content["target_name"] == EVENTS:
            self._event_comms.add(content["comm_id"])
            self.openings.append({**content["data"], "session": message["parent_header"].get("session")})
            self._answer_call(self.openings[-1])
        elif kind == "comm_msg" and content["comm_id"] == self._comm:
            self._answers[content["data"]["request"]] = content["data"]
        elif kind == "comm_msg" and content["comm_id"] in self._event_comms:
            self._take(content["data"])

    def _answer_call(self, opening):
        if self._comm and opening["reason"] == "call" and opening["session"] == self.session:
            self.post("hello", version=VERSION, page=self.name, session=self.session)

    def _take(self, event):
        self.events.append(event)
        match event["type"]:
            case "state":
                self.states[event["state"]["key"]] = event["state"]
            case "who" if not self.deaf and self.states.get(event["run"], {}).get("owner") == self.name:
                self.post("here", page=self.name, run=event["run"])
            case "cells" if self.states.get(event["run"], {}).get("owner") == self.name and self._follows(event):
                self.seq[event["run"]] = event["seq"]
                self._change(self.cells.setdefault(event["run"], {}), event["changes"])

    def _follows(self, event):
        """Whether nothing is missing before it; a page that has just taken over asks for a snapshot first."""
        return event["seq"] == self.seq.get(event["run"], 0) + 1

    def _change(self, cells, changes):
        """Apply them by id; the order is the notebook's."""
        for change in changes:
            if change["action"] == "remove":
                cells.pop(change["id"], None)
                continue
            if change["id"] in cells:
                cells[change["id"]] = change["cell"]
                continue
            rows = list(cells.items())
            at = next((n for n, (id, _) in enumerate(rows, 1) if id == change["after"]), 0)
            rows.insert(at, (change["id"], change["cell"]))
            cells.clear()
            cells.update(rows)

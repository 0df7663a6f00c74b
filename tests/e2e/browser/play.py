"""A scripted model behind a real OpenAI-compatible endpoint; a test can pause its replies.

A `Play` is the script of one test; cells select it by `--model NAME`. `hold` blocks a reply until the test opens the
gate, so that a test can inspect a running exploration without a race.
"""

import json
import re
import time
from dataclasses import dataclass, field
from threading import Event

from werkzeug import Request, Response

from tests.patience import patience

WAIT = 60
"""Seconds, on an idle machine, after which a reply goes out all the same: a failed test must not hang the endpoint."""

_STEPS = {
    "You add code to an existing repository": "solve",
    "You write briefings": "introduce",
    "You plan programming tasks": "plan",
    "You read example programs": "planners",
    "whole cell anew": "debug",
    "whole program anew": "repair",
    "complete Python program": "solve",
    "Write the next cell": "propose",
    "Considering the task as a whole": "recommend_global",
    '"satisfied"': "recommend",
}
"""Words of a request by which its step is known, the first that are found."""
_TITLE = re.compile(r"(?:The subtask now:|and nothing after it:|The subtask:)\n(.+)")
_HINT = re.compile(r"The user's hint: (.+)")


@dataclass
class Scene:
    """A subtask: what the model proposes for it."""

    title: str
    snippets: list[str]
    mended: str = "raise ValueError('still broken')"
    hinted: list[str] = field(default_factory=list)
    """Proposed in place of `snippets` when the user gave a hint."""
    apis: tuple[str, ...] = ("statistics.median",)


class Gate:
    """Holds a reply: `reached` when the model is asked for it, sent when `open`."""

    def __init__(self):
        self._reached, self._open = Event(), Event()

    def reached(self, seconds=30):
        assert self._reached.wait(patience(seconds)), "the model was never asked for this"

    def open(self):
        self._open.set()

    def passed(self):
        self._reached.set()
        self._open.wait(patience(WAIT))


@dataclass
class Play:
    """The script of the model in one test."""

    name: str
    scenes: list[Scene]
    solution: str = "print('solved')"
    repaired: str = ""
    """The program of repairs; empty: the solution."""
    pause: float = 0.0
    """Seconds before each choice."""
    url: str = ""
    """Of the endpoint where it is played."""
    hints: list[str] = field(default_factory=list)
    """The hints that the model was given, in order."""
    asked: list[str] = field(default_factory=list)
    """The steps that the model was asked for, in order."""
    gates: dict[tuple[str, str, int], Gate] = field(default_factory=dict)

    def hold(self, step, subject="", choice=0):
        """Hold a reply: of a step, for the subtask with this title, before this choice."""
        return self.gates.setdefault((step, subject, choice), Gate())

    def close(self):
        for gate in self.gates.values():
            gate.open()

    def replies(self, step, prompt, n):
        """The choices, each when it may go out."""
        self.asked.append(step)
        title = found.group(1) if (found := _TITLE.search(prompt)) else ""
        for choice, text in enumerate(self._texts(step, title, prompt)[:n]):
            if gate := self.gates.get((step, title, choice)):
                gate.passed()
            time.sleep(self.pause)
            yield choice, text

    def _texts(self, step, title, prompt):
        scene = next((scene for scene in self.scenes if scene.title == title), None)
        if step == "plan":
            return [json.dumps({"subtasks": [scene.title for scene in self.scenes]})]
        if step == "planners":
            return ['{"planners": []}']
        if step == "recommend":
            apis = scene.apis if scene else ()
            return [json.dumps({"apis": apis, "satisfied": False, "reason": "", "remaining": None})]
        if step == "recommend_global":
            return [json.dumps({"apis": [path for scene in self.scenes for path in scene.apis]})]
        if step == "propose":
            return [_block(code) for code in self._snippets(scene, prompt)]
        if step == "debug":
            return [_block(scene.mended)]
        if step == "repair" and self.repaired:
            return [_block(self.repaired)]
        return [_block(self.solution) if step in ("solve", "repair") else "A library."]

    def _snippets(self, scene, prompt):
        if found := _HINT.search(prompt):
            self.hints.append(found.group(1))
            return (scene.hinted if scene else []) or ["print('hinted')"]
        return scene.snippets if scene else ["print('not in the play')"]


class Stage:
    """The endpoint: gives each request to the play that it names as its model."""

    def __init__(self, server):
        self.plays = {}
        self.url = server.url_for("/v1")
        server.expect_request("/v1/chat/completions").respond_with_handler(self._answer)
        server.expect_request("/v1/models").respond_with_json({"data": []})

    def put(self, play):
        self.plays[play.name] = play
        play.url = self.url
        return play

    def close(self):
        for play in self.plays.values():
            play.close()

    def _answer(self, request: Request):
        body = request.get_json()
        system, user = [*(message["content"] for message in body["messages"]), ""][:2]
        asked = " ".join(f"{system} {user}".split())
        step = next(step for words, step in [*_STEPS.items(), ("Reply with the word", "introduce")] if words in asked)
        replies = self.plays[body["model"]].replies(step, user, body.get("n", 1))
        return Response(_stream(replies), content_type="text/event-stream")


def _stream(replies):
    written = 0
    for index, text in replies:
        written += 50
        yield _event({"choices": [{"index": index, "delta": {"content": text}, "finish_reason": None}]})
        yield _event({"choices": [{"index": index, "delta": {}, "finish_reason": "stop"}]})
    usage = {"prompt_tokens": 400, "completion_tokens": written, "total_tokens": 400 + written}
    yield _event({"choices": [], "usage": usage})
    yield "data: [DONE]\n\n"


def _event(data):
    return f"data: {json.dumps(data)}\n\n"


def _block(code):
    return f"```python\n{code}\n```"

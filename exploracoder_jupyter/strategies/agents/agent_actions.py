"""The text form of an agent's step: a thought, and one action with what it needs.

Any model can write it. A reply that cannot be read becomes an action with a problem, which the agent is shown as the
result of its step.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from exploracoder_jupyter.core.errors import ReplyError
from exploracoder_jupyter.pipeline.guarded_heuristics import heuristic
from exploracoder_jupyter.pipeline.prompting.api_description import truncate
from exploracoder_jupyter.pipeline.prompting.reply_parsing import encodable, parse_code
from exploracoder_jupyter.text.fenced_blocks import split_fenced
from exploracoder_jupyter.text.markup_escaping import fenced
from exploracoder_jupyter.text.thinking_removal import without_thinking

SEARCH: Final = "search"
LOOK_UP: Final = "look_up"
RUN: Final = "run"
FINISH: Final = "finish"
ACTIONS: Final = (SEARCH, LOOK_UP, RUN, FINISH)

_ACTION = re.compile(r"^[ \t>*_#-]*action[ \t*_]*:[ \t*`]*(?P<name>\w*)(?P<rest>[^\n]*)\n?", re.I | re.M)
_LABEL = re.compile(r"^[ \t>*_#-]*(?:thought|action|result|observation|path|step \d+)\b[ \t*_\d]*:?", re.I | re.M)
_THOUGHT = re.compile(r"^[ \t>*_#-]*thought[ \t*_]*:[ \t*]*", re.I | re.M)
_PATH = re.compile(r"^[ \t>*_#-]*path[ \t*_]*:[^\n]*\n?", re.I | re.M)
_AROUND = " \t:`*\"'[]"
_LONGEST_THOUGHT = 400


@dataclass(frozen=True, slots=True)
class Action:
    """What the model wants to do next."""

    thought: str
    name: str = ""
    """One of `ACTIONS`; empty if the reply names none of them."""
    argument: str = ""
    """A query, the path of an API, or code; empty for `finish`."""
    problem: str = ""
    """Why it cannot be carried out; a sentence for the model."""


@heuristic("reading an action", lambda text: Action("", problem="The reply cannot be read."))
def parse_action(text: str) -> Action:
    """Return the first action of a reply; what the reply makes up after it is ignored."""
    text = without_thinking(encodable(text)).replace("\r\n", "\n")
    found = _ACTION.search(text)
    before = text[: found.start()] if found else text
    thought = truncate(_THOUGHT.sub("", _PATH.sub("", before)), _LONGEST_THOUGHT)
    name = found["name"].casefold() if found else ""
    if found is None or name not in ACTIONS:
        unknown = f"There is no action {name!r}." if name else "The reply names no action."
        return Action(thought, problem=f"{unknown} The actions are {', '.join(ACTIONS)}.")
    if name == FINISH:
        return Action(thought, name)
    if name == RUN:  # the code after it: in the first block, or up to the next label
        after = text[found.end() :]
        lead, block = next(iter(split_fenced(after)), (after, None))
        label = _LABEL.search(lead)
        code = after[: label.start()] if label else fenced(block.body, "python") if block else after
        try:
            return Action(thought, RUN, parse_code(code))
        except ReplyError:
            return Action(thought, RUN, problem="The action run needs one fenced Python block after it.")
    argument = found["rest"].strip(_AROUND)
    if argument.startswith("(") and argument.endswith(")"):
        argument = argument[1:-1].strip(_AROUND)
    problem = "" if argument else f"The action {name} needs a text on the same line."
    return Action(thought, name, argument, problem)

"""A skill for coding agents about one library, written from what ran: `jupyter explora skill`.

Its recipes are code that ran in earlier explorations, and solutions of given tasks that passed their check. Each is
executed again, by itself, before it is written, and by `--check` whenever one wants to know whether it still holds.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

from markdown_it import MarkdownIt
from pydantic import BaseModel, ConfigDict, ValidationError

from exploracoder_jupyter.core.configuration.sections import Sandbox
from exploracoder_jupyter.core.configuration.sources import Layer
from exploracoder_jupyter.core.errors import UsageError
from exploracoder_jupyter.core.messages import one_line
from exploracoder_jupyter.core.types import Observation, Task
from exploracoder_jupyter.kernels import open_siblings
from exploracoder_jupyter.pipeline.ports import Branch
from exploracoder_jupyter.pipeline.prompting.documentation import shorten
from exploracoder_jupyter.pipeline.solving.program_execution import run_with_check
from exploracoder_jupyter.pipeline.solving.user_check import build_check
from exploracoder_jupyter.runs import Order, run, snippets
from exploracoder_jupyter.runs.trace_check.re_execution import retry_on_branching_change
from exploracoder_jupyter.text.characters import fenced

MAX_RECIPES: Final = 40
_SECONDS: Final = 60.0
_MAX_TITLE: Final = 100
_MAX_SHOWN: Final = 600
_MAX_DESCRIPTION: Final = 900

Say = Callable[[str], None]
"""Told what is being done, one sentence each."""


@dataclass(frozen=True, slots=True)
class Recipe:
    """Code that does one thing with the library, complete in itself."""

    title: str
    code: str
    check: str = ""
    """Assertions that hold after it; empty if nothing was asserted."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a recipe gave when it was executed."""

    recipe: Recipe
    observation: Observation

    @property
    def why(self) -> str:
        """Why it failed, with names that may be meant; empty if it ran."""
        if self.observation.ran:
            return ""
        error = self.observation.error
        headline = error.headline if error else self.observation.note or self.observation.status
        nearest = f" Did you mean: {'; '.join(error.nearest[:3])}" if error and error.nearest else ""
        return f"{headline}{nearest}"


class _GivenTask(BaseModel):
    model_config = ConfigDict(extra="forbid")
    task: str
    check: str


def read_tasks(path: Path) -> list[Task]:
    """Return the tasks of a file of JSON Lines: `{"task": ..., "check": ...}`.

    Raises UsageError: the file cannot be read, or a line is not of this form.
    """
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"The tasks {path} cannot be read: {error}.", remedy="Give a file of JSON Lines.") from error
    tasks = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            given = _GivenTask.model_validate_json(line)
        except ValidationError as error:
            raise UsageError(
                f"Line {number} of {path} is not a task: {error.errors()[0]['msg']}.",
                remedy='Write {"task": "...", "check": "assert ..."} on each line.',
            ) from error
        tasks.append(Task(given.task, (), check=given.check))
    return tasks


def stored_recipes(library: str) -> list[Recipe]:
    """Return the code that earlier explorations stored for this library, the most used first."""
    rows = sorted(snippets(library), key=lambda row: -int(str(row["uses"])))
    return [Recipe(_title(str(row["title"])), str(row["code"])) for row in rows[:MAX_RECIPES]]


async def solved_recipes(
    library: str, tasks: Sequence[Task], layers: Sequence[Layer], workdir: Path, say: Say
) -> list[Recipe]:
    """Explore each task with the model of the settings; return the solutions that passed their check."""
    found = []
    for task in tasks:
        title = _title(task.text)
        summary = await run(Order(Task(task.text, (library,), check=task.check), tuple(layers), workdir), _ignore)
        say(f"{title}: {summary['status']}.")
        if summary["status"] == "solved" and summary["solution"]:
            found.append(Recipe(title, str(summary["solution"]), task.check or ""))
    return found


async def execute_recipes(recipes: Sequence[Recipe], sandbox: Sandbox, workdir: Path) -> list[Outcome]:
    """Execute each recipe by itself, from an empty session. Raises ExploraError: no kernel could be started."""
    async with open_siblings(sandbox, workdir=workdir) as siblings:
        root = await siblings.root()
        return [
            Outcome(one, await retry_on_branching_change(partial(_execute, root, one))) for one in recipes[:MAX_RECIPES]
        ]


async def _execute(root: Branch, recipe: Recipe) -> Observation:
    [branch] = await root.fork(1)
    try:
        check = build_check(Task("", (), check=recipe.check or None))
        return await run_with_check(partial(branch.run, timeout=_SECONDS), recipe.code, check)
    finally:
        await branch.close()


def write_skill(library: str, version: str, outcomes: Sequence[Outcome]) -> str:
    """Return the text of the skill, with the recipes that ran."""
    ran = [one for one in outcomes if one.observation.ran]
    titles = one_line("; ".join(one.recipe.title for one in ran), _MAX_DESCRIPTION)
    named = f"{library} {version}".strip()
    description = f"Code for {named} that ran, and how to look up what is not here. Recipes: {titles}"
    parts = [
        f"---\nname: {json.dumps(library)}\ndescription: {json.dumps(description, ensure_ascii=False)}\n---",
        f"# {named}",
        f"Each recipe ran by itself with {named}. `jupyter explora skill {library} --check` runs all of them again and "
        "names those that fail. Read every other API before you call it: `jupyter explora search`, or the tools of "
        "`jupyter explora mcp`.",
    ]
    for one in ran:
        parts += [f"## {one.recipe.title}", fenced(one.recipe.code.strip(), "python")]
        if one.recipe.check:
            parts += ["Holds afterwards:", fenced(one.recipe.check.strip(), "python")]
        if shown := one.observation.text.strip():
            parts += ["Shows:", fenced(shorten(shown, _MAX_SHOWN), "text")]
    return "\n\n".join(parts) + "\n"


def parse_skill(text: str) -> list[Recipe]:
    """Return the recipes of a skill: below each heading of the second level the first block of Python, and the second
    as what holds afterwards. Raises UsageError: there are none."""
    recipes: list[Recipe] = []
    title, blocks, tokens = "", list[str](), MarkdownIt().parse(text)
    for place, token in enumerate(tokens):
        if token.type == "heading_open" and token.tag == "h2":
            recipes += _recipe(title, blocks)
            title, blocks = tokens[place + 1].content, []
        elif token.type == "fence" and token.info.strip() == "python":
            blocks.append(token.content)
    recipes += _recipe(title, blocks)
    if not recipes:
        raise UsageError("The skill has no recipes.", remedy="Write it with `jupyter explora skill LIBRARY`.")
    return recipes


def _recipe(title: str, blocks: Sequence[str]) -> list[Recipe]:
    if not (title and blocks):
        return []
    return [Recipe(title, blocks[0], blocks[1] if len(blocks) > 1 else "")]


def _title(text: str) -> str:
    """Return the text as a heading: one line without characters that Markdown reads."""
    return one_line("".join(letter for letter in text if letter not in "#`*<>\\"), _MAX_TITLE)


def _ignore(_record: object) -> None:
    """Take an event of a run that nobody watches."""

"""`jupyter explora skill`: writes a skill for coding agents about a library, from code that ran, and checks it."""

from __future__ import annotations

import argparse
import sys
from contextlib import redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING

from exploracoder_jupyter.cli.early_library_check import check_installed
from exploracoder_jupyter.cli.output import print_json, print_note, print_result
from exploracoder_jupyter.core.configuration.options import add_options, settings_layer
from exploracoder_jupyter.core.errors import UsageError
from exploracoder_jupyter.core.messages import plural

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pydantic import JsonValue

    from exploracoder_jupyter.agent_tools.library_skill import Outcome


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `skill`."""
    parser.add_argument("library", metavar="LIB", help="distribution or import name")
    parser.add_argument(
        "--tasks",
        metavar="FILE",
        help='also explore these tasks, one {"task": ..., "check": ...} a line, with the model of your settings',
    )
    parser.add_argument("--out", metavar="FOLDER", help="folder of SKILL.md (.agents/skills/LIB)")
    parser.add_argument(
        "--check", action="store_true", help="run all recipes of that SKILL.md again, and name those that fail"
    )
    add_options(parser, place="command", reading=True)


def execute(arguments: argparse.Namespace) -> int:
    """Write the skill or check it. Returns the exit status: 1 if there is no recipe that runs, or one fails."""
    if not arguments.library.replace("-", "_").replace(".", "_").isidentifier():
        raise UsageError(f"{arguments.library!r} is not the name of a library.", remedy="For example: skill networkx")
    if arguments.check and arguments.tasks:
        raise UsageError("--check and --tasks cannot be combined.", remedy="Give only one of them.")
    path = Path(arguments.out or Path(".agents", "skills", arguments.library)) / "SKILL.md"
    check_installed([arguments.library], arguments)
    import anyio

    with redirect_stdout(sys.stderr):
        version, outcomes = anyio.run(_check if arguments.check else _write, arguments, path)
    _print(arguments, path, version, outcomes)
    ran = sum(one.observation.ran for one in outcomes)
    return 0 if ran and (ran == len(outcomes) or not arguments.check) else 1


async def _check(arguments: argparse.Namespace, path: Path) -> tuple[str, Sequence[Outcome]]:
    from exploracoder_jupyter.agent_tools.library_skill import execute_recipes, parse_skill
    from exploracoder_jupyter.core.configuration.sources import resolve

    try:
        recipes = parse_skill(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} cannot be read: {error}.", remedy="Name its folder with --out.") from error
    sandbox = resolve(settings_layer(arguments)).sandbox
    return await _version(arguments), await execute_recipes(recipes, sandbox, Path.cwd())


async def _write(arguments: argparse.Namespace, path: Path) -> tuple[str, Sequence[Outcome]]:
    from exploracoder_jupyter.agent_tools import library_skill as skill
    from exploracoder_jupyter.core.configuration.sources import resolve

    layer, tasks = settings_layer(arguments), skill.read_tasks(Path(arguments.tasks)) if arguments.tasks else []
    solved = await skill.solved_recipes(arguments.library, tasks, [layer], Path.cwd(), print_note)
    known = {one.title for one in solved}
    recipes = [*solved, *(one for one in skill.stored_recipes(arguments.library) if one.title not in known)]
    version = await _version(arguments)
    outcomes = await skill.execute_recipes(recipes, resolve(layer).sandbox, Path.cwd()) if recipes else []
    if any(one.observation.ran for one in outcomes):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(skill.write_skill(arguments.library, version, outcomes), encoding="utf-8")
    return version, outcomes


async def _version(arguments: argparse.Namespace) -> str:
    """Return the version of the library where the recipes run."""
    from exploracoder_jupyter import runs

    [row] = await runs.index([arguments.library], layers=[settings_layer(arguments)])
    return str(row["version"])


def _print(arguments: argparse.Namespace, path: Path, version: str, outcomes: Sequence[Outcome]) -> None:
    ran = sum(one.observation.ran for one in outcomes)
    if arguments.json:
        rows: list[JsonValue] = [
            {"title": one.recipe.title, "ran": one.observation.ran, "why": one.why} for one in outcomes
        ]
        print_json({"path": str(path), "library": arguments.library, "version": version, "recipes": rows})
        return
    for one in outcomes:
        print_result(f"{'ran   ' if one.observation.ran else 'failed'}  {one.recipe.title}")
        if one.why:
            print_result(f"        {one.why}")
    named = f"{arguments.library} {version}".strip()
    if arguments.check:
        print_note(f"{ran} of {plural(len(outcomes), 'recipe')} in {path} ran with {named}.")
    elif ran:
        print_note(f"Wrote {path}: {plural(ran, 'recipe')} that ran with {named}.")
    else:
        print_note(
            f"No code for {named} that ran is known, so nothing was written. Explore tasks with it, or give --tasks."
        )

"""`jupyter explora repo`: asks about a repository with the tools that models have, and applies or undoes a patch."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from pathlib import Path

from exploracoder_jupyter.cli.output import print_json, print_note, print_result
from exploracoder_jupyter.core.errors import UsageError

_TOOLS = {
    "get_related_snippets": "the snippets nearest to a DESCRIPTION",
    "get_imports": "import statements for the undefined names of a FILE",
    "get_class_info": "the members of a CLASS, with inherited ones",
    "get_signature": "all signatures of CLASS.METHOD or FUNCTION",
    "get_method_body": "the source code of CLASS.METHOD or FUNCTION",
    "get_relevant_code": "the code nearest to a QUERY",
}
_PATIENCE = 20.0
"""Seconds that reading a class of another package may take: longer than for a model, because it is the first time."""
_CHANGES = {
    "apply": "write the patch of a TRACE or PATCH file into the repository",
    "undo": "undo that, as long as the files are as the patch left them",
}


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    listed = "; ".join(f"{name}: {about}" for name, about in {**_TOOLS, **_CHANGES}.items())
    parser.add_argument("action", metavar="ACTION", choices=[*_TOOLS, *_CHANGES], help=listed)
    parser.add_argument("words", nargs="+", metavar="ARGUMENT", help="what is asked about, or the trace or patch")
    parser.add_argument(
        "--repo", metavar="PATH", help="folder of the repository (the current one; of a trace, that of its run)"
    )
    parser.add_argument(
        "--python", default="", metavar="PATH", help="interpreter where the classes of other packages are installed"
    )
    parser.add_argument("--thought", default="", metavar="TEXT", help="what you want to know of a class")


def execute(arguments: argparse.Namespace) -> int:
    """Ask a tool and print what it finds, or change the repository. Returns the exit status: 1 if nothing was found."""
    return _change(arguments) if arguments.action in _CHANGES else _ask(arguments)


def _ask(arguments: argparse.Namespace) -> int:
    from exploracoder_jupyter.core.types import Call
    from exploracoder_jupyter.repository.index import RepositoryIndex
    from exploracoder_jupyter.repository.tools import RepositoryTools, find, render_findings

    index, argument = RepositoryIndex.open(Path(arguments.repo or ".")), " ".join(arguments.words)
    if arguments.action == "get_imports" and argument not in index.by_path:
        raise UsageError(
            f"The repository has no source file {argument!r}.", remedy="Give a path relative to the repository."
        )
    tools = RepositoryTools(index, patience=_PATIENCE, python=arguments.python)
    found = find(tools, Call(arguments.action, argument), thought=arguments.thought)
    if arguments.json:
        print_json(
            {"tool": arguments.action, "repository": str(index.root), "findings": [asdict(one) for one in found]}
        )
    else:
        print_result(render_findings(found) or "Nothing was found.")
    if index.notice:
        print_note(index.notice)
    return 0 if found else 1


def _change(arguments: argparse.Namespace) -> int:
    from exploracoder_jupyter.repository.patch import apply_patch

    source, undo = Path(" ".join(arguments.words)), arguments.action == "undo"
    root, patch, reservation = _read_patch(source)
    # A trace from others must not choose where it writes.
    elsewhere = not any(place.resolve().is_relative_to(root.resolve()) for place in (Path(), source.parent))
    if elsewhere and not arguments.repo:
        raise UsageError(
            f"The run of {source.name} was in another folder: {root}.",
            remedy=f"To change the files there, run: jupyter explora repo {arguments.action} {source} --repo {root}",
        )
    folder = Path(arguments.repo) if arguments.repo else root
    changed = apply_patch(folder.resolve(), patch, undo=undo)
    if arguments.json:
        print_json({"action": arguments.action, "repository": str(folder.resolve()), "files": [*changed]})
    else:
        print_result(f"{'Undone' if undo else 'Applied'}: {', '.join(changed)} in {folder.resolve()}")
    if reservation and not undo:
        print_note(reservation)
    return 0


def _read_patch(source: Path) -> tuple[Path, str, str]:
    """Return the folder to which a trace or a patch file applies, the patch, and a sentence if it did not pass."""
    from exploracoder_jupyter.core.run_state import fold_all
    from exploracoder_jupyter.repository.target import read_text
    from exploracoder_jupyter.runs.order import load_records
    from exploracoder_jupyter.runs.trace_check.re_execution import expand_home

    if not source.is_file():
        raise UsageError(f"There is no file {str(source)!r}.", remedy="Name a trace, or a file with a patch.")
    if source.suffix not in (".ipynb", ".jsonl"):
        return Path(), read_text(source, str(source)) or "", ""
    run = fold_all(load_records(source))
    solution = run.finished.solution if run.finished else None
    if run.started is None or run.finished is None or solution is None or not solution.patch:
        raise UsageError(f"The trace {source.name} has no patch.", remedy="Name the trace of a run with --repo.")
    verdict = run.finished.verdict
    reservation = "" if verdict.outcome == "solved" else f"That run ended {verdict.outcome}: {verdict.reason}"
    return Path(expand_home(run.started.environment.folder)), expand_home(solution.patch), reservation

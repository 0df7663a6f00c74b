"""`jupyter explora repo`: asks about the code of a repository with the tools that models have."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from exploracoder_jupyter.cli.display.standard_streams import print_json, print_note, print_result
from exploracoder_jupyter.core.errors import MissingRequirement, UsageError

if TYPE_CHECKING:
    pass

_TOOLS = {
    "get_related_snippets": "the snippets nearest to a DESCRIPTION",
    "get_imports": "import statements for the undefined names of a FILE",
    "get_class_info": "the members of a CLASS, with inherited ones",
    "get_signature": "all signatures of CLASS.METHOD or FUNCTION",
    "get_method_body": "the source code of CLASS.METHOD or FUNCTION",
    "get_relevant_code": "the code nearest to a QUERY",
}


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    listed = "; ".join(f"{name}: {about}" for name, about in _TOOLS.items())
    parser.add_argument("action", metavar="TOOL", choices=[*_TOOLS], help=listed)
    parser.add_argument("words", nargs="+", metavar="ARGUMENT", help="what the tool is asked about")
    parser.add_argument("--repo", default=".", metavar="PATH", help="folder of the repository (.)")
    parser.add_argument("--thought", default="", metavar="TEXT", help="what you want to know of a class")


def execute(arguments: argparse.Namespace) -> int:
    """Ask a tool and print what it finds. Returns the exit status: 1 if that is nothing.

    Raises:
        UsageError: there is no such repository or file.
        MissingRequirement: the libraries that read source code are not installed.
    """
    try:
        return _ask(arguments)
    except ModuleNotFoundError as error:
        raise MissingRequirement(
            f"Reading a repository needs the package {error.name!r}.",
            remedy="Install it: pip install 'exploracoder-jupyter[repo]'.",
        ) from None


def _ask(arguments: argparse.Namespace) -> int:
    from exploracoder_jupyter.core.types import Call
    from exploracoder_jupyter.repository.reading.repository_index import RepositoryIndex
    from exploracoder_jupyter.repository.tools.repository_tools import RepositoryTools, render_findings
    from exploracoder_jupyter.repository.tools.tool_calls import find

    index, argument = RepositoryIndex.open(Path(arguments.repo)), " ".join(arguments.words)
    if arguments.action == "get_imports" and argument not in index.by_path:
        raise UsageError(
            f"The repository has no source file {argument!r}.", remedy="Give a path relative to the repository."
        )
    found = find(RepositoryTools(index), Call(arguments.action, argument), thought=arguments.thought)
    if arguments.json:
        print_json(
            {"tool": arguments.action, "repository": str(index.root), "findings": [asdict(one) for one in found]}
        )
    else:
        print_result(render_findings(found) or "Nothing was found.")
    if index.notice:
        print_note(index.notice)
    return 0 if found else 1

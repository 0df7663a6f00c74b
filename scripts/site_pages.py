"""Pages of the documentation site that are made from code, and links that only work in the repository.

A hook of mkdocs (`mkdocs.yml`). The pages are made at each build, so they cannot be out of date.
"""

from __future__ import annotations

import argparse
import dataclasses
import os
import re
from collections.abc import Iterator
from inspect import cleandoc, getdoc
from pathlib import Path
from typing import get_args

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

_OUTSIDE = re.compile(r"\[([^\]]+)\]\(((?:\.\./)+[^)]+)\)")
"""A link to a parent folder."""
_WIDTH = "100"
"""Characters of a line of help."""


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the generated pages."""
    for path, make in (("commands", _commands), ("magics", _magics), ("events", _events)):
        files.append(File.generated(config, f"reference/{path}.md", content="\n".join(make())))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Replace links to files of the repository outside the documentation by their text."""

    def keep(found: re.Match[str]) -> str:
        target = os.path.normpath(Path(page.file.src_uri).parent / found[2].partition("#")[0])
        return found[1] if target.startswith("..") else found[0]

    return _OUTSIDE.sub(keep, markdown)


def _commands() -> Iterator[str]:
    from exploracoder_jupyter.cli.argument_parser import build_parser

    os.environ["COLUMNS"] = _WIDTH
    parser = build_parser()
    yield "# Commands and their options\n"
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for name, command in action.choices.items():
                yield f"## {name}\n\n```text\n{command.format_help().partition('exit status:')[0].strip()}\n```\n"


def _magics() -> Iterator[str]:
    from exploracoder_jupyter.ipython_extension.magic_line import help_text
    from exploracoder_jupyter.ipython_extension.magics import ExploraMagics

    yield "# Magics\n"
    yield f"## %%explora\n\n```text\n{cleandoc(help_text())}\n```\n"
    yield f"## %explora\n\n```text\n{getdoc(ExploraMagics.command)}\n```\n"


def _events() -> Iterator[str]:
    from exploracoder_jupyter.core.events import Event

    yield "# Events\n\nWhat the records of a trace contain, and what the function `progress` of `explore` receives.\n"
    for kind in get_args(get_args(Event)[0]):
        yield f"## {kind.__name__}\n\n{getdoc(kind)}\n"
        fields = [f"| `{field.name}` | `{_type_text(field)}` |" for field in dataclasses.fields(kind)]
        yield "\n".join(["| field | type |", "| --- | --- |", *fields, ""])


def _type_text(field: dataclasses.Field[object]) -> str:
    return str(field.type).replace("|", "\\|")

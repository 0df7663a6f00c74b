"""Pages of the documentation site that are generated from the code, and links that only work in the repository.

A hook of mkdocs (`mkdocs.yml`). The pages are generated at each build, so they cannot be out of date; mkdocstrings
renders the Python API, the events and the plugin protocols.
"""

from __future__ import annotations

import argparse
import json
import os
import re
from collections.abc import Iterator
from inspect import cleandoc, getdoc
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

from exploracoder_jupyter.cli.json_results import result_schemas

_OUTSIDE = re.compile(r"\[([^\]]+)\]\(((?:\.\./)+[^)]+)\)")
"""A link to a parent folder."""
_CODE = re.compile(r"`[^`\n]+`")
_WIDTH = "80"
"""Characters of a line of help."""


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the generated pages."""
    for path, make in (("commands", _commands), ("magics", _magics), ("json", _json)):
        files.append(File.generated(config, f"reference/{path}.md", content="\n".join(make())))
    files.append(File.generated(config, "reference/json-schemas.json", content=json.dumps(result_schemas(), indent=2)))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Replace links to files of the repository outside the documentation by their text.

    Also removes the backslashes that GitHub needs before bars in the code of a table, and that mkdocs would show.
    """

    def keep(found: re.Match[str]) -> str:
        target = os.path.normpath(Path(page.file.src_uri).parent / found[2].partition("#")[0])
        return found[1] if target.startswith("..") else found[0]

    return _CODE.sub(lambda code: code[0].replace(r"\|", "|"), _OUTSIDE.sub(keep, markdown))


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


def _json() -> Iterator[str]:
    yield "# What --json prints\n\nOne object for each command; [their JSON schemas](json-schemas.json) in one file.\n"
    parts: dict[str, dict[str, Any]] = {}
    for name, schema in result_schemas().items():
        parts |= schema.get("$defs", {})
        yield f"## {name}\n"
        yield f"{_type(schema)}.\n" if "anyOf" in schema else _object(schema)
    yield "## Parts\n"
    for title, part in sorted(parts.items()):
        if "properties" in part:
            yield f"### {title}\n\n{_object(part)}"


def _object(schema: dict[str, Any]) -> str:
    """Describe an object by a table of its fields."""
    rows = ["| field | type | meaning |", "| --- | --- | --- |"]
    for name, field in schema["properties"].items():
        shown = name if name in schema.get("required", ()) or "default" in field else f"{name}?"
        rows.append(f"| `{shown}` | {_type(field)} | {_sentence(field)} |")
    return "\n".join([f"{_sentence(schema)}\n", *rows, ""])


def _sentence(schema: dict[str, Any]) -> str:
    return " ".join(schema.get("description", "").split())


def _target(schema: dict[str, Any]) -> str:
    return str(schema["$ref"]).rpartition("/")[2]


def _type(schema: dict[str, Any]) -> str:
    """Name the type of a field, with a link to the table of an object."""
    match schema:
        case {"$ref": "#/$defs/JsonValue"}:
            return "any"
        case {"$ref": _}:
            return f"[{_target(schema)}](#{_target(schema).lower()})"
        case {"anyOf": choices}:
            return " or ".join(dict.fromkeys(map(_type, choices)))
        case {"enum": values}:
            return ", ".join(f"`{value}`" for value in values)
        case {"const": value}:
            return f"`{value}`"
        case {"prefixItems": items}:
            return f"list of {', '.join(map(_type, items))}"
        case {"type": "array"}:
            return f"list of {_type(schema['items'])}"
        case {"type": "object", "additionalProperties": dict(inner)}:
            return f"object of {_type(inner)}"
        case {"type": list(names)}:
            return " or ".join(names)
    return str(schema.get("type", "any"))

"""Tab completion on the line of `%%explora` and `%explora`: installed libraries, options, their choices, commands.

A matcher of IPython's completer (API version 2), imported with the magics and therefore light. It completes only the
lines of these magics, and suppresses other matchers there, so that file names and attributes are not mixed in.
"""

from __future__ import annotations

import re
from functools import cache
from itertools import pairwise

from IPython.core.completer import CompletionContext, SimpleCompletion, SimpleMatcherResult, context_matcher

from exploracoder_jupyter.core.configuration.options import OPTIONS

_NAMES = "search find status stop accept history solution checkpoint back files apply undo export clean config setup"
COMMANDS = tuple(_NAMES.split())
"""The commands of `%explora`."""
FORMS = ("script", "html", "notebook")
"""The formats of `%explora export`."""

_CELL_LINE = re.compile(r"^\s*%%explora\s")
_LINE_LINE = re.compile(r"^\s*(?:\w+\s*=\s*)?%explora\s")
_SEARCH_LINE = re.compile(r"^[^%]*%explora\s+search\s+(.*)", re.DOTALL)
_EXPORT_LINE = re.compile(r"^[^%]*%explora\s+export\s+(.*)", re.DOTALL)


@context_matcher(identifier="exploracoder_jupyter")  # type: ignore[untyped-decorator]
def matcher(context: CompletionContext) -> SimpleMatcherResult:
    """Return completions for the word before the cursor; none on lines of other magics or code."""
    line = context.line_with_cursor[: context.cursor_position]
    if _CELL_LINE.match(line):
        words = _for_cell_magic(line)
    elif _LINE_LINE.match(line):
        searched, exported = _SEARCH_LINE.match(line), _EXPORT_LINE.match(line)
        words = _for_search(searched[1]) if searched else _for_export(exported[1]) if exported else COMMANDS
    else:
        return {"completions": []}
    found = [SimpleCompletion(word, type="param") for word in words if word.startswith(context.token)]
    return {"completions": found, "suppress": bool(found), "ordered": True}


def _for_cell_magic(line: str) -> tuple[str, ...]:
    *before, token = line.split(" ")
    option = next((option for option in OPTIONS if before and option.flag == before[-1]), None)
    if token.startswith("-"):
        return tuple(option.flag for option in OPTIONS if "magic" in option.places)
    if option and option.choices:
        return option.choices
    if option and option.kind != "flag":
        return ()
    return installed_names()


def _for_search(arguments: str) -> tuple[str, ...]:
    """Return the libraries for the first word, and nothing after it: a query cannot be completed."""
    *before, token = arguments.split(" ")
    if token.startswith("-"):
        return ("-k", *(option.flag for option in OPTIONS if option.reading))
    words = [word for flag, word in pairwise(["", *filter(None, before)]) if not (flag + word).startswith("-")]
    return () if words else installed_names()


def _for_export(arguments: str) -> tuple[str, ...]:
    *before, token = arguments.split(" ")
    if before and before[-1] == "--to":
        return FORMS
    return ("--to",) if token.startswith("-") else ()


@cache
def installed_names() -> tuple[str, ...]:
    """Return the import and distribution names of all installed packages, sorted; cached."""
    from importlib.metadata import distributions, packages_distributions

    imports = {name for name in packages_distributions() if name.isidentifier() and not name.startswith("_")}
    distribution_names = {str(name) for found in distributions() for name in found.metadata.get_all("Name") or ()}
    return tuple(sorted(imports | distribution_names, key=str.lower))

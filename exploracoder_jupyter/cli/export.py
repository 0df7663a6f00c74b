"""`jupyter explora export`: a trace in another form.

What was written by hand is never replaced: an earlier export is, if it has the very same content, or is a page, which
nobody edits, or a notebook in which nobody has.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

from exploracoder_jupyter.cli.terminal.standard_streams import emit, say, write
from exploracoder_jupyter.core.atomic_write import put
from exploracoder_jupyter.core.errors import UsageError

if TYPE_CHECKING:
    from exploracoder_jupyter.export.export_formats import Form

_FORMS: Final = ("script", "html", "notebook")
_BY_SUFFIX: Final[dict[str, Form]] = {".py": "script", ".html": "html", ".htm": "html", ".ipynb": "notebook"}
_ENDING: Final[dict[Form, str]] = {"script": ".py", "html": ".html", "notebook": ".ipynb"}
_MARK: Final = '<meta name="generator" content="exploracoder_jupyter '
_MARKED_WITHIN: Final = 2000
"""Characters at the beginning of a page that hold the mark."""
_STDOUT: Final = "-"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `export`."""
    parser.add_argument("trace", metavar="TRACE", help="trace notebook of a run, or its journal")
    parser.add_argument(
        "--to",
        choices=_FORMS,
        help="script: the solution with its requirements; html: a report in one file; notebook: without the candidates "
        "that were not carried forward (what the name of --out says, else notebook)",
    )
    parser.add_argument(
        "--out",
        metavar="PATH",
        help="where to write it, its ending as of the form; - for standard output (beside the trace)",
    )
    parser.add_argument("--unpinned", action="store_true", help="let a script take any versions of what it needs")


def execute(arguments: argparse.Namespace) -> int:
    """Write the trace in the form asked for, made anew from its records. Returns the exit status.

    Raises:
        UsageError: the trace cannot be read, has nothing to make this form of, or the path cannot be written.
    """
    source, out, form = Path(arguments.trace), arguments.out, _form(arguments)

    from exploracoder_jupyter.export.export_formats import exported, path_beside
    from exploracoder_jupyter.runs.recorded.trace_loader import records_of

    made = exported(records_of(source), form, source, pinned=not arguments.unpinned)
    if out == _STDOUT:
        write(sys.stdout, made.rstrip("\n"))
        return 0
    target = _named(out, form, made) if out else path_beside(source, form, made)
    _put(target, form, made)
    if arguments.json:
        emit({"out": str(target), "to": form})
    else:
        say(f"Written: {target}")
    return 0


def _form(arguments: argparse.Namespace) -> Form:
    form = _fitting(arguments.to, arguments.out)
    if arguments.json and arguments.out == _STDOUT:
        raise UsageError("--json and --out - both want standard output.", remedy="Leave one of them out.")
    if arguments.unpinned and form != "script":
        raise UsageError("--unpinned is about what a script needs.", remedy="Add --to script, or leave it out.")
    return form


def _fitting(form: Form | None, out: str | None) -> Form:
    """The form that `--to` or the path says, where they agree."""
    if out is None or out == _STDOUT:
        return form or "notebook"
    said = _BY_SUFFIX.get(Path(out).suffix)
    form = form or said
    if form is None:
        remedy = "Let it end in .py, .html or .ipynb, or add --to."
        raise UsageError(f"{out!r} does not say what to write.", remedy=remedy)
    if form != said and (said or form == "notebook"):
        raise UsageError(f"{out!r} is no name for --to {form}.", remedy=f"Let it end in {_ENDING[form]}.")
    return form


def _named(out: str, form: Form, made: str) -> Path:
    """The path of `--out`, where what is made can have that name."""
    from exploracoder_jupyter.export.export_formats import apart

    try:
        path = Path(out).expanduser()
    except RuntimeError:
        raise UsageError(f"There is no home folder for {out!r}.", remedy="Write the whole path.") from None
    if form == "script" and (other := apart(path, made)) != path:
        raise UsageError(
            f"Python would import {path.name} where the module {path.stem} is needed.",
            remedy=f"Name it otherwise, as {other.name}.",
        )
    return path


def _refuse_trace(target: Path) -> None:
    from exploracoder_jupyter.trace import load

    try:
        load(target)
    except UsageError:
        return
    raise UsageError(f"{str(target)!r} is a trace itself.", remedy="Name another file, so that the trace stays whole.")


def _put(target: Path, form: Form, made: str) -> None:
    try:
        target = target.resolve()
        _refuse_other(target, form, made)
        target.parent.mkdir(parents=True, exist_ok=True)
        put(target, made.encode())
    except (OSError, RuntimeError) as error:  # e.g. too long, a ring of links
        raise UsageError(
            f"{str(target)!r} cannot be written: {getattr(error, 'strerror', None) or error}.",
            remedy="Name a file in a folder that exists and is yours.",
        ) from error


def _refuse_other(target: Path, form: Form, made: str) -> None:
    """Refuse to write over what no export has made."""
    if target.is_dir():
        raise UsageError(f"{str(target)!r} is a folder.", remedy="Name a file in it.")
    if form == "notebook":
        _refuse_trace(target)
    if target.exists() and not _may_go(target, form, made):
        raise UsageError(
            f"{str(target)!r} is there and is not what would be written.", remedy="Remove it, or name another by --out."
        )


def _may_go(target: Path, form: Form, made: str) -> bool:
    """Whether a file that is there holds nothing that an export does not hold."""
    try:
        there = target.read_text(encoding="utf-8")
    except (OSError, ValueError):
        return False
    if form == "notebook":
        return there == made or _is_untouched(there)
    return there == made or (form == "html" and _MARK in there[:_MARKED_WITHIN])


def _is_untouched(there: str) -> bool:
    import nbformat

    from exploracoder_jupyter.trace.reduced_notebook import untouched

    try:
        return not there.strip() or untouched(nbformat.reads(there, as_version=4))  # type: ignore[no-untyped-call]
    except Exception:  # of many kinds, for a notebook that is none
        return False

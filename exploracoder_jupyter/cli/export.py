"""`jupyter explora export`: converts a trace to another format.

Files written by hand are never overwritten. An earlier export is overwritten only if it has the same content, is an
HTML page (which is not meant to be edited), or is a notebook that has not been edited.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Final

from exploracoder_jupyter.cli.output import print_json, print_result
from exploracoder_jupyter.core import plugins
from exploracoder_jupyter.core.errors import UsageError
from exploracoder_jupyter.core.files import write_atomic

_FORM_BY_SUFFIX: Final = {".py": "script", ".html": "html", ".htm": "html", ".ipynb": "notebook"}
_SUFFIX: Final = {"script": ".py", "html": ".html", "notebook": ".ipynb"}
_GENERATOR_TAG: Final = '<meta name="generator" content="exploracoder_jupyter '
_TAG_SEARCH_LENGTH: Final = 2000
"""Number of characters at the beginning of a page in which to look for the generator tag."""
_STDOUT: Final = "-"


class _Forms(tuple[str, ...]):
    """The built-in formats, which the help lists; those of plugins count as members too."""

    __slots__ = ()

    def __contains__(self, form: object) -> bool:
        return super().__contains__(form) or plugins.find("exporters", str(form)) is not None


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `export`."""
    parser.add_argument("trace", metavar="TRACE", help="trace notebook of a run, or its journal")
    parser.add_argument(
        "--to",
        choices=_Forms(_SUFFIX),
        help="script: the solution with its requirements; html: a report in one file; notebook: without the candidates "
        "that were not selected; or a format of a plugin (default: from the extension of --out, else notebook)",
    )
    parser.add_argument(
        "--out",
        metavar="PATH",
        help="output file, with the extension of the format; - for standard output (next to the trace)",
    )
    parser.add_argument("--unpinned", action="store_true", help="do not pin the versions of a script's requirements")


def execute(arguments: argparse.Namespace) -> int:
    """Convert the trace, from its records, to the requested format. Returns the exit status."""
    source, out, form = Path(arguments.trace), arguments.out, _validate_form(arguments)

    from exploracoder_jupyter.export.export_formats import default_export_path, export_run
    from exploracoder_jupyter.runs.order import load_records

    content = export_run(load_records(source), form, source, pinned=not arguments.unpinned)
    if out == _STDOUT:
        print_result(content.rstrip("\n"))
        return 0
    target = _output_path(out, form, content) if out else default_export_path(source, form, content)
    _write_export(target, form, content)
    if arguments.json:
        print_json({"out": str(target), "to": form})
    else:
        print_result(f"Written: {target}")
    return 0


def _validate_form(arguments: argparse.Namespace) -> str:
    form = _choose_form(arguments.to, arguments.out)
    if arguments.json and arguments.out == _STDOUT:
        raise UsageError("--json and --out - both write to standard output.", remedy="Omit one of them.")
    if arguments.unpinned and form != "script":
        raise UsageError("--unpinned applies only to scripts.", remedy="Add --to script, or omit --unpinned.")
    return form


def _choose_form(form: str | None, out: str | None) -> str:
    """Return the format given by `--to` or by the path's extension; raise UsageError if they disagree."""
    if out is None or out == _STDOUT:
        return form or "notebook"
    form_of_suffix = _FORM_BY_SUFFIX.get(Path(out).suffix)
    form = form or form_of_suffix
    if form is None:
        remedy = "Use the extension .py, .html or .ipynb, or add --to."
        raise UsageError(f"The extension of {out!r} does not determine a format.", remedy=remedy)
    if form in _SUFFIX and form != form_of_suffix and (form_of_suffix or form == "notebook"):
        raise UsageError(f"{out!r} does not match --to {form}.", remedy=f"Use the extension {_SUFFIX[form]}.")
    return form


def _output_path(out: str, form: str, content: str) -> Path:
    """Return the path of `--out`, expanded, after checking that a script may have that name."""
    from exploracoder_jupyter.export.export_formats import avoid_module_clash

    try:
        path = Path(out).expanduser()
    except RuntimeError:
        raise UsageError(f"There is no home folder for {out!r}.", remedy="Give the full path.") from None
    if form == "script" and (other := avoid_module_clash(path, content)) != path:
        raise UsageError(
            f"Python would import {path.name} instead of the module {path.stem}.",
            remedy=f"Choose another name, such as {other.name}.",
        )
    return path


def _check_not_trace(target: Path) -> None:
    from exploracoder_jupyter.trace import load

    try:
        load(target)
    except UsageError:
        return
    raise UsageError(f"{str(target)!r} is a trace.", remedy="Choose another file, to preserve the trace.")


def _write_export(target: Path, form: str, content: str) -> None:
    try:
        target = target.resolve()
        _check_overwrite(target, form, content)
        target.parent.mkdir(parents=True, exist_ok=True)
        write_atomic(target, content.encode())
    except (OSError, RuntimeError) as error:  # e.g. a name that is too long, or a symlink loop
        raise UsageError(
            f"{str(target)!r} cannot be written: {getattr(error, 'strerror', None) or error}.",
            remedy="Choose a file in a folder that you can write to.",
        ) from error


def _check_overwrite(target: Path, form: str, content: str) -> None:
    """Raise UsageError if writing would overwrite something that is not an export."""
    if target.is_dir():
        raise UsageError(f"{str(target)!r} is a folder.", remedy="Give the path of a file.")
    if form == "notebook":
        _check_not_trace(target)
    if target.exists() and not _is_replaceable(target, form, content):
        raise UsageError(
            f"{str(target)!r} already exists with different content.",
            remedy="Remove it, or choose another path with --out.",
        )


def _is_replaceable(target: Path, form: str, content: str) -> bool:
    """Return whether overwriting this file with the export loses nothing that was written by hand."""
    try:
        existing = target.read_text(encoding="utf-8")
    except (OSError, ValueError):
        return False
    if form == "notebook":
        return existing == content or _is_unedited_export(existing)
    return existing == content or (form == "html" and _GENERATOR_TAG in existing[:_TAG_SEARCH_LENGTH])


def _is_unedited_export(existing: str) -> bool:
    import nbformat

    from exploracoder_jupyter.trace.edits import is_untouched

    try:
        return not existing.strip() or is_untouched(nbformat.reads(existing, as_version=4))  # type: ignore[no-untyped-call]
    except Exception:  # many kinds, if the file is not a notebook
        return False

"""Renders a run's solution as a standalone script, with its requirements and its check."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, requires
from pathlib import Path, PurePosixPath
from textwrap import fill, indent
from typing import Final

from exploracoder_jupyter.core.errors import UsageError
from exploracoder_jupyter.core.events import RunStarted
from exploracoder_jupyter.core.python_code import parse_python
from exploracoder_jupyter.core.run_state import RunState
from exploracoder_jupyter.core.types import Environment, LibraryInfo, Observation, Solution, Task, Verdict
from exploracoder_jupyter.kernel_agent.introspection.installed_libraries import normalize_name
from exploracoder_jupyter.pipeline.code_analysis import ALWAYS_DEFINED, names_in, unbound_names
from exploracoder_jupyter.pipeline.solving.user_check import readable_code
from exploracoder_jupyter.trace.cells import final_solution, observation_of
from exploracoder_jupyter.trace.paths import FOLDER
from exploracoder_jupyter.trace.reading import (
    imported_modules,
    optional_requirements,
    parse_versions,
    providing_distributions,
    unconditional_imports,
)

# Converts a cell's code to plain Python: IPython syntax is replaced, or rejected.
#
# A notebook displays the value of a cell's last expression; the program prints it, if the run displayed one.

_MAGIC: Final = re.compile(r"(\s*)([%!].*)")
_TIMED: Final = re.compile(r"(\s*)%time\s+(\S.*)")
_CELL_MAGIC: Final = re.compile(r"\s*%%(?!(?:time|timeit|capture|prun)\b)\w")
"""Matches the start of a cell whose body is not Python."""
_METADATA: Final = re.compile(r"^# /// script$\n(?:^#(?:| .*)$\n)+?^# ///$\n?", re.MULTILINE)
"""Inline script metadata (PEP 723), of which a script may contain only one block."""
_REMEDY: Final = "Export it with --to notebook."
_DISPLAY: Final = "display = print  # in a notebook it shows more"


def to_plain_python(code: str, *, shows_last: bool) -> str:
    """Convert code to plain Python without magics; if `shows_last`, its last expression is printed."""
    code = re.sub(r"\r\n?", "\n", code)
    plain = _without_magics(_METADATA.sub("", code).strip("\n"))
    if _CELL_MAGIC.match(code) or not compiles(plain):
        raise UsageError("The solution is not plain Python: it uses await or IPython syntax.", remedy=_REMEDY)
    names = names_in(plain)
    if "get_ipython" in names.read - names.bound:
        raise UsageError("The solution needs IPython: it calls get_ipython().", remedy=_REMEDY)
    code = _move_futures_first(_print_last_expression(plain) if shows_last else plain)
    return insert_after_futures(code, [_DISPLAY]) if "display" in names.read - names.bound else code


def insert_after_futures(code: str, lines: Sequence[str]) -> str:
    """Insert lines at the beginning of the code, but after its imports from `__future__`."""
    if not lines:
        return code
    at = max((node.end_lineno or 0 for node in _future_imports(code)), default=0)
    code_lines = code.split("\n")  # Python's own line count, unlike `splitlines`
    before = [*code_lines[:at], ""] if at else []
    return "\n".join([*before, *lines, "", *code_lines[at:]])


def compiles(code: str) -> bool:
    """Return whether the code compiles as plain Python."""
    try:
        compile(code, "solution", "exec", dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


def _without_magics(code: str) -> str:
    """Comment out magics that are syntax errors in Python; the statement after `%time` is kept."""
    lines = code.split("\n")
    while magic := _MAGIC.fullmatch(lines[at := _syntax_error_line(lines)]):
        timed = _TIMED.fullmatch(magic[0])
        lines[at] = f"{timed[1]}{timed[2]}" if timed else f"{magic[1]}# {magic[2]}  (a magic of IPython)"
    return "\n".join(lines)


def _syntax_error_line(lines: Sequence[str]) -> int:
    """Return the index of the line with a syntax error; 0 if there is none, or if its line is not known."""
    try:
        compile("\n".join(lines), "solution", "exec", dont_inherit=True)
    except SyntaxError as error:
        return min(error.lineno or 1, len(lines)) - 1
    except (ValueError, RecursionError, MemoryError):
        return 0
    return 0


def _future_imports(code: str) -> list[ast.ImportFrom]:
    body = ast.parse(code).body
    return [node for node in body if isinstance(node, ast.ImportFrom) and node.module == "__future__"]


def _move_futures_first(code: str) -> str:
    """Move imports from `__future__` before the code's docstring, because the script has another docstring above."""
    lines, moved = code.split("\n"), list[str]()
    for node in _future_imports(code):
        moved += lines[node.lineno - 1 : node.end_lineno]
        lines[node.lineno - 1 : node.end_lineno] = [""] * ((node.end_lineno or node.lineno) - node.lineno + 1)
    return "\n".join([*moved, *lines]) if moved and ast.get_docstring(ast.parse(code)) is not None else code


def _print_last_expression(code: str) -> str:
    body = ast.parse(code).body
    last = body[-1] if body else None
    if not isinstance(last, ast.Expr) or last.end_lineno is None or last.end_col_offset is None:
        return code
    lines = [line.encode() for line in code.split("\n")]  # column offsets of `ast` are in bytes
    end, begin = last.end_lineno - 1, last.lineno - 1
    opening, closing = (b"print((", b"))") if isinstance(last.value, ast.Tuple) else (b"print(", b")")
    lines[end] = lines[end][: last.end_col_offset] + closing + lines[end][last.end_col_offset :]
    lines[begin] = lines[begin][: last.col_offset] + opening + lines[begin][last.col_offset :]
    return b"\n".join(lines).decode()


# Renders the check of a solution as the last part of a script.

_ELEMENTWISE: Final = re.compile(
    r"\.(ndarray|DataFrame|Series|\w*Index|LazyFrame|Tensor|\w*Array|DataArray|Dataset|Table|\w+_(?:matrix|array))$"
)
"""Types with element-wise equality: a run compares them by content, but a plain assertion cannot."""
_NAN: Final = re.compile(r"\bnan\b")
"""NaN in the summary of a value: it equals itself only in a run's check."""
_HEAD: Final = 'if __name__ == "__main__":'
_PASSED: Final = 'print("The check passed.")'


def render_main_block(task: Task, observed: Observation) -> str:
    """Render the block that runs the check if the file is run as a script; empty if no check can run there."""
    try:
        code = readable_code(task)
    except (UsageError, RecursionError):  # from a version with other kinds of checks, or a very long expression
        return ""
    by_content = {one.name for one in observed.changes if _ELEMENTWISE.search(one.type) or _NAN.search(one.summary)}
    if not code or not observed.ran or any(_equality_comparisons(code, by_content)):
        return ""
    block, unparsed = _indent(code), _indent(ast.unparse(ast.parse(code)))
    if ast.dump(ast.parse(block)) != ast.dump(ast.parse(unparsed)):  # indentation has changed multi-line strings
        block = unparsed
    return block if compiles(block) else ""


def _indent(code: str) -> str:
    return f"{_HEAD}\n{indent(f'{code.strip(chr(10))}{chr(10)}{_PASSED}', '    ')}"


def _equality_comparisons(code: str, names: Container[str]) -> Iterator[ast.Compare]:
    """Yield asserted comparisons, or parts of assertions, that compare one of these names itself for equality."""
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Assert):
            yield from (part for part in _iter_comparisons(node.test) if _compares(part, names))


def _iter_comparisons(test: ast.expr) -> Iterator[ast.Compare]:
    if isinstance(test, ast.BoolOp):
        for value in test.values:
            yield from _iter_comparisons(value)
    elif isinstance(test, ast.UnaryOp):
        yield from _iter_comparisons(test.operand)
    elif isinstance(test, ast.Compare):
        yield test


def _compares(node: ast.Compare, names: Container[str]) -> bool:
    sides = (node.left, *node.comparators)
    equality = any(isinstance(operator, ast.Eq | ast.NotEq) for operator in node.ops)
    return equality and any(isinstance(side, ast.Name) and side.id in names for side in sides)


# Determines the distributions that a program requires, with the versions recorded in its run.

_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_BUILT_IN: Final = sys.stdlib_module_names | {"__main__"}
_MAX_OPTIONAL: Final = 12


@dataclass(frozen=True, slots=True)
class Dependencies:
    """Requirements in the format of installers, e.g. `networkx==3.6.1`."""

    needed: tuple[str, ...]
    """The distributions that the code imports."""
    optional: tuple[str, ...]
    """Optional dependencies of those that were installed in the run."""
    unknown: tuple[str, ...]
    """Imported modules that do not belong to a recorded distribution from a package index."""


def find_dependencies(
    code: str, libraries: Iterable[LibraryInfo], environment: Environment, *, pinned: bool = True, whole: bool = False
) -> Dependencies:
    """Find the requirements of code without magics, with the recorded versions if `pinned`.

    If it is `whole`, it needs all libraries of the task, because it uses values created elsewhere with them.
    """
    by_name = {info.name: info for info in libraries}
    versions = parse_versions(
        [*(f"{info.distribution}=={info.version}" for info in by_name.values()), *environment.packages]
    )
    unindexed = {*map(normalize_name, environment.unindexed)}
    needed, unknown = list[str](), list[str]()
    for module in sorted((imported_modules(code) | (by_name.keys() if whole else set())) - _BUILT_IN):
        info = by_name.get(module)  # no version: not a distribution, and an index may have another of its name
        names = [info.distribution] if info and info.version else providing_distributions(module, versions)
        known = [
            normalize_name(name) for name in names if _NAME.fullmatch(name) and normalize_name(name) not in unindexed
        ]
        needed += known
        unknown += [] if known else [module]
    needed = list(dict.fromkeys(needed))
    extras = optional_requirements(line for name in needed for line in _requires(name))
    optional = [name for name in extras if name in versions and name not in {*needed, *unindexed}]

    def requirements(names: Iterable[str]) -> tuple[str, ...]:
        return tuple(f"{name}=={versions[name]}" if pinned and name in versions else name for name in names)

    return Dependencies(requirements(needed), requirements(optional[:_MAX_OPTIONAL]), tuple(unknown))


def _requires(name: str) -> Sequence[str]:
    try:
        return requires(name) or ()
    except PackageNotFoundError:
        return ()


# Renders a run's solution as a standalone script with its requirements as inline script metadata (PEP 723).

_FILE = re.compile(r"[\w .()+@~/\\-]{1,200}\.\w{1,12}")

_WIDTH: Final = 100
_NO_VERDICT: Final = "The run is still active, or was cut off."
_METADATA_START: Final = re.compile(r"^# ///", re.MULTILINE)
"""Start of a line that would be interpreted as another block of metadata."""
_NOT_FOUND: Final = "These modules are missing; install them, or copy them next to this script"
_FIGURES_NOTE: Final = "A notebook shows figures by itself; here add `plt.show()`, or save them."


@dataclass(frozen=True, slots=True)
class _Script:
    code: str
    main: str
    """The code that runs the check; empty if there is none, or if a script cannot run it."""
    observed: Observation
    """The result of the solution in the run."""
    lacks: Sequence[str]
    """Variables of the user's notebook."""
    files: Sequence[str]
    needs: Dependencies


def render_script(run: RunState, trace: Path, *, pinned: bool = True) -> str:
    """Render the solution as a script: requirements, a docstring with the task, the code, the check.

    Files that the solution reads are located relative to the trace; if `pinned`, the versions of the run are required.
    """
    solution = final_solution(run)
    if run.started is None or run.finished is None or solution is None:
        why = run.finished.verdict.reason if run.finished else _NO_VERDICT
        raise UsageError(f"There is no solution to export. {why}", remedy="Export the run with --to html.")
    parts = _build(run, run.started, solution, trace, pinned)
    paragraphs = _docstring_paragraphs(parts, run, run.started, run.finished.verdict, trace.name)
    docstring = _docstring(run.started.task.text, paragraphs)
    body = insert_after_futures(parts.code, [*_guards(parts)])
    head = _metadata(parts.needs, run.started.environment.python)
    return "\n".join([*head, docstring, "", body, *([f"\n{parts.main}"] if parts.main else []), ""])


def _build(run: RunState, started: RunStarted, solution: Solution, trace: Path, pinned: bool) -> _Script:
    observed = observation_of(run, solution) or Observation("ok")
    code = to_plain_python(solution.code, shows_last=_has_output(observed, "execute_result"))
    if started.task.setup:
        code = insert_after_futures(code, to_plain_python(started.task.setup, shows_last=False).splitlines())
    main = render_main_block(started.task, observed)
    whole = f"{code}\n{main}"
    folder = trace.resolve().parent
    workdir = folder.parent if folder.name == FOLDER else folder
    lacks = needed_variables(whole, started.task.uses)
    libraries = run.library.libraries if run.library else ()
    requirements = find_dependencies(whole, libraries, started.environment, pinned=pinned, whole=bool(lacks))
    files = needed_files(whole, workdir, observed.files)
    return _Script(code, main, observed, lacks, files, requirements)


def _has_output(observed: Observation, kind: str, mime: str = "") -> bool:
    found = [output for output in observed.outputs if output.get("output_type") == kind]
    return (
        any(mime in data for output in found if isinstance(data := output.get("data"), dict)) if mime else bool(found)
    )


def _metadata(needs: Dependencies, python: str) -> Iterator[str]:
    yield "# /// script"
    if minor := re.match(r"\d+\.\d+", python):
        yield f'# requires-python = ">={minor[0]}"'
    yield "# dependencies = ["
    yield from (f'#     "{requirement}",' for requirement in needs.needed)
    if needs.optional:
        yield "#     # Optional dependencies that were installed in the run; uncomment if needed:"
        yield from (f'#     # "{requirement}",' for requirement in needs.optional)
    yield "# ]"
    yield "# ///"


def _docstring(task: str, paragraphs: Iterable[str]) -> str:
    wrapped = "\n".join(map(_wrap, task.strip().expandtabs().splitlines()))
    text = "\n\n".join([wrapped, *map(_wrap, paragraphs)])
    shown = "".join(map(_printable, _METADATA_START.sub(" # ///", text)))
    escaped = shown.replace("\\", "\\\\").replace('"""', '\\"\\"\\"')
    return f'"""{escaped}\n"""'


def _printable(char: str) -> str:
    return char if char.isprintable() or char == "\n" else " " if char.isspace() else "?"


def _wrap(line: str) -> str:
    if len(line) <= _WIDTH:
        return line
    indent = " " * (len(line) - len(line.lstrip()))
    return fill(line, _WIDTH, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)


def _docstring_paragraphs(
    parts: _Script, run: RunState, started: RunStarted, verdict: Verdict, trace: str
) -> Iterator[str]:
    when = f"{datetime.fromtimestamp(run.started_at, UTC):%Y-%m-%d}"
    yield (
        f"Explored on {when} by exploracoder_jupyter {started.version}, model {started.model}: run {run.run_id} in "
        f"{trace}. {verdict.outcome.capitalize()}: {verdict.reason}"
    )
    if verdict.outcome == "stopped":
        yield "This is the code that ran in each subtask, put together; it was not run as a whole."
    if parts.lacks:
        yield f"It uses variables of the explored notebook: {', '.join(parts.lacks)}."
    if parts.files:
        yield f"It reads files: {', '.join(parts.files)}."
    if paths := home_paths(parts.code):
        yield f"Replace ~, which stands for a home folder omitted from the trace, by the full path: {', '.join(paths)}."
    if parts.needs.unknown:
        names = ", ".join(parts.needs.unknown)
        yield f"No package index is known to provide the imported {names}; install it separately."
    if _has_output(parts.observed, "display_data", "image/png") and not re.search(r"\bshow\(|\bsavefig\(", parts.code):
        yield _FIGURES_NOTE
    if started.task.check and not parts.main:
        yield f"The check is not included; run it with `jupyter explora check {trace}`."


def _guards(parts: _Script) -> Iterator[str]:
    """Yield code that ends the script with a sentence if what it needs is not there: modules, variables, files."""
    if absent := [name for name in parts.needs.unknown if name in unconditional_imports(parts.code)]:
        yield "from importlib.util import find_spec\n"
        yield f"if _unknown := [name for name in {absent!r} if find_spec(name) is None]:"
        yield f"    raise SystemExit(f\"{_NOT_FOUND}: {{', '.join(_unknown)}}.\")"
    if parts.lacks:
        quoted = ", ".join(f'"{name}"' for name in parts.lacks)
        yield f"# Define {', '.join(parts.lacks)} here."
        yield f"if _missing := {{{quoted}}} - globals().keys():"
        yield "    raise SystemExit(f\"First define {', '.join(sorted(_missing))}, which the explored notebook had.\")"
    if parts.files:
        yield "from pathlib import Path\n"
        yield f"if _absent := [name for name in {[*parts.files]!r} if not Path(name).exists()]:"
        yield "    raise SystemExit(f\"Not in the folder where this runs: {', '.join(_absent)}.\")"


def needed_variables(code: str, uses: Container[str]) -> list[str]:
    """Return the names that the code reads but never binds, and those of `uses` that it reads before binding them."""
    if any(isinstance(node, ast.ImportFrom) and node.names[0].name == "*" for node in ast.walk(parse_python(code))):
        return sorted(
            name for name in unbound_names(code) or () if name in uses
        )  # the rest may come from the star import
    names = names_in(code)
    before = {name for name in unbound_names(code) or () if name in uses}
    return sorted((names.read - names.bound - ALWAYS_DEFINED) | before)


def needed_files(code: str, folder: Path, written: Container[str]) -> list[str]:
    """Return relative paths in the code's strings that are files in the folder and were not written by the code."""
    found = dict.fromkeys(
        text for text in _string_constants(code) if _FILE.fullmatch(text) and not PurePosixPath(text).is_absolute()
    )
    return [text for text in found if text not in written and (folder / text).is_file()]


def home_paths(code: str) -> list[str]:
    """Return paths in the code's strings that start with `~`, by which traces replace home folders.

    Empty if the code calls `expanduser`, because it then handles `~` itself.
    """
    found = dict.fromkeys(text for text in _string_constants(code) if re.match(r"~[/\\]\w", text))
    return [] if "expanduser" in code else [" ".join(text.split())[:200] for text in found]


def _string_constants(code: str) -> Iterator[str]:
    for node in ast.walk(parse_python(code)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value

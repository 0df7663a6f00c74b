"""The magics: `%%explora` starts a run, `%explora` executes commands, `%%explored` shows recorded outputs again."""

from __future__ import annotations

import atexit
import json
import re
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from IPython.core.error import UsageError as PlainError
from IPython.core.inputtransformer2 import cell_magic as cell_magic_line
from IPython.core.inputtransformer2 import classic_prompt
from IPython.core.interactiveshell import InteractiveShell
from IPython.core.magic import Magics, cell_magic, line_magic, magics_class, no_var_expand
from traitlets import Bool, CaselessStrEnum, Float, Integer, List, TraitType, Unicode

from exploracoder_jupyter.core.configuration.options import OPTIONS, nest_settings
from exploracoder_jupyter.core.configuration.setting_annotations import Kind, Option
from exploracoder_jupyter.core.errors import ExploraError, InternalError, to_explora_error
from exploracoder_jupyter.ipython_extension.browser.browser_comms import BrowserComms
from exploracoder_jupyter.ipython_extension.magic_line import find_caller, help_text, parse_magic_cell
from exploracoder_jupyter.ipython_extension.tab_completion import matcher

if TYPE_CHECKING:
    from pydantic import JsonValue

    from exploracoder_jupyter.ipython_extension.magic_execution import Commands


# Shows a recorded cell's outputs again when the cell is run, so that Run All does not empty a trace.
#
# A front end clears a cell's outputs as soon as it is executed, but the file on disk still has them: they are
# looked up there by the cell's id and source, and sent again as the original messages. They are sanitized once
# more, because the front end trusts what a cell shows while it runs, and the file may come from anyone. An error
# among them is an output like the others: the cell itself succeeds, and Run All continues. Nothing here raises.

_CONTENT: dict[str, tuple[str, ...]] = {
    "stream": ("name", "text"),
    "display_data": ("data", "metadata"),
    "execute_result": ("data", "metadata", "execution_count"),
    "error": ("ename", "evalue", "traceback"),
}
"""The fields of each type of output, which are those of its message."""


def show_recorded(shell: InteractiveShell) -> bool:
    """Send the outputs of the executing cell from the saved notebook; return whether the notebook has that cell."""
    caller = find_caller(shell)
    if caller.notebook is None or caller.cell is None:
        return False
    code = shell.get_parent()["content"]["code"]  # type: ignore[attr-defined]
    try:
        outputs = _saved(caller.notebook, caller.notebook.stat().st_mtime_ns).get((caller.cell, code))
        messages = None if outputs is None else [_message(output) for output in _sanitized(outputs)]
    except (OSError, ValueError, LookupError, TypeError, AttributeError):  # the file is missing or not a notebook
        return False
    except ImportError:  # the environment of this kernel does not have the sanitizer's libraries
        return False
    for kind, content in messages or ():
        kernel = shell.kernel  # type: ignore[attr-defined]
        kernel.send_response(kernel.iopub_socket, kind, content)
    return messages is not None


@lru_cache(maxsize=1)  # Run All executes every candidate of the same file
def _saved(path: Path, changed: int) -> Mapping[tuple[str, str], list[dict[str, Any]]]:
    """Return the outputs of a notebook's code cells by id and source; `changed` is when the file was written."""
    cells = json.loads(path.read_bytes())["cells"]
    return {
        (cell["id"], _join(cell["source"])): cell["outputs"]
        for cell in cells
        if cell["cell_type"] == "code" and "id" in cell
    }


def _sanitized(outputs: list[dict[str, Any]]) -> tuple[Mapping[str, Any], ...]:
    from exploracoder_jupyter.trace.output_sanitizer import sanitize  # takes a second to import

    return sanitize(outputs)


def _message(output: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    kind = output["output_type"]
    content = {name: output[name] for name in _CONTENT[kind]}
    if kind == "stream":
        content["text"] = _join(content["text"])
    if "data" in content:
        data = content["data"].items()
        content["data"] = {mime: value if mime.endswith("json") else _join(value) for mime, value in data}
    return kind, content


def _join(text: str | list[str]) -> str:
    return text if isinstance(text, str) else "".join(text)


# The magics: `%%explora` starts a run, `%explora` executes commands, `%%explored` marks cells recorded elsewhere.
#
# Light to import, because `%load_ext` must be instant: the relay, the panel and pydantic are imported at the first
# run. Every error is one plain sentence on standard error.


@contextmanager
def _plain_errors() -> Iterator[None]:
    """Convert our errors, and those of the system, to IPython's usage error: a sentence without a traceback."""
    try:
        yield
    except (ExploraError, OSError) as error:
        known = to_explora_error(error)
        if isinstance(known, InternalError):
            raise
        raise PlainError(str(known)) from None


def _trait(option: Option) -> TraitType[Any, Any]:
    """Return the trait that sets an option's default in `%config`; `None` leaves it unset."""
    make: dict[Kind | None, Callable[..., TraitType[Any, Any]]] = {
        "flag": Bool,
        "whole": Integer,
        "number": Float,
        "paths": partial(List, Unicode()),
        "choice": partial(CaselessStrEnum, option.choices),
    }
    text = f"{option.help[:1].upper()}{option.help[1:]}."
    return make.get(option.kind, Unicode)(None, allow_none=True, help=text).tag(config=True)


@magics_class
class ExploraMagics(Magics):
    """`%config ExploraMagics.candidates = 3` sets defaults for the next runs; options of a run override them."""

    vars().update({option.dest: _trait(option) for option in OPTIONS if option.section})

    def __init__(self, shell: InteractiveShell) -> None:
        super().__init__(shell)
        self._shell = shell
        self._commands: Commands | None = None
        self._creation_lock = threading.Lock()
        self._link = BrowserComms(lambda: self.commands.controls) if hasattr(shell, "kernel") else None
        if self._link:
            self._link.register()

    @property
    def commands(self) -> Commands:
        """The commands of the magics; imported and created at first use, by a cell or by a page's control."""
        with self._creation_lock:
            if self._commands is None:
                from exploracoder_jupyter.ipython_extension.magic_execution import Commands

                self._commands = Commands(self._shell, configured=self.configured, link=self._link)
                atexit.register(self._commands.runs.stop)
            return self._commands

    def release(self) -> None:
        """Stop all runs and disconnect from the pages, because the extension is unloaded."""
        if self._link:
            self._link.unregister()
        if self._commands is not None:
            self._commands.runs.stop()
            self._commands.variables.release()
            atexit.unregister(self._commands.runs.stop)

    def configured(self) -> dict[str, dict[str, JsonValue]]:
        """Return what `%config` has set, as a settings layer."""
        return nest_settings({name: getattr(self, name) for name in self.trait_names(config=True)})

    @no_var_expand
    @cell_magic("explora")  # type: ignore[arg-type]
    def explore(self, line: str, cell: str) -> None:
        """Explore libraries for a task."""
        with _plain_errors():
            self.commands.explore(*parse_magic_cell(line, cell))

    @no_var_expand
    @line_magic("explora")  # type: ignore[arg-type]
    def command(self, line: str) -> object:
        """Search libraries and manage explorations.

        %explora search [-k N] [LIB] QUERY    the APIs of a library that match a query, best first; without LIB, those
                                   of the library that was searched or explored last; `hits = %explora search ...`
                                   stores them as a list: hits[0].path, .signature, .example
        %explora find [-k N] [--python PATH] QUERY    the installed packages that can do something, best first, with
                                   the APIs that show why
        %explora status            show what is running, and its progress
        %explora stop              stop what is running, keep its results
        %explora accept            start a run whose plan is waiting for your review
        %explora solution          insert the last solution into a new cell
        %explora files [--copy]    list the files of the last solution, if they were kept; copy them into the working
                                   directory
        %explora apply [TRACE]     write the patch of the last run in a repository, or of a trace, into its files
        %explora undo [TRACE]      undo that, as long as the files are as the patch left them
        %explora checkpoint [NAME] make a checkpoint of this kernel's variables (Linux); without NAME, list them
        %explora back [NAME|N]     go back to a checkpoint: by name, by number, or to the newest
        %explora history [-n N]    list the runs of this session, and earlier explorations here and elsewhere
        %explora export [--to script|html|notebook] [PATH]    write the last trace as a script, as a page to read, or
                                   as a notebook without the candidates that were not selected
        %explora clean [--keep-solution]    remove the explorations from this notebook
        %explora setup             find a language model here, try it, and configure it
        %explora config            show where settings come from, and where to set a key
        %explora config key        set a key; you are prompted for it, so it is never typed into a cell
        """
        with _plain_errors():
            return self.commands.run(line)

    @no_var_expand
    @cell_magic("explored")  # type: ignore[arg-type]
    def explored(self, line: str, cell: str) -> None:
        """Mark a candidate that ran in another kernel: its cell shows the recorded outputs and executes nothing."""
        if not show_recorded(self._shell):
            name = re.sub(r"[^\w.+-]", "", line.split()[0]) if line.split() else ""
            sys.stdout.write(f"Candidate {name}, recorded, not run here.\n" if name else "Recorded, not run here.\n")


def _add_body(lines: list[str]) -> list[str]:
    """Add a body to a lone `%%explora` line: IPython rejects an empty one with a message that is misleading here."""
    alone = lines and re.match(r"%%explora(\s|$)", lines[0]) and not "".join(lines[1:])
    return [lines[0].rstrip("\n") + "\n", "\n"] if alone else lines


def _keep_prompts(lines: list[str]) -> list[str]:
    """Keep the `>>>` of doctests in a task or check: convert the cell before IPython removes prompts from its lines."""
    if not lines or not re.match(r"%%explora\s", lines[0]):
        return lines
    converted: list[str] = cell_magic_line(lines)  # type: ignore[no-untyped-call]
    return converted


def _separate_question_mark(lines: list[str]) -> list[str]:
    """Allow a search to be a question: IPython interprets a `?` at the end of a line, unless a space precedes it."""
    return [re.sub(r"^(\s*(?:\w+\s*=\s*)?%explora\s+(?:search|find)\s.*\w)(\?+\s*)$", r"\1 \2", line) for line in lines]


# Must not be called when IPython checks whether the input is complete: the task is still to come.
_add_body.has_side_effects = True  # type: ignore[attr-defined]
_keep_prompts.has_side_effects = True  # type: ignore[attr-defined]
_TRANSFORMERS = (_add_body, _keep_prompts, _separate_question_mark)

ExploraMagics.explore.__doc__ = help_text()  # type: ignore[assignment]


def register(shell: InteractiveShell) -> None:
    """Add the magics and their completion to this shell, once."""
    if _registered(shell):
        return
    shell.register_magics(ExploraMagics(shell))
    shell.Completer.custom_matchers.append(matcher)
    transformers = shell.input_transformers_cleanup
    first = transformers.index(classic_prompt) if classic_prompt in transformers else 0
    transformers[first:first] = _TRANSFORMERS


def unregister(shell: InteractiveShell) -> None:
    """Remove the magics and their completion, and stop all runs."""
    magics = _registered(shell)
    if magics is None:
        return
    magics.release()
    for kind, name in (("cell", "explora"), ("line", "explora"), ("cell", "explored")):
        shell.magics_manager.magics[kind].pop(name, None)
    shell.magics_manager.registry.pop(ExploraMagics.__name__, None)
    shell.configurables.remove(magics)  # type: ignore[arg-type]
    shell.Completer.custom_matchers.remove(matcher)
    for transformer in _TRANSFORMERS:
        shell.input_transformers_cleanup.remove(transformer)


def _registered(shell: InteractiveShell) -> ExploraMagics | None:
    return next((configurable for configurable in shell.configurables if isinstance(configurable, ExploraMagics)), None)

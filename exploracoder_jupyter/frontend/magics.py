"""The magics: `%%explora` starts a run, `%explora` asks about runs, `%%explored` marks what was recorded elsewhere.

Light to import, for `%load_ext` must be felt by nobody: the relay, the panel and pydantic are imported at the first
run. Everything that goes wrong is one plain sentence on standard error.
"""

from __future__ import annotations

import atexit
import re
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from IPython.core.error import UsageError as PlainError
from IPython.core.interactiveshell import InteractiveShell
from IPython.core.magic import Magics, cell_magic, line_magic, magics_class, no_var_expand
from traitlets import Bool, CaselessStrEnum, Float, Integer, List, Unicode

from exploracoder_jupyter.core.errors import ExploraError, UsageError
from exploracoder_jupyter.core.options import nest
from exploracoder_jupyter.frontend.browser.browser_comms import BrowserComms
from exploracoder_jupyter.frontend.magic_line import help_text, parse_magic_line
from exploracoder_jupyter.frontend.recorded_outputs import show_recorded
from exploracoder_jupyter.frontend.tab_completion import matcher

if TYPE_CHECKING:
    from pydantic import JsonValue

    from exploracoder_jupyter.frontend.magic_commands import Commands


@contextmanager
def _plainly() -> Iterator[None]:
    """Turn our errors into IPython's usage error, which shows the sentence and no traceback."""
    try:
        yield
    except ExploraError as error:
        raise PlainError(str(error)) from None


@magics_class
class ExploraMagics(Magics):
    """`%config ExploraMagics.candidates = 3` sets what the next runs start from; options of a run are stronger."""

    model = Unicode(None, allow_none=True, help="Model name at the endpoint, or `offline`.").tag(config=True)
    base_url = Unicode(None, allow_none=True, help="OpenAI-compatible endpoint.").tag(config=True)
    share = CaselessStrEnum(
        ("values", "schema", "none"), None, allow_none=True, help="How much of what experiments print is sent."
    ).tag(config=True)
    preset = CaselessStrEnum(
        ("quick", "standard", "thorough"), None, allow_none=True, help="How much is tried where nothing else says it."
    ).tag(config=True)
    candidates = Integer(None, allow_none=True, help="Snippets per subtask.").tag(config=True)
    subtasks = Integer(None, allow_none=True, help="Subtasks at most.").tag(config=True)
    debug_rounds = Integer(None, allow_none=True, help="Repair rounds when all candidates fail.").tag(config=True)
    tests = Bool(None, allow_none=True, help="Whether solutions are tried on generated inputs.").tag(config=True)
    review = Bool(None, allow_none=True, help="Whether the plan waits for your word.").tag(config=True)
    timeout = Float(None, allow_none=True, help="Seconds for one execution.").tag(config=True)
    budget_tokens = Integer(None, allow_none=True, help="Tokens at most.").tag(config=True)
    budget_seconds = Float(None, allow_none=True, help="Seconds at most.").tag(config=True)
    state = CaselessStrEnum(("auto", "live", "fresh"), None, allow_none=True, help="Where experiments start.").tag(
        config=True
    )
    pickle = Bool(None, allow_none=True, help="Whether variables may be sent as pickles.").tag(config=True)
    workspace = Bool(None, allow_none=True, help="Whether the notebook and the files beside it are searched.").tag(
        config=True
    )
    no_snippets = Bool(None, allow_none=True, help="Whether to neither use nor keep code that ran.").tag(config=True)
    docs = List(Unicode(), None, allow_none=True, help="Documentation beside the libraries' own.").tag(config=True)
    embedding_folder = Unicode(None, allow_none=True, help="Folder of an embedding model.").tag(config=True)
    allow_read = List(Unicode(), None, allow_none=True, help="Paths of the home folder that experiments may read.").tag(
        config=True
    )
    isolation = CaselessStrEnum(
        ("best", "require"), None, allow_none=True, help="Whether to run below the full level of isolation."
    ).tag(config=True)
    web = Unicode(None, allow_none=True, help="Where the web is searched.").tag(config=True)
    network = Bool(None, allow_none=True, help="Whether experiments may reach the network.").tag(config=True)
    kernel = Unicode(None, allow_none=True, help="Kernelspec to explore in.").tag(config=True)
    python = Unicode(None, allow_none=True, help="Interpreter to explore in.").tag(config=True)
    gateway = Unicode(None, allow_none=True, help="Jupyter Server that runs the experiments.").tag(config=True)
    show = CaselessStrEnum(("all", "selected", "none"), None, allow_none=True, help="Candidates shown.").tag(
        config=True
    )
    keep_files = Bool(None, allow_none=True, help="Whether the solution's files are kept.").tag(config=True)
    no_prompts = Bool(None, allow_none=True, help="Whether to leave what the model is asked out of the trace.").tag(
        config=True
    )
    no_history = Bool(None, allow_none=True, help="Whether to leave no line in the history.").tag(config=True)
    out = Unicode(None, allow_none=True, help="Path of the trace notebook.").tag(config=True)
    engine_python = Unicode(None, allow_none=True, help="Interpreter that runs the engine.").tag(config=True)

    def __init__(self, shell: InteractiveShell) -> None:
        super().__init__(shell)
        self._shell = shell
        self._commands: Commands | None = None
        self._making = threading.Lock()
        self._link = BrowserComms(lambda: self.commands.controls) if hasattr(shell, "kernel") else None
        if self._link:
            self._link.register()

    @property
    def commands(self) -> Commands:
        """What the magics do; made at first use, by a cell or by a page's word, with everything it imports."""
        with self._making:
            if self._commands is None:
                from exploracoder_jupyter.frontend.magic_commands import Commands

                self._commands = Commands(self._shell, configured=self.configured, link=self._link)
                atexit.register(self._commands.runs.stop)
            return self._commands

    def release(self) -> None:
        """Ask every run for its end and hear no page any more: the extension goes away."""
        if self._link:
            self._link.unregister()
        if self._commands is not None:
            self._commands.runs.stop()
            atexit.unregister(self._commands.runs.stop)

    def configured(self) -> dict[str, dict[str, JsonValue]]:
        """What `%config` has set, as a settings layer."""
        values = {name: getattr(self, name) for name in self.trait_names(config=True)}
        layer = nest(values)
        if self.engine_python:
            layer.setdefault("sandbox", {})["engine_python"] = self.engine_python
        return layer

    @no_var_expand
    @cell_magic("explora")  # type: ignore[arg-type]
    def explore(self, line: str, cell: str) -> None:
        """Explore libraries for a task."""
        with _plainly():
            call = parse_magic_line(line)
            if not cell.strip() and not (call.resume or call.replay):
                raise UsageError("There is no task.", remedy="Write it in words below the %%explora line.")
            self.commands.explore(call, cell.strip())

    @no_var_expand
    @line_magic("explora")  # type: ignore[arg-type]
    def command(self, line: str) -> object:
        """Search libraries, and ask about explorations.

        %explora search [-k N] [LIB] QUERY    the APIs of a library that fit a query, best first; without LIB, those of
                                   the library that was searched or explored last; `hits = %explora search ...` keeps
                                   them as a list: hits[0].path, .signature, .example
        %explora status            what is running, and how far it is
        %explora stop              end what is running, keep what was learned
        %explora accept            begin a run whose plan waits for your word
        %explora solution          put the last solution into a new cell
        %explora files [--copy]    what the last solution wrote, if it was kept; copy it into the working directory
        %explora history [-n N]    the runs of this session, and what was explored before, here and elsewhere
        %explora export [--to script|html|notebook] [PATH]    write the last trace as a script, as a page to read, or
                                   as a notebook without the candidates that lost
        %explora clean [--keep-solution]    remove the explorations from this notebook
        %explora config            where settings come from, and where a key is set
        %explora config key        set a key; it is asked for, never typed into a cell
        """
        with _plainly():
            return self.commands.run(line)

    @no_var_expand
    @cell_magic("explored")  # type: ignore[arg-type]
    def explored(self, line: str, cell: str) -> None:
        """Mark a candidate that ran in another kernel: its cell shows its recorded outputs again and runs nothing."""
        if not show_recorded(self._shell):
            name = re.sub(r"[^\w.+-]", "", line.split()[0]) if line.split() else ""
            sys.stdout.write(f"Candidate {name}, recorded, not run here.\n" if name else "Recorded, not run here.\n")


def _with_body(lines: list[str]) -> list[str]:
    """A body for a lone `%%explora` line: IPython refuses an empty one in words that lead astray here."""
    alone = lines and re.match(r"%%explora(\s|$)", lines[0]) and not "".join(lines[1:])
    return [lines[0].rstrip("\n") + "\n", "\n"] if alone else lines


def _with_question(lines: list[str]) -> list[str]:
    """Let a search be a question: IPython takes a `?` at the end of a line for its own, unless a space is before it."""
    return [re.sub(r"^(\s*(?:\w+\s*=\s*)?%explora\s+search\s.*\w)(\?+\s*)$", r"\1 \2", line) for line in lines]


# Not to be called while it is asked whether what was typed is complete: the task is still to come.
_with_body.has_side_effects = True  # type: ignore[attr-defined]
_TRANSFORMERS = (_with_body, _with_question)

ExploraMagics.explore.__doc__ = help_text()  # type: ignore[assignment]


def register(shell: InteractiveShell) -> None:
    """Add the magics and their completion to this shell, once."""
    if _registered(shell):
        return
    shell.register_magics(ExploraMagics(shell))
    shell.Completer.custom_matchers.append(matcher)
    shell.input_transformers_cleanup.extend(_TRANSFORMERS)


def unregister(shell: InteractiveShell) -> None:
    """Take them away again and ask every run for its end."""
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
    return next((known for known in shell.configurables if isinstance(known, ExploraMagics)), None)

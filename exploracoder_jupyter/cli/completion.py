"""`jupyter explora completion`: prints a script that completes `jupyter explora` in a shell, and answers that script.

The script makes the shell start the command at each Tab, with variables that argcomplete defines. `jupyter` itself
answers in the same way, so its other commands are completed too: a static script for `jupyter` would suppress them.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Iterable

from exploracoder_jupyter.cli.output import print_result
from exploracoder_jupyter.core.errors import MissingRequirement

_SHELLS = ("bash", "zsh", "fish")
_PROGRAMS = ["jupyter", "jupyter-explora"]
_FILES = ("TASKFILE", "TRACE", "TRACE2", "CONNECTION_FILE", "PATH", "PROBLEMS", "DIR", "FOLDER", "FILE", "TEST", "CODE")
"""Metavars of arguments that may be paths."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("shell", choices=_SHELLS, metavar="SHELL", help="the shell that will run it: bash, zsh or fish")


def execute(arguments: argparse.Namespace) -> int:
    """Print the script of a shell."""
    try:
        from argcomplete.shell_integration import shellcode
    except ImportError as error:
        raise MissingRequirement(
            "Shell completion requires argcomplete.", remedy='Run `pip install "exploracoder-jupyter[completion]"`.'
        ) from error
    print_result(shellcode(_PROGRAMS, shell=arguments.shell).strip())
    return 0


def is_requested() -> bool:
    """Whether a shell started this process for completions."""
    return "_ARGCOMPLETE" in os.environ


def complete(parser: argparse.ArgumentParser) -> None:
    """Answer the shell, and end this process; without argcomplete there are no completions."""
    try:
        import argcomplete
        from argcomplete.completers import FilesCompleter, SuppressCompleter
    except ImportError:
        os._exit(1)
    for action in _actions(parser):
        if completer := FilesCompleter() if action.metavar in _FILES else _completer(action):
            action.completer = completer  # type: ignore[attr-defined]
    argcomplete.autocomplete(parser, always_complete_options="long", default_completer=SuppressCompleter())


def _actions(parser: argparse.ArgumentParser) -> Iterable[argparse.Action]:
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for command in action.choices.values():
                yield from _actions(command)
        else:
            yield action


def _completer(action: argparse.Action) -> Callable[..., Iterable[str]] | None:
    shown = action.metavar if isinstance(action.metavar, str) else ""
    if "|" in shown:
        return lambda **_: shown.split("|")
    return {"LIB": _libraries, "STRATEGY": _strategies, "KERNELSPEC": _kernels}.get(shown)


def _libraries(**_: object) -> Iterable[str]:
    from importlib.metadata import packages_distributions

    return sorted(name for name in packages_distributions() if name.isidentifier() and not name.startswith("_"))


def _strategies(**_: object) -> Iterable[str]:
    from exploracoder_jupyter.kernel_agent.entry_points import registered

    return sorted(plugin.name for plugin in registered("strategies"))


def _kernels(**_: object) -> Iterable[str]:
    from jupyter_client.kernelspec import KernelSpecManager

    return sorted(KernelSpecManager().find_kernel_specs())

"""Writes the variables that a task uses to a private folder, for siblings that are not forks of this kernel.

If experiments will start from a fork of this kernel, nothing is written: that takes seconds of the user's time for a
large table, and nothing would read it. What can only be pickled is sent if the user agrees, who is asked before the
engine starts; a task is not explored without a variable that it treats as given.
"""

from __future__ import annotations

import tempfile
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from exploracoder_jupyter.core.configuration.sandbox_settings import Sandbox
from exploracoder_jupyter.core.errors import UsageError
from exploracoder_jupyter.core.types import UserVariable
from exploracoder_jupyter.kernel_agent.variable_encoding import VariableTransferError, dump

_MEGABYTE: Final = 1_000_000
_MAX_REMOTE_MB: Final = 100
"""Limit where another machine runs the experiments: every sibling receives the variables over a network."""
_MAKE: Final = "Give --setup code that makes what is missing."
_PICKLE: Final = f"Use --pickle to send a pickle. {_MAKE}"


@dataclass(frozen=True, slots=True)
class Sending:
    """What was sent."""

    folder: str | None = None
    """A private folder that exists as long as the run; `None` if nothing was to be sent."""
    problems: Mapping[str, str] = field(default_factory=dict)
    """Why a variable is not in it, by name; sentences."""
    pickled: bool = False
    """Whether it may contain pickles."""


def send_variables(
    names: Sequence[str],
    namespace: Mapping[str, object],
    resources: ExitStack,
    sandbox: Sandbox,
    *,
    withheld: Collection[str] = (),
) -> Sending:
    """Write the variables, as far as possible, to a folder that `resources` removes."""
    if not names:
        return Sending()
    folder = resources.enter_context(tempfile.TemporaryDirectory(prefix="explora-"))
    return Sending(folder, _write(folder, names, namespace, sandbox, withheld), sandbox.pickle)


def send_with_consent(
    variables: Sequence[UserVariable],
    required: Collection[str],
    namespace: Mapping[str, object],
    resources: ExitStack,
    sandbox: Sandbox,
    *,
    withheld: Collection[str],
    why: str,
) -> Sending:
    """Write the variables; what is required and can only be pickled is pickled if the user agrees.

    `why` is the reason why this kernel is not forked, as a clause. Raises UsageError: experiments would lack a required
    variable.
    """
    sent = send_variables([one.name for one in variables], namespace, resources, sandbox, withheld=withheld)
    lacking = [one for one in variables if one.name in required and one.name in sent.problems]
    if not lacking:
        return sent
    names = [one.name for one in lacking]
    allowed = replace(sandbox, pickle=True)
    problems = _write(sent.folder or "", names, namespace, allowed, withheld) if not sandbox.pickle else sent.problems
    if not problems and _agrees(lacking, sent.folder or "", why):
        return Sending(sent.folder, {name: sent.problems[name] for name in sent.problems if name not in names}, True)
    resources.close()
    what = " ".join((problems or sent.problems)[name] for name in names if name in (problems or sent.problems))
    raise UsageError(f"Experiments start in a new kernel ({why}). {what}", remedy=_MAKE if problems else _PICKLE)


def _agrees(lacking: Sequence[UserVariable], folder: str, why: str) -> bool:
    """Ask the user whether pickles of these variables may be sent; False if this front end cannot ask."""
    from IPython.core.error import StdinNotImplementedError

    listed = ", ".join(f"{one.name} (a {one.type})" for one in lacking)
    size = sum(path.stat().st_size for one in lacking for path in Path(folder).glob(f"{one.name}.*"))
    question = (
        f"Experiments start in a new kernel ({why}), which can get {listed} only as a pickle ({size:,} bytes). "
        "Send it? [y/n] "
    )
    try:
        return input(question).strip().lower() in ("y", "yes")
    except (StdinNotImplementedError, EOFError, OSError):  # no front end, or no terminal
        return False


def _write(
    folder: str, names: Iterable[str], namespace: Mapping[str, object], sandbox: Sandbox, withheld: Collection[str]
) -> dict[str, str]:
    """Write variables with what they need; return why one is not in the folder, as a sentence by its name."""
    problems = {}
    most = min(sandbox.variables_mb, _MAX_REMOTE_MB) if sandbox.gateway else sandbox.variables_mb
    for name in names:
        if name not in namespace:
            problems[name] = f"There is no variable {name!r}."
        elif name in withheld:
            problems[name] = f"The variable {name!r} looks like a credential; --use {name} sends it."
        else:
            before = {path.name for path in Path(folder).iterdir()}
            try:
                dump(
                    [name],
                    namespace,
                    folder,
                    pickled=sandbox.pickle,
                    most_bytes=most * _MEGABYTE,
                    withheld=withheld,
                )
            except (VariableTransferError, ImportError, OSError) as error:
                problems[name] = str(error)
                for path in Path(folder).iterdir():  # incomplete: a full disk, or it needs what cannot be sent
                    if path.name not in before:
                        path.unlink(missing_ok=True)
    return problems

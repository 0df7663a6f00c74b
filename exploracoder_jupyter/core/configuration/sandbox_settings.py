"""Settings of siblings: their limits, isolation, interpreter and starting state."""

# No `from __future__ import annotations`: the annotations are read at run time, as objects.
from dataclasses import dataclass
from typing import Annotated, Literal

from exploracoder_jupyter.core.configuration.setting_annotations import Option, Section, Setting


@dataclass(frozen=True, slots=True)
class Sandbox(Section):
    """Limits of every sibling."""

    memory_mb: Annotated[int, Setting("memory of one sibling, on top of what it was forked with", ge=256)] = 4096
    cpu_seconds: Annotated[int, Setting("CPU seconds of one sibling", ge=1)] = 600
    processes: Annotated[int, Setting("processes and threads of one sibling", ge=1)] = 256
    open_files: Annotated[int, Setting("open files per process of a sibling", ge=64)] = 4096
    file_mb: Annotated[int, Setting("maximum size of one written file", ge=1)] = 512
    output_kb: Annotated[int, Setting("maximum stored output of one execution", ge=1)] = 1024
    copy_mb: Annotated[int, Setting("largest working directory to copy where it cannot be overlaid", ge=0)] = 200
    variables_mb: Annotated[int, Setting("maximum size of the variables that are sent to a fresh kernel", ge=0)] = 1024
    network: Annotated[bool, Setting("let experiments access the network"), Option()] = False
    allow_read: Annotated[
        tuple[str, ...],
        Setting("a file or folder in your home folder that experiments may read, besides this project"),
        Option(metavar="PATH", reading=True),
    ] = ()
    kernel: Annotated[
        str | None,
        Setting("kernelspec to explore in; none: the caller's interpreter"),
        Option(help="kernelspec to explore in", metavar="KERNELSPEC", reading=True),
    ] = None
    python: Annotated[
        str | None,
        Setting("interpreter to explore in, if no kernelspec is given: Python 3.10 or newer with ipykernel"),
        Option(metavar="PATH", reading=True),
    ] = None
    state: Annotated[
        Literal["auto", "live", "fresh"],
        Setting(
            "where experiments start: `live`, in a fork of this kernel, with all its variables; `fresh`, in a new "
            "kernel, with those that the task names or --use; `auto`, live unless something prevents it"
        ),
        Option(
            refused=(("live", "works only in notebooks: there is no live kernel on the command line"),),
            command_help="where experiments start: always in a fresh kernel",
        ),
    ] = "auto"
    branching: Annotated[Literal["auto", "fork", "rerun"], Setting("how kernel states are branched")] = "auto"
    isolation: Annotated[
        Literal["best", "require"],
        Setting("best: the strongest isolation available; require: refuse to run without full isolation"),
        Option(reading=True),
    ] = "best"
    pickle: Annotated[
        bool,
        Setting("allow sending variables to a fresh kernel as pickles, where nothing else works"),
        Option(places=("magic",)),
    ] = False
    gateway: Annotated[
        str | None,
        Setting("remote Jupyter Server or Kernel Gateway that runs the experiments"),
        Option(metavar="URL", reading=True),
    ] = None
    engine_python: Annotated[
        str | None, Setting("interpreter that runs the engine; none: the caller's"), Option(places=())
    ] = None

"""Code that lists, in the branch where a program failed, what the library's objects at hand can do."""

from __future__ import annotations

from importlib import resources

from exploracoder_jupyter.pipeline.step_context import Run

_NAME = "_explora_objects"


def inspection_code(run: Run) -> str:
    """Return the code, which prints the types with their members and no values."""
    packages = sorted({info.name.partition(".")[0] for info in run.knowledge.libraries})
    folder = resources.files("exploracoder_jupyter.kernel_agent").joinpath("reporting")
    source = folder.joinpath("failing_objects.py").read_text(encoding="utf-8")
    lines = (
        f"{_NAME} = {{}}",
        f"exec({source!r}, {_NAME})",
        f"print({_NAME}['describe_failing_objects']({packages!r}, globals()))",
    )
    return "\n".join(lines)

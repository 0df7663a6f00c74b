"""Prompts: one template a step, rendered from the step's `Inputs`.

A template has two blocks, `system` and `user`. Its variables are exactly the fields of the step's inputs (a test
holds them together) and a missing one raises. Long values are cut by filters, which always say that they cut: `docs`
packs API documentation (about 4,000 tokens of it help most, ARKS section 5), `table` is the retrieval table of
ExploraCoder section 3.3, `tell` renders experience.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import fields
from functools import cache

from jinja2 import PackageLoader, StrictUndefined
from jinja2.sandbox import SandboxedEnvironment

from exploracoder_jupyter.pipeline.requests import Inputs
from exploracoder_jupyter.types import ApiDoc, Experience, Message, Step


def render(step: Step, inputs: Inputs) -> tuple[Message, ...]:
    """The messages of a step's prompt."""
    template = _environment().get_template(f"{step}.j2")
    values = {field.name: getattr(inputs, field.name) for field in fields(inputs)}
    context = template.new_context(values)
    return tuple(Message(role, "".join(template.blocks[role](context)).strip()) for role in ("system", "user"))


@cache
def _environment() -> SandboxedEnvironment:
    environment = SandboxedEnvironment(
        loader=PackageLoader("exploracoder_jupyter.pipeline", "prompts"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        autoescape=False,
    )
    environment.filters.update(shorten=shorten, docs=docs, table=table, tell=tell)
    return environment


def shorten(text: str, most: int) -> str:
    """The text, or its head and tail with a line between that says how much is missing."""
    if len(text) <= most:
        return text
    head, tail = most * 2 // 3, most // 3
    return f"{text[:head]}\n... ({len(text) - head - tail} characters left out) ...\n{text[-tail:]}"


def table(apis: Sequence[ApiDoc]) -> str:
    """Path, signature and first sentence, a line each."""
    return "\n".join(f"- {api.path}{shorten(api.signature, 160)}: {shorten(api.summary, 200)}" for api in apis)


def docs(apis: Sequence[ApiDoc], most: int) -> str:
    """The APIs' documentation, the first ones in full, as much as fits."""
    parts: list[str] = []
    left = most
    for rank, api in enumerate(apis):
        part = _full(api, 2200 if rank < 4 else 700)
        part = part if len(part) <= left else table([api])
        if len(part) > left:
            parts.append(f"({len(apis) - rank} more left out)")
            break
        parts.append(part)
        left -= len(part)
    return "\n\n".join(parts) if parts else "(none were found)"


def _full(api: ApiDoc, most: int) -> str:
    warning = f"\nDeprecated: {api.deprecated}" if api.deprecated else ""
    return f"### {api.path}{shorten(api.signature, 400)}{warning}\n{shorten(api.description, most)}"


def tell(experience: Iterable[Experience], most: int) -> str:
    """Cells with what they gave, the latest ones in full."""
    told = [_cell(item) for item in experience]
    share = most // max(len(told), 1)
    return "\n\n".join(shorten(text, max(share, 600)) for text in told)


def _cell(item: Experience) -> str:
    observation = item.observation
    lines = [f"# {item.subtask.title}", "```python", item.candidate.code, "```"]
    lines.append("It ran." if observation.ran else f"It failed ({observation.status}).")
    if observation.text.strip():
        lines += ["Output:", observation.text.strip()]
    if observation.error:
        lines += ["Error:", observation.error.traceback.strip() or observation.error.headline]
    if observation.note:
        lines.append(observation.note)
    if observation.ran and observation.names:
        lines.append("New names: " + ", ".join(f"{name}: {kind}" for name, kind in observation.names))
    return "\n".join(lines)

"""Prompts: one template a step, rendered from the step's `Inputs`.

A template has two blocks, `system` and `user`. Its variables are exactly the fields of the step's inputs (a test
holds them together) and a missing one raises. Long values are cut by filters, which always say that they cut: `docs`
packs API documentation (about 4,000 tokens of it help most, ARKS section 5), `table` is the retrieval table of
ExploraCoder section 3.3, `tell` renders experience (`telling`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from functools import cache

from jinja2 import PackageLoader, StrictUndefined
from jinja2.sandbox import SandboxedEnvironment

from exploracoder_jupyter.pipeline.requests import Inputs
from exploracoder_jupyter.pipeline.telling import shorten, tell
from exploracoder_jupyter.types import ApiDoc, Message, Passage, Step


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
    environment.filters.update(shorten=shorten, docs=docs, table=table, tell=tell, quoted=quoted)
    return environment


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


def quoted(passages: Sequence[Passage], most: int) -> str:
    """The passages with where they are from, the first ones in full, as much as fits."""
    share = max(most // max(len(passages), 1), 400)
    return "\n\n".join(f"[{item.source}: {item.title}]\n{shorten(item.text, share)}" for item in passages)


def _full(api: ApiDoc, most: int) -> str:
    warning = f"\nDeprecated: {api.deprecated}" if api.deprecated else ""
    return f"### {api.path}{shorten(api.signature, 400)}{warning}\n{shorten(api.description, most)}"

"""Renders prompts: one template per step, rendered from the step's `Inputs`.

A template has two blocks, `system` and `user`. Its variables are the fields of the step's inputs, and a missing one
raises. A strategy's template is in its own package, and can include the parts in `templates/parts/`. Long values are
shortened by filters, which always note what they cut: `pack` fits retrieved text into a budget (`passage_packing`),
`table` is the retrieval table of ExploraCoder section 3.3, `tell` renders experience (`observation_text`). Text from a
library, a page, a file or a run is quoted (`quoting`), and the system message explains the quotation marks.

The steps of an exploration begin alike: the same system message, the task, the cells that ran. What one prompt adds
comes after that, so that a provider that caches the beginnings of prompts reads them once.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import fields
from functools import cache
from typing import Final

from jinja2 import ChoiceLoader, PackageLoader, StrictUndefined
from jinja2.sandbox import SandboxedEnvironment

from exploracoder_jupyter.core.types import ApiDoc, Experience, Message, Step
from exploracoder_jupyter.pipeline.exploring.result_objection import find_objection
from exploracoder_jupyter.pipeline.prompting import observation_text, passage_packing
from exploracoder_jupyter.pipeline.prompting.passage_packing import pack
from exploracoder_jupyter.pipeline.prompting.prompt_inputs import Inputs, StrategyInputs
from exploracoder_jupyter.pipeline.prompting.quoting import RULE, quote
from exploracoder_jupyter.pipeline.prompting.text_shortening import shorten, shorten_code
from exploracoder_jupyter.pipeline.solving.user_check_names import unmentioned_names

_PACKAGE: Final = "exploracoder_jupyter.pipeline.prompting"


def render(step: Step, inputs: Inputs) -> tuple[Message, ...]:
    """Render the messages of a step's prompt."""
    package, name = _PACKAGE, str(step)
    if isinstance(inputs, StrategyInputs):
        package, _, name = inputs.template.partition(":")
    template = _environment(package).get_template(f"{name}.j2")
    values = {field.name: getattr(inputs, field.name) for field in fields(inputs)}
    context = template.new_context(values)
    system, user = ("".join(template.blocks[role](context)).strip() for role in ("system", "user"))
    return Message("system", f"{system}\n\n{RULE}"), Message("user", user)


def strip_lookup_offer(text: str) -> str:
    """Remove the offer of look-ups from a prompt, because it depends on the tokens that a run has left."""
    before, after = _environment(_PACKAGE).get_template("parts/lookups.j2").render(lookups="\0").strip().split("\0")
    return " ".join(re.sub(rf"{re.escape(before)}\d+{re.escape(after)}", " ", text).split())


@cache
def _environment(package: str) -> SandboxedEnvironment:
    """Return the environment for the templates of a package; those of this package can be included in them."""
    environment = SandboxedEnvironment(
        loader=ChoiceLoader([PackageLoader(name, "templates") for name in dict.fromkeys([package, _PACKAGE])]),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        autoescape=False,
    )
    environment.filters.update(
        packed=pack, table=api_table, tell=format_experience, errors=format_errors, shorten=shorten, quoted=quote
    )
    environment.filters.update(shorten_code=shorten_code)
    environment.filters.update(names_of_check=unmentioned_names, objection=find_objection)
    return environment


def api_table(apis: Sequence[ApiDoc]) -> str:
    """Return path, signature and first sentence of each API, quoted."""
    return quote(passage_packing.api_table(apis) or "(none were found)")


def format_experience(experience: Iterable[Experience], most: int) -> str:
    """Render cells in about `most` characters, each quoted by itself: its marks stay when another one follows later."""
    return "\n\n".join(map(quote, observation_text.format_cells(experience, most)))


def format_errors(experience: Iterable[Experience]) -> str:
    """Render the error of each cell on one or two lines, quoted: what it was, and the line that raised it."""
    return quote("\n".join(map(observation_text.format_error, experience)))

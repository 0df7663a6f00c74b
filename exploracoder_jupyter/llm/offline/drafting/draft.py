"""Drafts: a few statements that end in one expression, with what is known for scoring them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from exploracoder_jupyter.llm.offline.inputs.word_matching import name_stems


@dataclass(frozen=True, slots=True)
class Draft:
    """A program fragment under construction."""

    imports: tuple[str, ...]
    statements: tuple[str, ...]
    result: str
    paths: tuple[str, ...] = ()
    used: frozenset[int] = frozenset()
    penalty: float = 0.0
    """For guesses and leftovers: literals of an example that no value of the task replaced, mismatching types."""
    type: str = ""
    names: tuple[str, ...] = ()
    score: float = 0.0
    """How well it satisfies a goal; higher is better."""

    @property
    def name_words(self) -> frozenset[str]:
        """The stems of the words in its API names."""
        return frozenset(part for name in self.names for part in name_stems(name))

    def then(self, later: Draft) -> Draft:
        """Return this draft's statements followed by the other draft."""
        return replace(
            later,
            imports=tuple(dict.fromkeys([*self.imports, *later.imports])),
            statements=(*self.statements, *later.statements),
            paths=tuple(dict.fromkeys([*self.paths, *later.paths])),
            used=self.used | later.used,
            penalty=self.penalty + later.penalty,
            names=(*self.names, *later.names),
        )

    def code(self, target: str, *, with_print: bool = False) -> str:
        """Return the code that stores the result in `target`; `with_print` adds a statement that prints it."""
        statements = [*self.statements, f"{target} = {self.result}"] if self.result != target else list(self.statements)
        imports, statements = _avoid_shadowing(self.imports, statements)
        text = "\n".join([*imports, *([""] if imports else []), *statements])
        return f"{text}\nprint(type({target}).__name__, {target})" if with_print else text


def _avoid_shadowing(imports: Sequence[str], statements: Sequence[str]) -> tuple[list[str], list[str]]:
    """Call functions whose names are also assigned through their module instead."""
    statements, kept_imports = list(statements), []
    for line in imports:
        match = re.fullmatch(r"from ([\w.]+) import (\w+)", line)
        if match and any(re.match(rf"{match.group(2)} = ", statement) for statement in statements):
            module, name = match.groups()
            statements = [
                re.sub(rf"(?<![\w.]){name}(?=[(.])", f"{module}.{name}", statement) for statement in statements
            ]
            line = f"import {module}"
        kept_imports.append(line)
    return kept_imports, statements


def deduplicate(drafts: Iterable[Draft]) -> list[Draft]:
    """Remove drafts with the same code, keeping the one with the lowest penalty."""
    best: dict[tuple[tuple[str, ...], str], Draft] = {}
    for draft in drafts:
        key = (draft.statements, draft.result)
        if key not in best or draft.penalty < best[key].penalty:
            best[key] = draft
    return list(best.values())

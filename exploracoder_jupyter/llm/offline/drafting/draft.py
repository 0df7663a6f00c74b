"""A draft: a few statements that end in one expression, and what speaks for them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class Draft:
    """A piece of program under construction."""

    imports: tuple[str, ...]
    statements: tuple[str, ...]
    """What has to run before the result."""
    result: str
    """The expression that gives the result."""
    paths: tuple[str, ...] = ()
    """The APIs it was made from."""
    used: frozenset[int] = frozenset()
    """Ids of the values that it uses."""
    debt: float = 0.0
    """Guesses and leftovers: literals of an example that nothing in the task replaced, forced types."""
    type: str = ""
    """What is known of the result's type."""
    names: tuple[str, ...] = ()
    """API names in the code, for matching with the task's words."""

    def then(self, later: Draft) -> Draft:
        """This draft's statements followed by the other's."""
        return replace(
            later,
            imports=tuple(dict.fromkeys([*self.imports, *later.imports])),
            statements=(*self.statements, *later.statements),
            paths=tuple(dict.fromkeys([*self.paths, *later.paths])),
            used=self.used | later.used,
            debt=self.debt + later.debt,
            names=(*self.names, *later.names),
        )

    def code(self, target: str, *, shown: bool = False) -> str:
        """The program text that stores the result in `target`; `shown` adds what is to be learned from it."""
        body = [*self.statements, f"{target} = {self.result}"] if self.result != target else list(self.statements)
        imports, body = _unshadowed(self.imports, body)
        text = "\n".join([*imports, *([""] if imports else []), *body])
        return f"{text}\n{lesson(target)}" if shown else text


def _unshadowed(imports: Sequence[str], body: Sequence[str]) -> tuple[list[str], list[str]]:
    """Functions whose names are also assigned are called through their module instead."""
    lines, kept = list(body), []
    for line in imports:
        found = re.fullmatch(r"from ([\w.]+) import (\w+)", line)
        if found and any(re.match(rf"{found.group(2)} = ", other) for other in lines):
            module, name = found.groups()
            lines = [re.sub(rf"(?<![\w.]){name}(?=[(.])", f"{module}.{name}", other) for other in lines]
            line = f"import {module}"
        kept.append(line)
    return kept, lines


def lesson(name: str) -> str:
    """A statement that prints the type and the value of a result."""
    return f"print(type({name}).__name__, {name})"


def distinct(drafts: Iterable[Draft]) -> list[Draft]:
    """The drafts without repeats of the same code, the cheapest of them kept."""
    best: dict[tuple[tuple[str, ...], str], Draft] = {}
    for draft in drafts:
        key = (draft.statements, draft.result)
        if key not in best or draft.debt < best[key].debt:
            best[key] = draft
    return list(best.values())

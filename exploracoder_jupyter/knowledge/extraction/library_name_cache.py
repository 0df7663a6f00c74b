"""Which library a name means, remembered for as long as the files that decide it stay as they are.

To ask the target's interpreter means to start it, confined, which takes longer than all the rest of reopening an index.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pydantic import TypeAdapter, ValidationError

from exploracoder_jupyter.kernel_agent.introspection.file_fingerprints import state
from exploracoder_jupyter.knowledge.extraction.walk_rows import WALKER, About
from exploracoder_jupyter.knowledge.knowledge_cache import Store, digest

_ABOUT: TypeAdapter[About] = TypeAdapter(About)


@dataclass(frozen=True, slots=True)
class Remembered:
    """Answers of one environment."""

    store: Store
    environment: str
    """All that decides which interpreter answers, and where it looks."""

    def get(self, names: Sequence[str]) -> dict[str, About]:
        """What these names mean; those whose answer may have changed are missing. Blocks."""
        bodies = self.store.get_many("library", map(self._key, names))
        kept = {name: _read(bodies[key]) for name in names if (key := self._key(name)) in bodies}
        return {name: about for name, about in kept.items() if about and _holds(about)}

    def keep(self, answers: Mapping[str, About]) -> None:
        """Remember what names mean, unless files look different from here: the interpreter may see others. Blocks."""
        held = {self._key(name): _ABOUT.dump_json(about) for name, about in answers.items() if _holds(about)}
        self.store.put_many("library", held)

    def _key(self, name: str) -> str:
        return digest(str(WALKER), self.environment, name)


def _read(body: bytes) -> About | None:
    try:
        return _ABOUT.validate_json(body)
    except ValidationError:
        return None


def _holds(about: About) -> bool:
    return bool(about.rests) and all(state(path) == then for path, then in about.rests.items())

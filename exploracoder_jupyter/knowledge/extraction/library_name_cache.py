"""Caches which library a name refers to, for as long as the files that determine the answer stay unchanged.

Asking the target's interpreter means starting it in a sandbox, which takes longer than everything else in reopening an
index.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pydantic import TypeAdapter

from exploracoder_jupyter.kernel_agent.introspection.file_fingerprints import fingerprint
from exploracoder_jupyter.knowledge.extraction.library_walk import WALKER_VERSION, About
from exploracoder_jupyter.knowledge.knowledge_cache import KnowledgeCache, digest, parse_stored

_ABOUT: TypeAdapter[About] = TypeAdapter(About)


@dataclass(frozen=True, slots=True)
class LibraryNameCache:
    """Cached answers for one environment."""

    store: KnowledgeCache
    environment: str
    """Everything that determines which interpreter answers and where it looks for libraries."""

    def get(self, names: Sequence[str]) -> dict[str, About]:
        """Return the cached answers for these names. Blocks.

        Names without an answer, or whose answer may be out of date, are left out.
        """
        bodies = self.store.get_many("library", map(self._key, names))
        cached = {name: parse_stored(_ABOUT, bodies.get(self._key(name))) for name in names}
        return {name: about for name, about in cached.items() if about and _is_current(about)}

    def put(self, answers: Mapping[str, About]) -> None:
        """Cache the answers for these names. Blocks.

        An answer is skipped if its files look different from here: the interpreter may see other files.
        """
        bodies = {self._key(name): _ABOUT.dump_json(about) for name, about in answers.items() if _is_current(about)}
        self.store.put_many("library", bodies)

    def _key(self, name: str) -> str:
        return digest(str(WALKER_VERSION), self.environment, name)


def _is_current(about: About) -> bool:
    return bool(about.rests) and all(fingerprint(path) == recorded for path, recorded in about.rests.items())

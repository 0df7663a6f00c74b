"""The search index of a collection of APIs: words and meaning, fused, weighted by the prior.

Built once for a combination of library versions; what `arrays` gives is all that is kept, and `Index.reopen` needs no
fit. With an embedder the meaning is its vectors, else the built-in latent one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from exploracoder_jupyter.knowledge import texts
from exploracoder_jupyter.knowledge.dense import Dense
from exploracoder_jupyter.knowledge.fuse import fused, varied
from exploracoder_jupyter.knowledge.latent import Latent
from exploracoder_jupyter.knowledge.lexical import Arrays, Lexical
from exploracoder_jupyter.knowledge.meaning import Meaning
from exploracoder_jupyter.knowledge.query import named, subject
from exploracoder_jupyter.types import ApiDoc, ScoredApi

FORMAT = 1
"""Version of what is kept and of how texts are made; a new one makes kept indexes void."""

_DEPTH = 300
"""How many rows the dense index is asked for."""
_NAMED = 2
"""As many votes as an API gets that the query names outright."""


@dataclass(frozen=True, slots=True)
class Index:
    """Searches `apis`; rows of every part are numbered as they are."""

    apis: Sequence[ApiDoc]
    lexical: Lexical
    latent: Latent
    dense: Dense
    prior: NDArray[np.float32]

    @classmethod
    def build(cls, apis: Sequence[ApiDoc]) -> Index:
        """Index these APIs with the built-in embedder. Takes seconds for thousands of them."""
        heads = [texts.head(api) for api in apis]
        latent = Latent.fit(heads)
        vectors = np.stack([latent.vector(head) for head in heads]) if heads else np.zeros((0, 1), dtype=np.float32)
        lexical = Lexical.build([texts.whole(api) for api in apis])
        # Rounded as they are kept, so that a reopened index gives the same order.
        return cls(apis, lexical, latent, Dense(vectors.astype(np.float16).astype(np.float32)), texts.prior(apis))

    @classmethod
    def reopen(cls, apis: Sequence[ApiDoc], arrays: Arrays) -> Index:
        """The index that gave these arrays. Raises KeyError or ValueError when they are not of one."""
        parts = {part: _within(arrays, part) for part in ("lexical", "latent")}
        if not len(arrays["vectors"]) == len(arrays["prior"]) == len(apis):
            raise ValueError("the kept index is not of these APIs")
        vectors = arrays["vectors"].astype(np.float32)
        prior = arrays["prior"].astype(np.float32)
        return cls(apis, Lexical(parts["lexical"]), Latent(parts["latent"]), Dense(vectors), prior)

    def arrays(self) -> Arrays:
        """What `reopen` makes this index of again."""
        kept: Arrays = {"vectors": self.dense.vectors.astype(np.float16), "prior": self.prior}
        kept |= {f"lexical.{name}": array for name, array in self.lexical.arrays().items()}
        kept |= {f"latent.{name}": array for name, array in self.latent.arrays().items()}
        return kept

    async def search(self, query: str, k: int, *, meaning: Meaning | None = None) -> list[ScoredApi]:
        """The k APIs nearest to the query, best first. `meaning`: vectors to use in place of the built-in ones.

        Raises:
            EndpointError: from the embedder of `meaning`.
        """
        if not self.apis or k < 1:
            return []
        embedder, dense = (meaning.embedder, meaning.dense) if meaning else (self.latent, self.dense)
        about = subject(query, {api.library for api in self.apis})
        near = dense.scores((await embedder.embed([about]))[0], most=_DEPTH)
        called = named(query)
        said = np.fromiter((api.name in called for api in self.apis), dtype=np.float32)
        score = fused([found * self.prior for found in (self.lexical.scores(about), near, *[said] * _NAMED)])
        order = [int(row) for row in np.argsort(-score, kind="stable") if score[row] > 0]
        chosen = varied(order, [api.name for api in self.apis], k)
        return [ScoredApi(self.apis[row], float(score[row])) for row in chosen]


def _within(arrays: Arrays, part: str) -> Arrays:
    return {name.partition(".")[2]: array for name, array in arrays.items() if name.startswith(f"{part}.")}

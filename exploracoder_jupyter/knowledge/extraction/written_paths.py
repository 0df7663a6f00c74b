"""Names that documentation writes, as the paths that they mean."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence


def is_public(path: str) -> bool:
    """Whether no part of a dotted path is marked as private."""
    return not path.startswith("_") and "._" not in path


class Paths:
    """What is known of a library by any of its paths."""

    def __init__(self, known: Mapping[str, str], library: str) -> None:
        """`known`: every path, and the path of the API that it leads to."""
        self._known = known
        self._library = library

    def resolve(self, names: Sequence[str], near: str) -> tuple[str, ...]:
        """The paths of these names as they are meant in the documentation of `near`; as written where none is known."""
        found = (self._resolved(name, near) for name in names)
        return tuple(path for path in dict.fromkeys(found) if path != near)

    def _resolved(self, name: str, near: str) -> str:
        candidates = (self._known.get(candidate) for candidate in self._candidates(name, near))
        return next(filter(None, candidates), name)

    def _candidates(self, name: str, near: str) -> Iterator[str]:
        """Nearest first: beside the API, in what is around it, in the library, as it stands."""
        yield name if name.startswith(f"{self._library}.") else f"{near}.{name}"
        around = near
        while "." in around:
            around = around.rpartition(".")[0]
            yield f"{around}.{name}"
        _, dot, rest = name.partition(".")
        if dot:
            yield f"{self._library}.{rest}"  # `np.sum`

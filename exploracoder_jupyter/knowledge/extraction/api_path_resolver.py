"""Resolves names as written in documentation to API paths."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence


def is_public(path: str) -> bool:
    """Return whether no part of a dotted path is marked as private."""
    return not path.startswith("_") and "._" not in path


class PathResolver:
    """Looks up the APIs of a library by any of their paths."""

    def __init__(self, known: Mapping[str, str], library: str) -> None:
        """`known` maps every path to the path of the API that it leads to."""
        self._known = known
        self._library = library

    def resolve(self, names: Sequence[str], near: str) -> tuple[str, ...]:
        """Resolve these names as the documentation of `near` means them; unknown names stay as written."""
        found = {}
        for name in names:
            paths = (self._known.get(candidate) for candidate in self._candidates(name, near))
            found[next(filter(None, paths), name)] = True
        return tuple(path for path in found if path != near)

    def _candidates(self, name: str, near: str) -> Iterator[str]:
        """Yield possible paths, nearest first.

        The order: below the API itself, next to it and further out, in the library, with an alias such as `np`
        replaced.
        """
        yield name if name.startswith(f"{self._library}.") else f"{near}.{name}"
        around = near
        while "." in around:
            around = around.rpartition(".")[0]
            yield f"{around}.{name}"
        _, dot, rest = name.partition(".")
        if dot:
            yield f"{self._library}.{rest}"  # `np.sum`

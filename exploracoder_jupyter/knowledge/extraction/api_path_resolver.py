"""Resolves names as written in documentation to API paths."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence


def is_public(path: str) -> bool:
    """Return whether no part of a dotted path is marked as private."""
    return not path.startswith("_") and "._" not in path


def resolve_names(names: Sequence[str], near: str, *, library: str, known: Mapping[str, str]) -> tuple[str, ...]:
    """Resolve these names as the documentation of `near` means them; unknown names stay as written.

    `known` maps every path of the library to the path of the API that it leads to.
    """
    found = {}
    for name in names:
        paths = (known.get(candidate) for candidate in _candidates(name, near, library))
        found[next(filter(None, paths), name)] = True
    return tuple(path for path in found if path != near)


def _candidates(name: str, near: str, library: str) -> Iterator[str]:
    """Yield possible paths, nearest first.

    The order: below the API itself, next to it and further out, in the library, with an alias such as `np` replaced.
    """
    yield name if name.startswith(f"{library}.") else f"{near}.{name}"
    around = near
    while "." in around:
        around = around.rpartition(".")[0]
        yield f"{around}.{name}"
    _, dot, rest = name.partition(".")
    if dot:
        yield f"{library}.{rest}"  # `np.sum`

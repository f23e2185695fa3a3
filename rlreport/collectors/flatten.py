"""Nested configuration to dotted keys."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

#: The way to a value: mapping keys, and positions within lists.
Path = tuple[str | int, ...]


def flatten(tree: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Yield (path, value) of every leaf: a scalar, or a list of scalars. Empty mappings have no leaf.

    A list that holds a mapping or a list is flattened by position.
    """
    if isinstance(tree, dict):
        for key, value in tree.items():
            yield from flatten(value, (*path, key if isinstance(key, str) else str(key)))
    elif isinstance(tree, (list, tuple)):
        if any(isinstance(item, (dict, list, tuple)) for item in tree):
            for index, item in enumerate(tree):
                yield from flatten(item, (*path, index))
        else:
            yield path, list(tree)
    else:
        yield path, tree


def dotted(path: Path) -> str:
    """`("a", "b", 0)` as `a.b.0`."""
    return ".".join(str(part) for part in path)


def origin_of(path: Path, lines: Callable[[Path], int | None]) -> int | None:
    """The line of a value: its own, or that of the nearest enclosing key whose line is known."""
    for length in range(len(path), 0, -1):
        line = lines(path[:length])
        if line is not None:
            return line
    return None

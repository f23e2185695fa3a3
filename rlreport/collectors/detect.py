"""Which collector reads a source, by its content and its name; and which sources lie in a folder."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from rlreport.collectors.base import Collector, FolderCollector
from rlreport.collectors.files import read_head
from rlreport.collectors.registry import BUILTIN, collectors
from rlreport.collectors.unread import container_of

MAX_DEPTH = 8
MAX_FILES = 20_000

#: Folders that hold no sources: version control, caches, and checkpoints, which are large.
SKIPPED_FOLDERS: frozenset[str] = frozenset({".git", "__pycache__", "node_modules", ".venv", ".ipynb_checkpoints"})


@dataclass(slots=True)
class Found:
    """What a folder holds: sources in sorted order with their collectors, files of no known format, unreadable files.

    `cut` says why the search was not complete, None when it was.
    """

    sources: list[tuple[Path, Collector]] = field(default_factory=list)
    unknown: list[Path] = field(default_factory=list)
    unreadable: list[Path] = field(default_factory=list)
    empty: list[Path] = field(default_factory=list)
    cut: str | None = None


def detect(path: Path) -> Collector | None:
    """The collector of a file or folder, None when no collector knows it. Raises OSError when it cannot be read.

    A collector of a plugin may know archives and other compressions; the others would take the text within for their own.
    """
    head = b"" if path.is_dir() else read_head(path)
    asked = [collector for collector in collectors() if collector not in BUILTIN] if container_of(head) else collectors()
    return next((collector for collector in asked if collector.sniff(path, head)), None)


def search(folder: Path, max_depth: int = MAX_DEPTH, max_files: int = MAX_FILES) -> Found:
    """Look for sources below a folder.

    Folders are visited in sorted order to a bounded depth, each once even when symbolic links lead to it again. A folder
    that is one source as a whole, by its collector (`.hydra`, a profiler's output), is not searched further; of a folder of
    event files, the other files are.
    """
    found = Found()
    budget = max_files
    for here, folders, files in _walk(folder, max_depth, found):
        owner, whole = _claim(here, found)
        if owner is not None:
            found.sources.append((here, owner))
        if whole:
            folders.clear()
            continue
        for file in files:
            if budget == 0:
                found.cut = f"more than {max_files:,} files"
                return found
            budget -= 1
            if owner is None or not owner.sniff(file, b""):
                _sort_in(file, found)
    return found


def _claim(folder: Path, found: Found) -> tuple[Collector | None, bool]:
    """(the collector of a folder, whether everything in it is its own)."""
    try:
        owner = detect(folder)
        return owner, isinstance(owner, FolderCollector) and owner.owns(folder)
    except OSError:
        found.unreadable.append(folder)
        return None, False


def _sort_in(file: Path, found: Found) -> None:
    try:
        if file.stat().st_size == 0:
            found.empty.append(file)
            return
        owner = detect(file)
    except OSError:
        found.unreadable.append(file)
        return
    if owner is None:
        found.unknown.append(file)
    else:
        found.sources.append((file, owner))


def _walk(folder: Path, max_depth: int, found: Found) -> Iterator[tuple[Path, list[Path], list[Path]]]:
    """Yield (folder, folders in it, files in it) for a folder and everything below, sorted; notes in `found` where it stops.

    As with `os.walk`, folders that are taken out of the list are not entered.
    """
    seen: set[tuple[int, int]] = set()
    stack: list[tuple[Path, int]] = [(folder, 0)]
    while stack:
        here, depth = stack.pop()
        try:
            status = here.stat()
            entries = sorted(os.scandir(here), key=lambda entry: entry.name)
        except OSError:
            found.unreadable.append(here)
            continue
        if (status.st_dev, status.st_ino) in seen:
            continue
        seen.add((status.st_dev, status.st_ino))
        folders: list[Path] = []
        files: list[Path] = []
        for entry in entries:
            if _is_folder(entry):
                if entry.name not in SKIPPED_FOLDERS:
                    folders.append(Path(entry.path))
            elif _is_file(entry):
                files.append(Path(entry.path))
        yield here, folders, files
        if depth < max_depth:
            stack.extend((inner, depth + 1) for inner in reversed(folders))
        elif folders:
            found.cut = f"folders deeper than {max_depth} levels"


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:
        return False


def _is_file(entry: os.DirEntry[str]) -> bool:
    """Whether an entry is a regular file; a broken link, a pipe or a socket is not."""
    try:
        return entry.is_file()
    except OSError:
        return False

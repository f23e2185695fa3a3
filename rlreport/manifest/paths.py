"""The files that a manifest names: relative paths and globs, kept within the manifest's folder."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from rlreport.manifest import codes
from rlreport.manifest.wording import quote

_LISTED = 5


@dataclass(frozen=True, slots=True)
class PathProblem:
    """Why a path cannot be used: its code, a message without the owner's name, a hint."""

    code: str
    message: str
    hint: str


@dataclass(frozen=True, slots=True)
class FoundPath:
    """A file or folder: where it is from the working directory, and how reports name it (from the manifest's folder)."""

    path: Path
    display: str


@dataclass(frozen=True, slots=True)
class Folder:
    """The folder of a manifest, from which its paths are read.

    `path` is relative when the manifest was named by a relative path. `allow_outside` lets paths leave the folder.
    """

    path: Path
    allow_outside: bool = False

    def find(self, text: str, missing: str = codes.NO_SOURCE) -> tuple[FoundPath, ...] | PathProblem:
        """The files and folders that a path or glob names, sorted by name; or why there are none.

        A name that exists as written is taken literally, so that `run[1].log` can be named. Hidden files are not matched
        by a glob. `missing` is the code for a path that names nothing.
        """
        if not self.allow_outside and (os.path.isabs(text) or os.path.normpath(text).split(os.sep)[0] == os.pardir):
            kind = "is an absolute path" if os.path.isabs(text) else "leaves the manifest's folder"
            return PathProblem(codes.OUTSIDE, f"{quote(text)} {kind}", "give --allow-outside if that is meant")
        if os.path.exists(self.path / text):
            matches = [text]
        elif glob.has_magic(text):
            matches = sorted(glob.glob(text, root_dir=self.path, recursive=True))
        else:
            matches = []
        if not matches:
            what = "matches nothing" if glob.has_magic(text) else "does not exist"
            return PathProblem(missing, f"{quote(text)} {what}", self._similar(text))
        outside = None if self.allow_outside else self._first_outside(matches)
        if outside is not None:
            message = f"{quote(outside)} is a link that leads out of the manifest's folder"
            return PathProblem(codes.OUTSIDE, message, "give --allow-outside if that is meant")
        return tuple(FoundPath(self.path / name, Path(os.path.normpath(name)).as_posix()) for name in matches)

    def _first_outside(self, names: Iterable[str]) -> str | None:
        home = os.path.realpath(self.path)
        for name in names:
            target = os.path.realpath(self.path / name)
            if os.path.commonpath([home, target]) != home:
                return name
        return None

    def _similar(self, text: str) -> str:
        """A hint: what stands where the path ends to exist."""
        import difflib

        if text.startswith("~"):
            return "'~' is not expanded; write the path out and give --allow-outside"
        parts = Path(text).parts
        depth = 0
        while depth < len(parts) - 1 and os.path.isdir(self.path.joinpath(*parts[: depth + 1])):
            depth += 1
        folder = Path(*parts[:depth])
        shown = "the manifest's folder" if not depth else f"'{folder.as_posix()}'"
        try:
            names = sorted(name for name in os.listdir(self.path / folder) if not name.startswith("."))
        except OSError:
            return f"{shown} cannot be listed"
        if not names:
            return f"{shown} is empty"
        missing = parts[depth] if depth < len(parts) else text
        close = [] if glob.has_magic(missing) else difflib.get_close_matches(missing, names, n=_LISTED, cutoff=0.6)
        if len(close) == 1:
            near = folder / close[0]
            whole = near.joinpath(*parts[depth + 1 :])
            return f"did you mean '{(whole if os.path.exists(self.path / whole) else near).as_posix()}'?"
        if close:
            return f"similar names in {shown}: {', '.join(close)}"
        rest = f" and {len(names) - _LISTED} more" if len(names) > _LISTED else ""
        return f"{shown} holds: {', '.join(names[:_LISTED])}{rest}"

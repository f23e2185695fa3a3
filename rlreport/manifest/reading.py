"""From a path to the manifest's text, with one clear diagnostic where that fails."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path

from rlreport.manifest import codes
from rlreport.manifest.scalars import UNPRINTABLE
from rlreport.manifest.wording import closest, listing
from rlreport.run.diagnostics import Diagnostic, Location, RlreportError

MAX_BYTES = 4 << 20
MAX_PROSE_BYTES = 256 << 10

_YAML_ENDINGS = (".yaml", ".yml")


@dataclass(frozen=True, slots=True)
class ManifestText:
    """A manifest's text, without a byte-order mark, and the SHA-256 of its bytes in hexadecimal."""

    text: str
    sha256: str


def read_manifest(path: Path) -> ManifestText:
    """Read a manifest.

    Raises:
        RlreportError: the file is missing, a folder or not readable (RR100), or not a text of reasonable size (RR101).
    """
    place = str(path)
    try:
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except FileNotFoundError:
        raise _failure(codes.UNREADABLE, "the manifest does not exist", Location(place), _neighbours(path)) from None
    except IsADirectoryError:
        hint = _manifests_hint(path) or "give a manifest; 'rlreport init FOLDER' writes one from the logs in a folder"
        raise _failure(codes.UNREADABLE, "a folder, not a manifest", Location(place), hint) from None
    except (OSError, ValueError) as error:
        reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
        raise _failure(codes.UNREADABLE, f"the manifest cannot be read: {reason.lower()}", Location(place)) from None
    if len(data) > MAX_BYTES:
        message = f"larger than {MAX_BYTES >> 20} MiB"
        raise _failure(codes.NOT_TEXT, message, Location(place), "is it a log? 'rlreport inspect' reads logs")
    return ManifestText(_decode(data, place), hashlib.sha256(data).hexdigest())


@dataclass(frozen=True, slots=True)
class Unusable:
    """Why a file cannot be used, as the end of a sentence that begins with its name."""

    reason: str


def read_prose(path: Path) -> str | Unusable:
    """The text of a Markdown file, or why it cannot be used."""
    if path.is_dir():
        return Unusable("is a folder")
    try:
        with path.open("rb") as file:
            data = file.read(MAX_PROSE_BYTES + 1)
    except OSError as error:
        return Unusable(f"cannot be read: {(error.strerror or str(error)).lower()}")
    if len(data) > MAX_PROSE_BYTES:
        return Unusable(f"is larger than {MAX_PROSE_BYTES >> 10} KiB")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return Unusable("is not UTF-8 text")
    found = UNPRINTABLE.search(text)
    return text if found is None else Unusable(f"holds the control character U+{ord(found[0]):04X}")


def _decode(data: bytes, place: str) -> str:
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        before = data[: error.start]
        line = before.count(b"\n") + 1
        column = len(before[before.rfind(b"\n") + 1 :].decode("utf-8", "replace")) + 1
        utf16 = data.startswith((b"\xff\xfe", b"\xfe\xff"))
        message = "the file is UTF-16" if utf16 else f"the byte 0x{data[error.start]:02x} is not UTF-8 text"
        raise _failure(codes.NOT_TEXT, message, Location(place, line, column), "save the file as UTF-8") from None
    found = UNPRINTABLE.search(text)
    if found:
        before_text = text[: found.start()]
        location = Location(place, before_text.count("\n") + 1, found.start() - before_text.rfind("\n"))
        hint = "remove it; is this a text file?"
        raise _failure(codes.NOT_TEXT, f"the control character U+{ord(found[0]):04X} is not allowed", location, hint)
    return text


def _failure(code: str, message: str, location: Location, hint: str | None = None) -> RlreportError:
    return RlreportError.of(Diagnostic(code, message, location, hint))


def _neighbours(path: Path) -> str:
    """What a missing manifest may have been meant to be."""
    folder = path.parent
    if not os.path.isdir(folder):
        return f"there is no folder '{folder}'"
    stems = {Path(name).stem: name for name in _yaml_files(folder)}
    found = closest(path.stem, stems)
    if found:
        return f"did you mean '{folder / stems[found]}'?"
    return _manifests_hint(folder) or "'rlreport init FOLDER' writes a manifest from the logs in a folder"


def _manifests_hint(folder: Path) -> str | None:
    """The YAML files of a folder, as a hint; None when there are none."""
    names = [str(folder / name) for name in _yaml_files(folder)]
    return listing(names, "YAML files there") if names else None


def _yaml_files(folder: Path) -> list[str]:
    try:
        return sorted(name for name in os.listdir(folder) if name.endswith(_YAML_ENDINGS))
    except OSError:
        return []

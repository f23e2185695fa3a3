"""From a path to the manifest's text, with one clear diagnostic where that fails."""

from __future__ import annotations

import os
import re
from pathlib import Path

from rlreport.manifest import codes
from rlreport.manifest.wording import closest, listing
from rlreport.run.diagnostics import Diagnostic, Location, RlreportError

MAX_BYTES = 4 << 20

#: What YAML 1.2.2 (section 5.1) does not allow in a stream.
_UNPRINTABLE = re.compile("[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_YAML_ENDINGS = (".yaml", ".yml")


def read_manifest(path: Path) -> str:
    """The text of a manifest, without a byte-order mark.

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
    return _decode(data, place)


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
    found = _UNPRINTABLE.search(text)
    if found:
        before_text = text[: found.start()]
        location = Location(place, before_text.count("\n") + 1, found.start() - before_text.rfind("\n"))
        hint = "remove it, or write it as an escape within double quotes"
        raise _failure(codes.NOT_TEXT, f"the control character U+{ord(found[0]):04X} is not allowed", location, hint)
    return text


def _failure(code: str, message: str, location: Location, hint: str | None = None) -> RlreportError:
    return RlreportError.of(Diagnostic(code, message, location, hint))


def _neighbours(path: Path) -> str:
    """What a missing manifest may have been meant to be."""
    folder = path.parent
    if not os.path.isdir(folder):
        return f"there is no folder '{folder}'"
    found = closest(path.name, sorted(os.listdir(folder)))
    if found:
        return f"did you mean '{folder / found}'?"
    return _manifests_hint(folder) or "'rlreport init FOLDER' writes a manifest from the logs in a folder"


def _manifests_hint(folder: Path) -> str | None:
    """The YAML files of a folder, as a hint; None when there are none."""
    names = [str(folder / name) for name in sorted(os.listdir(folder)) if name.endswith(_YAML_ENDINGS)]
    return listing(names, "YAML files there") if names else None

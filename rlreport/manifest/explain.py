"""What pydantic found wrong, said in rlreport's words with the place in the file."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pydantic import ValidationError

from rlreport.manifest import codes
from rlreport.manifest.places import label_place
from rlreport.manifest.schema import fields_of, model_at
from rlreport.manifest.wording import closest, describe, quote, suggest
from rlreport.manifest.yaml12 import DataPath, Document
from rlreport.run.diagnostics import Diagnostic

_MAPPING_ERRORS = frozenset({"model_type", "model_attributes_type", "dict_type"})
_KEY_MARK = "[key]"


def explain(error: ValidationError, document: Document) -> list[Diagnostic]:
    """One diagnostic an error; a missing key of which a misspelling stands beside it is told once."""
    found = error.errors(include_url=False)
    unknown = [tuple(each["loc"]) for each in found if each["type"] == "extra_forbidden"]
    told: list[Diagnostic] = []
    for each in found:
        path: DataPath = tuple(each["loc"])
        kind, value = each["type"], each["input"]
        context: dict[str, Any] = each.get("ctx", {})
        if kind in codes.CODES:
            told.append(_own(kind, path, context, document))
        elif kind == "extra_forbidden":
            told.append(_unknown_key(path, document))
        elif kind == "missing":
            if not is_misspelt(path, unknown):
                told.append(_missing_key(path, document))
        elif kind in _MAPPING_ERRORS:
            told.append(_wrong_type(path, _mapping_form(path), value, document, _mapping_hint(value)))
        elif kind == "list_type":
            scalar = isinstance(value, (str, int, float)) and not isinstance(value, bool)
            hint = f"write it in brackets: [{value}]" if scalar else "begin each entry with '- '"
            told.append(_wrong_type(path, "a list", value, document, hint))
        else:  # No other kind comes from this model today; a new one is told in the words of the library.
            told.append(Diagnostic(codes.WRONG_TYPE, label_place(document, path, each["msg"]), document.value_at(path)))
    return told


def is_misspelt(path: DataPath, unknown: Iterable[DataPath]) -> bool:
    """Whether an unknown key beside this path is most like the path's own key."""
    model = model_at(path[:-1])
    names = [] if model is None else list(fields_of(model))
    return any(other[:-1] == path[:-1] and closest(str(other[-1]), names) == path[-1] for other in unknown)


def _own(code: str, path: DataPath, context: dict[str, Any], document: Document) -> Diagnostic:
    """An error that one of our readers raised."""
    is_key = bool(path) and path[-1] == _KEY_MARK
    path = path[:-1] if is_key else (*path, *context["at"])
    place = document.key_at(path) if is_key else document.value_at(path)
    return Diagnostic(code, label_place(document, path, context["message"]), place, context["hint"])


def _unknown_key(path: DataPath, document: Document) -> Diagnostic:
    model = model_at(path[:-1])
    known = [] if model is None else list(fields_of(model))
    message = label_place(document, path[:-1], f"unknown key {quote(str(path[-1]))}")
    return Diagnostic(codes.UNKNOWN_KEY, message, document.key_at(path), suggest(str(path[-1]), known, "keys"))


def _missing_key(path: DataPath, document: Document) -> Diagnostic:
    model = model_at(path[:-1])
    description = "" if model is None else fields_of(model)[str(path[-1])]
    message = label_place(document, path[:-1], f"'{path[-1]}' is missing")
    return Diagnostic(codes.MISSING_KEY, message, document.key_at(path[:-1]), f"{path[-1]}: {description}")


def _mapping_form(path: DataPath) -> str:
    model = model_at(path)
    if model is None:
        return "a mapping"
    form: str | None = getattr(model, "form", None)
    return form or f"a mapping with keys such as {' and '.join(list(fields_of(model))[:2])}"


def _mapping_hint(value: Any) -> str | None:
    if value is None:
        return "indent its keys below it, or remove the key"
    return "begin the entries with 'name:' instead of '- '" if isinstance(value, list) else None


def _wrong_type(path: DataPath, expected: str, value: Any, document: Document, hint: str | None) -> Diagnostic:
    message = label_place(document, path, f"expected {expected}, found {describe(value)}")
    return Diagnostic(codes.WRONG_TYPE, message, document.value_at(path), hint)

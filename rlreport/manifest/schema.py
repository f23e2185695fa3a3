"""The manifest's JSON Schema, and the walk from a place in the data to its field in the model."""

from __future__ import annotations

from dataclasses import dataclass
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin

from pydantic import BaseModel

from rlreport.manifest.shape import ManifestShape
from rlreport.manifest.values import Reader
from rlreport.manifest.yaml12 import DataPath

DIALECT = "https://json-schema.org/draft/2020-12/schema"


def json_schema() -> dict[str, Any]:
    """The JSON Schema (draft 2020-12) of a manifest, for editors that complete and check YAML."""
    schema = _tidy(ManifestShape.model_json_schema())
    return {"$schema": DIALECT, "title": "rlreport manifest", **{key: schema[key] for key in schema if key != "title"}}


def _tidy(schema: Any, *, names: bool = False) -> Any:
    """Drop what says nothing to a writer: generated titles, null as a default, null as an alternative.

    `names` says that the keys of this mapping are names of fields, which are kept whatever they are called.
    """
    if isinstance(schema, list):
        return [_tidy(entry) for entry in schema]
    if not isinstance(schema, dict):
        return schema
    kept = {
        key.removesuffix("Shape") if names else key: _tidy(value, names=not names and key in ("properties", "$defs"))
        for key, value in schema.items()
        if names or not (key == "title" or (key == "default" and value is None))
    }
    if names:
        return kept
    if "$ref" in kept:
        kept["$ref"] = kept["$ref"].removesuffix("Shape")
    alternatives = [entry for entry in kept.get("anyOf", ()) if entry != {"type": "null"}]
    if "anyOf" in kept and len(alternatives) == 1:
        del kept["anyOf"]
        kept.update(alternatives[0])
    return kept


@dataclass(frozen=True, slots=True)
class _Slot:
    """What the model says of a place: its annotation without `Annotated`, and the annotation's metadata."""

    annotation: Any
    metadata: tuple[Any, ...] = ()


def model_at(path: DataPath) -> type[BaseModel] | None:
    """The model of the mapping at a path, None where the model has no mapping of its own (as within `config`)."""
    slot = _walk(path)
    return None if slot is None else _model_of(slot.annotation)


def reader_at(path: DataPath) -> Reader | None:
    """The reader of the scalar at a path, None where there is none."""
    slot = _walk(path)
    return None if slot is None else next((each for each in slot.metadata if isinstance(each, Reader)), None)


def fields_of(model: type[BaseModel]) -> dict[str, str]:
    """The keys of a model's mapping, as a manifest spells them, with their descriptions."""
    return {info.alias or name: info.description or "" for name, info in model.model_fields.items()}


def _walk(path: DataPath) -> _Slot | None:
    slot: _Slot | None = _Slot(ManifestShape)
    for part in path:
        if slot is None:
            break
        slot = _step(slot, part)
    return slot


def _step(slot: _Slot, part: str | int) -> _Slot | None:
    """One key or index further into the model."""
    origin, arguments = get_origin(slot.annotation), get_args(slot.annotation)
    if origin is list:
        return _slot(arguments[0])
    if origin is dict:
        return _slot(arguments[1])
    model = _model_of(slot.annotation)
    fields = {} if model is None else model.model_fields
    info = next((info for name, info in fields.items() if (info.alias or name) == part), None)
    return None if info is None else _Slot(info.annotation, tuple(info.metadata))


def _slot(annotation: Any) -> _Slot:
    if get_origin(annotation) is Annotated:
        inner, *metadata = get_args(annotation)
        return _Slot(inner, tuple(metadata))
    return _Slot(annotation)


def _model_of(annotation: Any) -> type[BaseModel] | None:
    """The model that an annotation names, alone or as `Model | None`."""
    alternatives = get_args(annotation) if get_origin(annotation) in (Union, UnionType) else (annotation,)
    return next((each for each in alternatives if isinstance(each, type) and issubclass(each, BaseModel)), None)

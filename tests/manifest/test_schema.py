from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
import yaml
from pydantic import BaseModel, ValidationError
from support.manifest_files import VALID

from rlreport.manifest import json_schema
from rlreport.manifest.schema import fields_of, model_at, reader_at
from rlreport.manifest.shape import ManifestShape
from rlreport.manifest.yaml12 import load_yaml

EXAMPLE = """\
version: 1
title: Async RL tuning on Ascend 910B
runs:
  r48:
    label: 48 rollout nodes
    sources: [logs/r48/console.log, logs/r48/metrics.jsonl, {path: traces/r48, format: rl-insight}]
    framework: verl
    framework_version: 2026-08-22
    config: {trainer.nnodes: 2}
    devices: {trainer: 16, rollout: 48}
    hybrid_replicas: 0-7
    group: r48
reports:
  - id: qwen3-30b
    title: "Case study: Qwen3-30B"
    kind: ab
    baseline: r48
    variants: [r32]
    changes: [resources, trainer.nnodes]
    waive: [{knob: trainer.experiment_name, reason: "a label", expires: 2026-12-31}]
    steady_state: {from: auto, to: 90}
    margins: {throughput: 5%, reward: 0.02}
    question: Are the Rollouters over-provisioned?
    narrative: notes/qwen3-30b.md
    decision: {status: proposed}
    preset: exploratory
    primary: [throughput, reward]
    rules:
      - {knob: rollout.temperature, rule: pinned, value: 1.0}
      - {knob: optim.lr, rule: derived, expression: 1e-6 * sqrt(data.train_batch_size / 256), level: warn, reason: scaling}
as_of: 2026-08-22
preset: strict
knobs: [{key: my.prefetch, class: work, label: prefetched batches}]
rules: [{knob: data.seed, rule: free}]
"""

_TYPES: dict[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "null": (type(None),),
}
_ANNOTATIONS = {"description", "title", "format", "$schema", "$defs", "default"}


def violations(value: Any, schema: Any, root: dict[str, Any], at: str = "$") -> Iterator[str]:
    """The places where a value breaks a schema: the part of draft 2020-12 that is used, and no keyword unheard."""
    if schema is True:
        return
    for keyword, argument in schema.items():
        match keyword:
            case "$ref":
                yield from violations(value, root["$defs"][argument.removeprefix("#/$defs/")], root, at)
            case "type":
                wanted = [argument] if isinstance(argument, str) else argument
                fits = any(isinstance(value, _TYPES[name]) for name in wanted)
                if not fits or (isinstance(value, bool) and "boolean" not in wanted):
                    yield f"{at}: type"
            case "enum":
                if value not in argument:
                    yield f"{at}: enum"
            case "const":
                if value != argument or isinstance(value, bool):
                    yield f"{at}: const"
            case "pattern":
                if isinstance(value, str) and not re.search(argument, value):
                    yield f"{at}: pattern"
            case "minimum":
                if isinstance(value, (int, float)) and value < argument:
                    yield f"{at}: minimum"
            case "exclusiveMaximum":
                if isinstance(value, (int, float)) and value >= argument:
                    yield f"{at}: exclusiveMaximum"
            case "minItems" | "minProperties":
                if isinstance(value, (list, dict)) and len(value) < argument:
                    yield f"{at}: {keyword}"
            case "anyOf":
                if all(list(violations(value, each, root, at)) for each in argument):
                    yield f"{at}: anyOf"
            case "items":
                for index, entry in enumerate(value if isinstance(value, list) else []):
                    yield from violations(entry, argument, root, f"{at}[{index}]")
            case "properties":
                for key, each in argument.items():
                    if isinstance(value, dict) and key in value:
                        yield from violations(value[key], each, root, f"{at}.{key}")
            case "required":
                yield from (f"{at}: required {key}" for key in argument if isinstance(value, dict) and key not in value)
            case "additionalProperties":
                known = schema.get("properties", {})
                for key in value if isinstance(value, dict) else ():
                    if key not in known:
                        if argument is False:
                            yield f"{at}: unknown {key}"
                        else:
                            yield from violations(value[key], argument, root, f"{at}.{key}")
            case _:
                assert keyword in _ANNOTATIONS, f"{at}: keyword {keyword}"


def check(text: str) -> list[str]:
    schema = json_schema()
    return list(violations(load_yaml(text, "m.yaml").data, schema, schema))


def test_the_schema_says_what_it_is() -> None:
    schema = json_schema()
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert "$id" not in schema
    assert schema["required"] == ["version", "title", "runs", "reports"]
    assert json.loads(json.dumps(schema)) == schema
    assert json_schema() == schema


def test_the_example_of_the_design_is_valid() -> None:
    assert check(EXAMPLE) == []
    assert check(VALID) == []


@pytest.mark.parametrize(
    ("old", "new", "violation"),
    [
        ("version: 1", "version: 2", "$.version: const"),
        ("title: Async RL tuning on Ascend 910B\n", "", "$: required title"),
        ("label: 48 rollout nodes", "lable: x", "$.runs.r48: unknown lable"),
        ("trainer: 16", "trainer: -1", "$.runs.r48.devices.trainer: minimum"),
        ("trainer: 16", "trainer: many", "$.runs.r48.devices.trainer: type"),
        ("hybrid_replicas: 0-7", "hybrid_replicas: 0..7", "$.runs.r48.hybrid_replicas: anyOf"),
        ("format: rl-insight", "fmt: x", "$.runs.r48.sources[2]: anyOf"),
        ("kind: ab", "kind: abb", "$.reports[0].kind: enum"),
        ("id: qwen3-30b", "id: a/b", "$.reports[0].id: pattern"),
        ("changes: [resources,", "changes: [resource,", "$.reports[0].changes[0]: anyOf"),
        ("from: auto", "from: first", "$.reports[0].steady_state.from: anyOf"),
        ("throughput: 5%", "throughput: 5", "$.reports[0].margins.throughput: anyOf"),
        ("reward: 0.02", "reward: 2%", "$.reports[0].margins.reward: type"),
        ("expires: 2026-12-31", "expires: soon", "$.reports[0].waive[0].expires: pattern"),
        ('reason: "a label"', 'reason: ""', "$.reports[0].waive[0].reason: pattern"),
        ("preset: strict", "preset: closed", "$.preset: enum"),
        ("as_of: 2026-08-22", "as_of: today", "$.as_of: pattern"),
        ("class: work", "class: works", "$.knobs[0].class: enum"),
        ("rule: free", "rule: open", "$.rules[0].rule: enum"),
        ("level: warn", "level: fatal", "$.reports[0].rules[1].level: enum"),
        ("primary: [throughput,", "primary: [speed,", "$.reports[0].primary[0]: enum"),
        ("status: proposed", "by: me", "$.reports[0].decision: required status"),
        ("variants: [r32]", "variants: r32", "$.reports[0].variants: type"),
    ],
)
def test_schema_and_model_refuse_the_same(old: str, new: str, violation: str) -> None:
    assert EXAMPLE.count(old) == 1
    text = EXAMPLE.replace(old, new)
    assert check(text) == [violation]
    with pytest.raises(ValidationError):
        ManifestShape.model_validate(load_yaml(text, "m.yaml").data)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("throughput: 5%", "throughput: 0.05"),
        ("hybrid_replicas: 0-7", "hybrid_replicas: 8"),
        ("hybrid_replicas: 0-7", "hybrid_replicas: '0-3, 8'"),
        ("config: {trainer.nnodes: 2}", "config: {a: {b: [1, x, null]}, c: null}"),
        ("from: auto", "from: 10"),
        ("value: 1.0", "value: [1, x]"),
        ("value: 1.0", "value: null"),
        ("format: rl-insight", "columns: {a: step, b: time.step_s}"),
    ],
)
def test_schema_and_model_accept_the_same(old: str, new: str) -> None:
    assert EXAMPLE.count(old) == 1
    text = EXAMPLE.replace(old, new)
    assert check(text) == []
    ManifestShape.model_validate(load_yaml(text, "m.yaml").data)


def _models(model: type[BaseModel], path: tuple[str | int, ...]) -> Iterator[tuple[type[BaseModel], tuple[str | int, ...]]]:
    yield model, path
    for name in fields_of(model):
        for below in ((*path, name), (*path, name, 0), (*path, name, "x")):
            found = model_at(below)
            if found is not None:
                yield from _models(found, below)


def test_every_field_is_described_in_model_and_schema() -> None:
    models = {model.__name__: model for model, _ in _models(ManifestShape, ())}
    assert sorted(models) == [
        "DecisionShape",
        "DevicesShape",
        "KnobShape",
        "ManifestShape",
        "MarginsShape",
        "ReportShape",
        "RuleShape",
        "RunShape",
        "SourceShape",
        "TargetShape",
        "WaiveShape",
        "WindowShape",
    ]
    schema = json_schema()
    for name, model in models.items():
        definition = schema if name == "ManifestShape" else schema["$defs"][name.removesuffix("Shape")]
        definition = next((each for each in definition.get("anyOf", ()) if "properties" in each), definition)
        assert definition["additionalProperties"] is False
        assert list(definition["properties"]) == list(fields_of(model))
        for field, description in fields_of(model).items():
            assert description.endswith("."), (name, field)
            assert definition["properties"][field]["description"] == description


def test_the_schema_offers_no_null_and_no_generated_titles() -> None:
    text = json.dumps(json_schema())
    assert '"null"' not in text
    assert text.count('"title":') == text.count('"title": {') + 1


@pytest.mark.parametrize(
    ("path", "model"),
    [
        ((), "ManifestShape"),
        (("runs", "any"), "RunShape"),
        (("runs", "any", "sources", 3), "SourceShape"),
        (("reports", 0, "decision"), "DecisionShape"),
        (("runs",), None),
        (("runs", "any", "config", "a"), None),
        (("nowhere", "x"), None),
        (("title", "x"), None),
    ],
)
def test_models_are_found_by_place(path: tuple[str | int, ...], model: str | None) -> None:
    found = model_at(path)
    assert (None if found is None else found.__name__) == model


def test_readers_are_found_by_place() -> None:
    as_written = [("runs", "r", "label"), ("reports", 0, "variants", 2), ("reports", 1, "waive", 0, "knob"), ("title",)]
    for path in as_written:
        reader = reader_at(path)
        assert reader is not None
        assert reader.as_written
    counted = reader_at(("runs", "r", "devices", "trainer"))
    assert counted is not None
    assert not counted.as_written
    assert reader_at(("runs", "r", "config", "a")) is None


def test_the_traps_would_be_met_by_a_yaml_1_1_reader() -> None:
    """What an editor with a YAML 1.1 parser would see is another document; the schema is for 1.2."""
    assert yaml.safe_load("x: 2026-08-22")["x"] != load_yaml("x: 2026-08-22", "m.yaml").data["x"]

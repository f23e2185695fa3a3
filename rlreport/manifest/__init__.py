"""The manifest: strict YAML, its model and JSON Schema, and diagnostics with their place.

`load_manifest` is what the command line and the pipeline call; `codes.CODES` lists every diagnostic.
"""

from __future__ import annotations

from typing import Any

from rlreport.manifest.load import load_manifest
from rlreport.manifest.model import (
    Decision,
    Manifest,
    ManifestReport,
    ManifestRun,
    ManifestSource,
    Window,
)
from rlreport.run.rules import Rule, Waiver

__all__ = [
    "Decision",
    "Manifest",
    "ManifestReport",
    "ManifestRun",
    "ManifestSource",
    "Rule",
    "Waiver",
    "Window",
    "json_schema",
    "load_manifest",
]


def json_schema() -> dict[str, Any]:
    """The JSON Schema (draft 2020-12) of a manifest, for editors that complete and check YAML."""
    from rlreport.manifest.schema import json_schema as make_schema

    return make_schema()

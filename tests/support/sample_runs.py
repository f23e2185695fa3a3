"""Real runs, read once a session through the collectors and the dialects."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from rlreport.collectors import merge_sources, read_sources
from rlreport.dialects import interpret_run
from rlreport.run.model import Run, RunDeclaration


@cache
def sample_run(samples: Path, name: str) -> Run:
    """The run in a file or folder of the samples, as a manifest without declarations would give it."""
    return interpret_run(merge_sources(read_sources([(samples / name, None, {})], samples)), RunDeclaration(name))

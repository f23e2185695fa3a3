"""Collectors: one module a source format, bytes in and raw tables out; format detection, a registry, merging by step."""

from __future__ import annotations

from rlreport.collectors.merge import merge_sources, require_one_run, require_steps
from rlreport.collectors.read import SourceRequest, read_sources
from rlreport.collectors.registry import list_formats

__all__ = ["SourceRequest", "list_formats", "merge_sources", "read_sources", "require_one_run", "require_steps"]

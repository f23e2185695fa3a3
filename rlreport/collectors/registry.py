"""The collectors that exist: those built in, in the order in which they are asked, and those of plugins.

A plugin names a collector (an instance, or a class without arguments) under the entry point group "rlreport.collectors".
"""

from __future__ import annotations

from functools import cache

from rlreport.collectors.base import Collector
from rlreport.collectors.console import ConsoleCollector
from rlreport.collectors.hydra import HydraCollector
from rlreport.collectors.jsonl import JsonlCollector
from rlreport.collectors.rollout_dumps import RolloutDumpCollector
from rlreport.collectors.spans import SPAN_COLLECTORS
from rlreport.collectors.summary import SummaryCollector
from rlreport.collectors.table import CsvCollector, JsonlTableCollector
from rlreport.collectors.tensorboard import TensorboardCollector
from rlreport.run.diagnostics import EXIT_USAGE, Diagnostic, RlreportError

GROUP = "rlreport.collectors"

BUILTIN: tuple[Collector, ...] = (
    TensorboardCollector(),
    HydraCollector(),
    RolloutDumpCollector(),
    JsonlCollector(),
    JsonlTableCollector(),
    CsvCollector(),
    SummaryCollector(),
    *SPAN_COLLECTORS,
    ConsoleCollector(),
)


@cache
def collectors() -> tuple[Collector, ...]:
    """Every collector, in the order in which they are asked whether a source is theirs; plugins come first, by name.

    Raises:
        RlreportError: RR212 when a plugin cannot be loaded.
    """
    return (*_plugins(), *BUILTIN)


def list_formats() -> tuple[str, ...]:
    """The names of all formats, sorted."""
    return tuple(sorted({collector.format for collector in collectors()}))


def collector_of(source_format: str) -> Collector | None:
    """The collector of a format, None when there is none."""
    return next((collector for collector in collectors() if collector.format == source_format), None)


def _plugins() -> list[Collector]:
    from importlib.metadata import entry_points

    plugins: list[Collector] = []
    for point in sorted(entry_points(group=GROUP), key=lambda point: (point.name, point.value)):
        try:
            loaded = point.load()
        except (ImportError, AttributeError) as error:
            hint = "reinstall or remove the package that brings it"
            raise RlreportError.of(
                Diagnostic("RR212", f"the collector plugin {point.name!r} cannot be loaded: {error}", None, hint), EXIT_USAGE
            ) from error
        plugins.append(loaded() if isinstance(loaded, type) else loaded)
    return plugins

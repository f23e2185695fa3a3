"""Collectors of spans and gauges: what lanes of devices did from when to when, and what was counted over time.

Each module reads one source format into a table of spans as they are named by its writer; `rlreport.dialects.spans` gives
names and lanes their meaning. Large traces are read in a stream.
"""

from __future__ import annotations

from rlreport.collectors.base import Collector
from rlreport.collectors.spans.areal_sessions import ArealSessionCollector
from rlreport.collectors.spans.chrome import ChromeTraceCollector
from rlreport.collectors.spans.console_gauges import GaugeLines, console_gauges
from rlreport.collectors.spans.merging import MergedSpans, merge_spans
from rlreport.collectors.spans.mstx import MstxCollector
from rlreport.collectors.spans.nvtx import NvtxCollector
from rlreport.collectors.spans.otlp import OtlpCollector
from rlreport.collectors.spans.prometheus import PrometheusCollector
from rlreport.collectors.spans.summary_events import SummaryEventCollector
from rlreport.collectors.spans.torch_profile import TorchProfileCollector

#: In the order in which they are asked: those of a folder's shape or a sure mark first, any timeline last.
SPAN_COLLECTORS: tuple[Collector, ...] = (
    MstxCollector(),
    NvtxCollector(),
    SummaryEventCollector(),
    ArealSessionCollector(),
    OtlpCollector(),
    PrometheusCollector(),
    TorchProfileCollector(),
    ChromeTraceCollector(),
)

__all__ = ["SPAN_COLLECTORS", "GaugeLines", "MergedSpans", "console_gauges", "merge_spans"]

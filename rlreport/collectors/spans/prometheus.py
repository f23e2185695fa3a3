"""Quantities over time from Prometheus (format "prometheus"): `query_range` answers and `promtool tsdb dump` text.

`query_range` (also saved one answer a line) holds `data.result`, series with `metric` (labels) and `values` ([Unix
seconds, "number"]); `promtool tsdb dump` writes one sample a line, `{__name__="...", ...} number milliseconds`, in any
order of times. "NaN" and "+Inf" occur. Of the dump only inference engines', RL-Insight's and the transfer queue's
quantities are kept (`vllm:`, `sglang:`, `rl_insight_monitor_`, `tq_`), and of these no histograms and counters.

A gauge of RL-Insight's is overwritten every step and sampled every ten seconds; samples that repeat a value are kept only
where they begin and end.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

import msgspec

from rlreport.collectors.base import SourceOptions
from rlreport.collectors.files import ChunkReader, iter_lines, new_table, read_head, unreadable
from rlreport.collectors.spans.chrome_events import Scalar
from rlreport.collectors.spans.columns import clean_name
from rlreport.collectors.spans.reading import stream_notices
from rlreport.collectors.spans.samples import MAX_SERIES, Samples, is_wanted
from rlreport.collectors.spans.stream import JsonStream
from rlreport.collectors.spans.times import MILLISECOND, SECOND, to_ns
from rlreport.collectors.text import plural
from rlreport.run.diagnostics import Notice
from rlreport.run.raw import SourceTable

NAME = "__name__"

_MATRIX = re.compile(rb'"resultType"\s*:\s*"(?:matrix|vector)"')
_DUMP = re.compile(rb'\A\s*\{[^\n]*\b__name__="')
_DUMP_LINE = re.compile(rb"(\{.*\})\s+([-+]?[\w.+-]+)\s+(-?\d{1,16})\s*")
_LABEL = re.compile(rb'([a-zA-Z_][\w.]*)="((?:[^"\\]|\\.)*)"')
#: Labels and samples within a broken series.
_LABELS = re.compile(rb'"metric"\s*:\s*(\{[^{}]{0,10000}\})')
_SAMPLE = re.compile(rb'\[\s*(\d{1,12}(?:\.\d{0,9})?)\s*,\s*"([^"\\\n]{1,40})"\s*\]')
#: Labels that tell apart where a quantity was counted, from the most telling one on.
_LANE_LABELS = ("replica", "replica_rank", "lane", "engine", "instance", "rank", "worker", "host")
_MAX_SERIES_BYTES = 64 << 20


class Series(msgspec.Struct, gc=False):
    """One series of a `query_range` answer."""

    metric: dict[str, Scalar] | None = None
    values: list[tuple[msgspec.Raw, Scalar]] | None = None
    value: tuple[msgspec.Raw, Scalar] | None = None


class _Data(msgspec.Struct, gc=False):
    result: list[Series] | None = None


class _Answer(msgspec.Struct, gc=False):
    """One answer a line."""

    data: _Data | None = None
    metric: dict[str, Scalar] | None = None
    values: list[tuple[msgspec.Raw, Scalar]] | None = None
    value: tuple[msgspec.Raw, Scalar] | None = None


class PrometheusCollector:
    """Reads samples of Prometheus."""

    format = "prometheus"

    def sniff(self, path: Path, head: bytes) -> bool:
        """Whether the text is a range query's answer or a dump of the store."""
        return _DUMP.match(head) is not None or (head.lstrip()[:1] in (b"{", b"[") and _MATRIX.search(head) is not None)

    def read(self, path: Path, options: SourceOptions) -> SourceTable:
        """Read the samples.

        Raises:
            RlreportError: RR203 when the file is empty, RR256 when no sample is of a known kind.
        """
        reader = ChunkReader(path)
        samples: Samples[tuple[str, str]] = Samples()
        unwanted = 0
        if _DUMP.match(read_head(path)):
            unwanted, notices = _read_dump(reader, samples, options.display)
        else:
            notices = _read_answers(reader, samples, options.display)
        if reader.empty:
            raise unreadable("RR203", "the file is empty", options.display)
        notices += _left_out(samples, unwanted, options.display)
        if not samples.series:
            told = "; ".join(notice.message for notice in notices)
            hint = told or "was the range empty, or the name of the quantity wrong?"
            raise unreadable("RR256", "the source holds no sample of a quantity over time", options.display, hint)
        table = new_table(reader, self.format, options)
        table.gauges += [samples.gauge(key, *key, zero_unix_ns=0) for key in sorted(samples.series)]
        table.notices += notices
        return table


def _read_answers(reader: ChunkReader, samples: Samples[tuple[str, str]], where: str) -> list[Notice]:
    stream: JsonStream[Series | _Answer] = JsonStream(
        reader,
        (Series,),
        ("result",),
        line_types=(_Answer,),
        max_element_bytes=_MAX_SERIES_BYTES,
        salvage=salvage_series,
    )
    for batch in stream.batches():
        for item in batch:
            data = getattr(item, "data", None)
            for series in data.result or () if data is not None else (item,):
                key = series_key({name: str(value) for name, value in (series.metric or {}).items()})
                for at, value in series.values or (() if series.value is None else (series.value,)):
                    samples.add(key, to_ns(bytes(at), SECOND), value)
    return stream_notices(stream, where, "result")


def salvage_series(text: bytes) -> Series | None:
    """The samples of a broken series that are whole; None when its labels or all samples are lost."""
    labels = _LABELS.search(text)
    if labels is None:
        return None
    try:
        metric = msgspec.json.decode(labels[1], type=dict[str, Scalar])
    except msgspec.DecodeError:
        return None
    samples = _SAMPLE.findall(text, labels.end())
    values = [(msgspec.Raw(at), value.decode("ascii", "replace")) for at, value in samples]
    return Series(metric, values) if values else None


def _read_dump(reader: ChunkReader, samples: Samples[tuple[str, str]], where: str) -> tuple[int, list[Notice]]:
    """Read a dump; returns how many samples are of quantities that are not kept, and notices."""
    foreign: list[int] = []
    unwanted = 0
    keys: dict[bytes, tuple[str, str] | None] = {}
    for number, line, _ in iter_lines(reader, limit=1 << 20):
        match = _DUMP_LINE.fullmatch(line)
        if match is None:
            if line.strip():
                foreign.append(number)
            continue
        text, value, at = match.groups()
        if text in keys:
            key = keys[text]
        else:
            labels = {label.decode("utf-8", "replace"): _unescape(told) for label, told in _LABEL.findall(text)}
            key = series_key(labels) if is_wanted(labels.get(NAME, "")) else None
            if len(keys) < 2 * MAX_SERIES:
                keys[text] = key
        if key is None:
            unwanted += 1
        else:
            samples.add(key, int(at) * MILLISECOND, value.decode("ascii", "replace"))
    if not foreign:
        return unwanted, []
    message = f"{plural(len(foreign), 'line')} not of the format and left out"
    return unwanted, [Notice("RR231", message, f"{where}:{foreign[0]}")]


def _unescape(text: bytes) -> str:
    return text.decode("utf-8", "replace").replace('\\"', '"').replace("\\\\", "\\")


def series_key(labels: Mapping[str, str]) -> tuple[str, str]:
    """(name of the quantity, lane) of a series from its labels; the lane is empty where no label tells one."""
    name = clean_name(labels.get(NAME, "(no name)"))
    label = next((label for label in _LANE_LABELS if labels.get(label)), None)
    if label is None:
        return name, ""
    value = clean_name(labels[label])
    return name, f"{label.removesuffix('_rank')}_{value}" if value.isdecimal() else value


def _left_out(samples: Samples[tuple[str, str]], unwanted: int, where: str) -> list[Notice]:
    unusable, *others = samples.left_out()
    reasons = (unusable, (unwanted, "of other quantities, or of counters and histograms"), *others)
    parts = [f"{count:,} {what}" for count, what in reasons if count]
    if not parts:
        return []
    return [Notice("RR269", f"{plural(sum(count for count, _ in reasons), 'sample')} left out: {', '.join(parts)}", where)]

"""OpenTelemetry traces as JSON (format "otlp"): from exporters, from Tempo, from RL-Insight, ROLL's `traces.jsonl`.

`resourceSpans` (OTLP) or `batches` (Tempo) hold resources, these hold scopes, these hold spans; times are Unix
nanoseconds as strings. A file is one such object or one a line. Span and trace ids (hexadecimal, or base64 from Tempo)
are not needed. Spans are read one by one wherever their arrays stand, so that a file of one large resource needs no more
memory than others.

RL-Insight's states have the lane in `state_lane_id` (`rank_3`, `replica_0`, `replica_0/slot_2`) and the activity in
`state_name` (verl/utils/profiler/profile.py, verl/workers/rollout/vllm_rollout/vllm_async_server.py); its agents' lanes
(`experiment=.../sample=.../traj=...`) are trajectories, no devices, and are left out. Other spans belong to the lane of
their rank, or of their service.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from rlreport.collectors.base import SourceOptions
from rlreport.collectors.files import ChunkReader
from rlreport.collectors.spans.chrome_events import MAX_TRACKS, Scalar, add_marker, named_markers
from rlreport.collectors.spans.columns import SpanColumns, clean_name, version_of
from rlreport.collectors.spans.lanes import device_lane, named_lane
from rlreport.collectors.spans.reading import check_readable, no_spans, span_source, stream_notices
from rlreport.collectors.spans.stream import JsonStream
from rlreport.collectors.spans.tables import build_table
from rlreport.collectors.spans.times import NANOSECOND, to_ns
from rlreport.collectors.text import plural
from rlreport.run.diagnostics import Notice
from rlreport.run.raw import SourceTable
from rlreport.run.spans import Lane

SPANS_KEY = "spans"

_BEGINS = re.compile(rb"(?:\xef\xbb\xbf)?[\s\0]*[\[{]")
_MARK = re.compile(rb'"(?:resourceSpans|batches)"\s*:\s*\[(\s*\])?')
_SPANS = re.compile(rb'"(?:scopeSpans|instrumentationLibrarySpans|startTimeUnixNano)"\s*:')
#: The track of spans that belong to no device.
_NO_DEVICE = -1
#: A key with its value in the text of a resource.
_PAIR = re.compile(
    rb'"key"\s*:\s*"([^"\\]{1,200})"\s*,\s*"value"\s*:\s*\{\s*"(?:string|int|double)Value"\s*:\s*"?([^"\\,{}]{0,200})"?'
)
_TRAJECTORY = re.compile(r"(?:^|/)(?:sample|session|traj)=")
_STEP_KEYS = ("global_step", "global_steps", "step", "training.step")
_VERSION_KEYS = ("param_version", "policy_version", "weight_version", "version")
_RANK_KEYS = ("rank", "rank_id", "worker.rank")
_GROUP_KEYS = ("role", "cluster", "cluster_name", "worker.name")


class _Value(msgspec.Struct, gc=False):
    stringValue: Scalar = None  # noqa: N815  # the format's names
    intValue: Scalar = None  # noqa: N815
    doubleValue: Scalar = None  # noqa: N815
    boolValue: Scalar = None  # noqa: N815


class _Attribute(msgspec.Struct, gc=False):
    key: Scalar = None
    value: _Value | None = None


class Span(msgspec.Struct, gc=False):
    """What is read of a span."""

    name: Scalar = None
    startTimeUnixNano: Scalar = None  # noqa: N815
    endTimeUnixNano: Scalar = None  # noqa: N815
    attributes: list[_Attribute] | None = None


class OtlpCollector:
    """Reads OpenTelemetry traces."""

    format = "otlp"

    def sniff(self, path: Path, head: bytes) -> bool:
        """Whether the text begins as JSON and holds resources with spans."""
        mark = _MARK.search(head) if _BEGINS.match(head) else None
        return mark is not None and (mark[1] is not None or _SPANS.search(head) is not None)

    def read(self, path: Path, options: SourceOptions) -> SourceTable:
        """Read the traces in a stream.

        Raises:
            RlreportError: RR203 when the file is empty, RR254 when it is not JSON, RR253 when it holds no span of a device.
        """
        reader = ChunkReader(path)
        stream: JsonStream[Span] = JsonStream(reader, (Span,), (SPANS_KEY,), repeated=True)
        traces = _Traces()
        for batch in stream.batches():
            traces.take(stream.head, batch)
        check_readable(reader, stream, options.display, "a trace")
        spans, notices = build_table(
            traces.columns,
            traces.lanes,
            options.display,
            concurrent=True,
            markers_ns=named_markers(traces.markers),
            boundaries_ns=traces.boundaries_ns,
        )
        notices = [*stream_notices(stream, options.display, "span"), *traces.notices(options.display), *notices]
        if spans is None:
            raise no_spans(options.display, "", notices)
        return span_source(reader, self.format, options, spans, notices)


@dataclass(slots=True)
class _Traces:
    """Gathers spans by lane."""

    columns: SpanColumns = field(default_factory=SpanColumns)
    lanes: list[Lane] = field(default_factory=list)
    markers: dict[tuple[object, int], int] = field(default_factory=dict)
    boundaries_ns: dict[int, int] = field(default_factory=dict)
    trajectories: int = 0
    _tracks: dict[str, int] = field(default_factory=dict)
    _lane_ids: dict[Scalar, int] = field(default_factory=dict)
    _before: bytes = b""
    _common: dict[str, Scalar] = field(default_factory=dict)

    def take(self, before: bytes, spans: Sequence[Span]) -> None:
        """Take spans of one scope; the text before their array tells the resource, where it is another than before."""
        if before != self._before:
            self._before = before
            place = before.rfind(b'"resource"')
            self._common = resource_attributes(before[place:]) if place >= 0 else self._common
        for span in spans:
            self._add(span, _attributes(span.attributes, self._common))

    def _add(self, span: Span, attributes: Mapping[str, Scalar]) -> None:
        lane_id = attributes.get("state_lane_id")
        track = self._lane_ids.get(lane_id) if lane_id is not None else None
        if track is None:
            track = self._find_track(lane_id, attributes)
        if track == _NO_DEVICE:
            self.trajectories += 1
            return
        state = attributes.get("state_name")
        name = state if state is not None else span.name
        start, end = to_ns(span.startTimeUnixNano, NANOSECOND), to_ns(span.endTimeUnixNano, NANOSECOND)
        if start is None or end is None or start <= 0:
            self.columns.dropped.untimed += 1
            return
        version = _first_number(attributes, _VERSION_KEYS)
        step = _first_number(attributes, _STEP_KEYS)
        if end > start:
            if step >= 0:
                add_marker(self.markers, name, step, end)
            if version >= 0:
                self.boundaries_ns[version] = min(start, self.boundaries_ns.get(version, start))
        self.columns.add(track, name, start, end - start, version)

    def _find_track(self, lane_id: Scalar, attributes: Mapping[str, Scalar]) -> int:
        """The number of a span's lane; that of a lane with an id is remembered."""
        if lane_id is not None and _TRAJECTORY.search(str(lane_id)):
            return _NO_DEVICE
        track = self._track(_lane(lane_id, attributes))
        if lane_id is not None and len(self._lane_ids) < MAX_TRACKS:
            self._lane_ids[lane_id] = track
        return track

    def _track(self, lane: Lane) -> int:
        code = self._tracks.get(lane.name)
        if code is None:
            if len(self.lanes) >= MAX_TRACKS:
                return MAX_TRACKS - 1
            code = self._tracks[lane.name] = len(self.lanes)
            self.lanes.append(lane)
        return code

    def notices(self, where: str) -> list[Notice]:
        """What was left out."""
        notices: list[Notice] = []
        if self.trajectories:
            message = f"{plural(self.trajectories, 'span')} of trajectories, which are no devices, left out"
            notices.append(Notice("RR266", message, where))
        return notices


def resource_attributes(text: bytes) -> dict[str, Scalar]:
    """The attributes of a resource that are numbers or texts, from the text of the resource."""
    return {
        key.decode("utf-8", "replace"): clean_name(value.decode("utf-8", "replace")) for key, value in _PAIR.findall(text)
    }


def _attributes(attributes: list[_Attribute] | None, common: Mapping[str, Scalar] | None = None) -> dict[str, Scalar]:
    """Attributes by key over those in common; values that are lists or maps are None."""
    found: dict[str, Scalar] = dict(common or ())
    for attribute in attributes or ():
        value = attribute.value
        if value is not None and isinstance(attribute.key, str):
            told = value.stringValue
            for other in (value.intValue, value.doubleValue, value.boolValue):
                told = other if told is None else told
            found[attribute.key] = told
    return found


def _first_number(attributes: Mapping[str, Scalar], keys: tuple[str, ...]) -> int:
    """The first of some attributes that is a whole number from 0 on; -1 when none is."""
    return next((number for key in keys if (number := version_of(attributes.get(key))) >= 0), -1)


def _lane(lane_id: Scalar, attributes: Mapping[str, Scalar]) -> Lane:
    if lane_id is not None:
        return named_lane(clean_name(lane_id))
    group = next((clean_name(attributes[key]) for key in _GROUP_KEYS if attributes.get(key) is not None), "")
    rank = _first_number(attributes, _RANK_KEYS)
    if rank >= 0:
        return device_lane(group, rank, group)
    return named_lane(group or clean_name(attributes.get("service.name", "(no service)")))

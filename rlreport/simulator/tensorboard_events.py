"""TensorBoard events of a simulated run: one record a value, with the time of the call of the logger.

Source: verl/utils/tracking.py (one `add_scalar` a value) and torch/utils/tensorboard, whose writer replaces characters that
a tag may not hold by "_" and stores values in single precision. Records are framed with tensorboardX's checksum; its own
writer takes the file's name and first time from the clock, so it is not used.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Sequence

from rlreport.simulator.log_call import LogCall, unix_s
from rlreport.simulator.scenario import Scenario

#: What stands for the host in the name of the file.
HOST = "simulated"

_NOT_IN_TAGS = re.compile(r"[^-/\w.]")


def event_file_name(scenario: Scenario, begins_s: float = 0.0) -> str:
    """The file's name: its second of creation and the host, as the real writer forms it."""
    return f"events.out.tfevents.{int(unix_s(scenario, begins_s))}.{HOST}"


def event_bytes(scenario: Scenario, calls: Sequence[LogCall], begins_s: float = 0.0, cut: float = 0.0) -> bytes:
    """The content of an event file that was opened `begins_s` after the start of the run.

    `cut` above 0: the process died while it wrote the values of the last call, that share of them is there, and then a part
    of a record.
    """
    from tensorboardX.proto.event_pb2 import Event
    from tensorboardX.proto.summary_pb2 import Summary

    records = [_record(Event(wall_time=unix_s(scenario, begins_s), file_version="brain.Event:2").SerializeToString())]
    for call in calls:
        wall_time = unix_s(scenario, call.at_s)
        for key, value in call.values.items():
            summary = Summary(value=[Summary.Value(tag=clean_tag(key), simple_value=value)])
            event = Event(wall_time=wall_time, step=call.step, summary=summary)
            records.append(_record(event.SerializeToString()))
    if cut and calls:
        kept = len(records) - len(calls[-1].values) + max(1, int(len(calls[-1].values) * cut))
        records = [*records[:kept], records[kept - 1][: len(records[kept - 1]) // 2]]
    return b"".join(records)


def clean_tag(key: str) -> str:
    """A metric key as torch's writer stores it: `acc/mean@16` becomes `acc/mean_16`."""
    return _NOT_IN_TAGS.sub("_", key)


def _record(content: bytes) -> bytes:
    """The TFRecord frame: length, its checksum, content, its checksum."""
    from tensorboardX.record_writer import masked_crc32c

    length = struct.pack("<Q", len(content))
    return b"".join((length, struct.pack("<I", masked_crc32c(length)), content, struct.pack("<I", masked_crc32c(content))))

from __future__ import annotations

import struct

from support.tiny_scenarios import tiny
from tensorboardX.proto.event_pb2 import Event

from rlreport.simulator.log_call import LogCall
from rlreport.simulator.tensorboard_events import clean_tag, event_bytes, event_file_name

CALLS = [
    LogCall(10.5, 1, {"timing_s/gen": 2.25, "val-core/a/acc/mean@16": 0.5}),
    LogCall(20.0, 2, {"timing_s/gen": 3, "num_turns/max": 2}),
]


def crc32c(data: bytes) -> int:
    """The Castagnoli checksum bit by bit (RFC 3720, appendix B.4)."""
    value = 0xFFFFFFFF
    for byte in data:
        value ^= byte
        for _ in range(8):
            value = (value >> 1) ^ (0x82F63B78 if value & 1 else 0)
    return value ^ 0xFFFFFFFF


def masked(data: bytes) -> int:
    value = crc32c(data)
    return (((value >> 15) | (value << 17)) + 0xA282EAD8) & 0xFFFFFFFF


def records(content: bytes) -> list[bytes]:
    """The payloads of a TFRecord file, with their checksums checked; stops at a record that is not whole."""
    found, at = [], 0
    while at + 12 <= len(content):
        (length,) = struct.unpack_from("<Q", content, at)
        if at + 16 + length > len(content):
            break
        payload = content[at + 12 : at + 12 + length]
        assert struct.unpack_from("<I", content, at + 8)[0] == masked(content[at : at + 8])
        assert struct.unpack_from("<I", content, at + 12 + length)[0] == masked(payload)
        found.append(payload)
        at += 16 + length
    return found


def test_one_record_a_value_with_the_time_of_its_call() -> None:
    first, *events = [Event.FromString(payload) for payload in records(event_bytes(tiny(), CALLS, begins_s=5.0))]
    assert first.file_version == "brain.Event:2"
    assert first.wall_time == 1_788_249_605
    told = [(e.wall_time, e.step, e.summary.value[0].tag, e.summary.value[0].simple_value) for e in events]
    assert told == [
        (1_788_249_610.5, 1, "timing_s/gen", 2.25),
        (1_788_249_610.5, 1, "val-core/a/acc/mean_16", 0.5),
        (1_788_249_620.0, 2, "timing_s/gen", 3.0),
        (1_788_249_620.0, 2, "num_turns/max", 2.0),
    ]


def test_the_name_and_the_bytes_do_not_depend_on_clock_or_host() -> None:
    assert event_file_name(tiny(), 5.0) == "events.out.tfevents.1788249605.simulated"
    assert event_bytes(tiny(), CALLS) == event_bytes(tiny(), CALLS)


def test_a_process_that_died_left_a_part_of_a_record() -> None:
    whole, cut = event_bytes(tiny(), CALLS), event_bytes(tiny(), CALLS, cut=0.45)
    assert len(records(whole)) == 5
    assert len(records(cut)) == 4
    assert len(cut) > sum(len(payload) + 16 for payload in records(cut))
    assert whole.startswith(cut[: sum(len(payload) + 16 for payload in records(cut))])


def test_tags_keep_what_torchs_writer_keeps() -> None:
    assert clean_tag("val-core/simulated-math/acc/best@4/mean") == "val-core/simulated-math/acc/best_4/mean"
    assert clean_tag("critic/lr(1e-4)") == "critic/lr_1e-4_"
    assert clean_tag("timing_s/agent_loop/tool_calls/max") == "timing_s/agent_loop/tool_calls/max"

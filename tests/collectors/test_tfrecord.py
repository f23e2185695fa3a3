from __future__ import annotations

import struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tensorboardX.record_writer import masked_crc32c as reference

from rlreport.collectors.tfrecord import find_records, masked_crc32c


def record(data: bytes) -> bytes:
    header = struct.pack("<Q", len(data))
    return header + struct.pack("<I", reference(header)) + data + struct.pack("<I", reference(data))


@settings(deadline=None)
@given(st.binary(max_size=100))
def test_the_checksum_is_that_of_another_implementation(data: bytes) -> None:
    assert masked_crc32c(data) == reference(data)


@settings(deadline=None)
@given(st.lists(st.binary(max_size=40), max_size=12))
def test_records_are_found(parts: list[bytes]) -> None:
    buffer = b"".join(map(record, parts))
    records = find_records(buffer)
    assert [buffer[start : start + length] for start, length in records.spans] == parts
    assert records.damaged == 0
    assert records.incomplete_at is None


@settings(deadline=None)
@given(st.lists(st.binary(min_size=1, max_size=40), min_size=1, max_size=6), st.data())
def test_a_file_that_ends_early_keeps_its_whole_records(parts: list[bytes], data: st.DataObject) -> None:
    whole = [record(part) for part in parts]
    buffer = b"".join(whole)
    end = data.draw(st.integers(0, len(buffer) - 1))
    records = find_records(buffer[:end])
    count = next(n for n in range(len(whole), -1, -1) if sum(map(len, whole[:n])) <= end)
    assert len(records.spans) == count
    assert records.incomplete_at == (None if end == sum(map(len, whole[:count])) else sum(map(len, whole[:count])))


@pytest.mark.parametrize("at", [8, 12, 13, 16])
def test_a_changed_byte_is_noticed(at: int) -> None:
    buffer = bytearray(record(b"first") + record(b"second"))
    buffer[at] ^= 1
    records = find_records(bytes(buffer))
    assert records.damaged == 1
    assert [bytes(buffer[start : start + length]) for start, length in records.spans] == [b"second"]


def test_a_length_that_leads_nowhere_ends_the_reading() -> None:
    buffer = bytearray(record(b"first") + record(b"second"))
    buffer[len(record(b"first")) + 6] = 255
    records = find_records(bytes(buffer))
    assert len(records.spans) == 1
    assert records.incomplete_at == len(record(b"first"))

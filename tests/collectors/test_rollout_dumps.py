from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from rlreport.collectors.base import SourceOptions
from rlreport.collectors.rollout_dumps import RolloutDumpCollector, dump_files
from rlreport.run.diagnostics import RlreportError
from rlreport.run.samples import SampleTable

LINE = '{"input":"","output":"","score":1.0,"step":%d,"prompt_length":7,"response_length":%d,"max_global_steps":4}\n'


def read(path: Path) -> tuple[list[SampleTable], list[str]]:
    table = RolloutDumpCollector().read(path, SourceOptions("dumps"))
    return table.samples, [notice.message for notice in table.notices]


def folder(root: Path, **files: str) -> Path:
    for name, text in files.items():
        (root / f"{name.replace('_', '-').lstrip('s')}.jsonl").write_text(text)
    return root


def test_a_folder_is_one_source(tmp_path: Path) -> None:
    path = folder(tmp_path, s2=LINE % (2, 30), s10=LINE % (10, 40) + LINE % (10, 50), left_over=LINE % (0, 99))
    (path / "notes.txt").write_text("none of ours")
    collector = RolloutDumpCollector()
    assert collector.sniff(path, b"")
    assert [file.name for file in dump_files(path)] == ["2.jsonl", "10.jsonl", "left-over.jsonl"]
    (trained, left), notices = read(path)
    assert notices == []
    assert (trained.kind, trained.step.tolist(), trained.response_tokens.tolist()) == ("trained", [2, 10, 10], [30, 40, 50])
    assert trained.prompt_tokens.tolist() == [7] * 3 and trained.last_version.tolist() == [4] * 3
    assert trained.first_version.tolist() == [-1] * 3
    assert (left.kind, left.response_tokens.tolist()) == ("left over", [99])


def test_the_files_of_the_folder_are_found_with_it(tmp_path: Path) -> None:
    collector = RolloutDumpCollector()
    path = folder(tmp_path, s2=LINE % (2, 30))
    assert collector.sniff(path / "2.jsonl", b"") and collector.sniff(path / "2.jsonl", (LINE % (2, 30)).encode())
    assert not collector.sniff(path / "metrics.jsonl", b"")
    assert not collector.sniff(path / "2.jsonl", b'{"step":1,"data":{}}')


def test_lines_without_lengths_are_counted(tmp_path: Path) -> None:
    text = (
        LINE % (1, 5) + '{"output":"x","step":1}\n' + "no json\n" + '[1]\n{"response_length":-3}\n{"response_length":NaN}\n'
    )
    (found,), notices = read(folder(tmp_path, s1=text))
    assert len(found) == 1
    assert notices == ["5 lines of rollout dumps without a response length left out"]


def test_dumps_without_any_length_are_refused(tmp_path: Path) -> None:
    with pytest.raises(RlreportError) as caught:
        read(folder(tmp_path, s1='{"output":"text","step":1}\n'))
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.code == "RR209" and "response_length" in (diagnostic.hint or "")


def test_compressed_dumps_are_read(tmp_path: Path) -> None:
    (tmp_path / "3.jsonl.gz").write_bytes(gzip.compress((LINE % (3, 8)).encode()))
    assert RolloutDumpCollector().sniff(tmp_path, b"")
    (found,), _ = read(tmp_path)
    assert found.step.tolist() == [3]

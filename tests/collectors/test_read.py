from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import os
import tarfile
import zipfile
from collections.abc import Mapping
from pathlib import Path

import pytest
from support.verl_logs import VerlLog, training_values

from rlreport.collectors import read_sources
from rlreport.collectors.base import SourceOptions
from rlreport.collectors.console import ConsoleCollector
from rlreport.run.diagnostics import Diagnostic, RlreportError
from rlreport.run.raw import SourceTable


def console(path: Path) -> Path:
    return VerlLog().metrics(1, training_values(1)).write(path)


def read(
    *paths: Path, root: Path | None = None, form: str | None = None, columns: Mapping[str, str] | None = None
) -> list[SourceTable]:
    return read_sources([(path, form, columns or {}) for path in paths], root)


def refused(*paths: Path, root: Path | None = None, form: str | None = None) -> tuple[Diagnostic, ...]:
    with pytest.raises(RlreportError) as caught:
        read(*paths, root=root, form=form)
    assert caught.value.exit_code == 3
    return caught.value.diagnostics


def test_files_and_folders_in_the_given_order(tmp_path: Path) -> None:
    first = console(tmp_path / "a" / "x.log")
    console(tmp_path / "b" / "y.log")
    (tmp_path / "b" / "m.jsonl").write_text(json.dumps({"step": 1, "data": {"a/b": 1}}) + "\n")
    tables = read(tmp_path / "b", first, root=tmp_path)
    assert [(table.path, table.format) for table in tables] == [
        ("b/m.jsonl", "verl-jsonl"),
        ("b/y.log", "verl-console"),
        ("a/x.log", "verl-console"),
    ]


def test_paths_outside_of_the_root_are_shown_as_they_are(tmp_path: Path) -> None:
    path = console(tmp_path / "a" / "x.log")
    assert read(path, root=tmp_path / "b")[0].path == path.as_posix()
    assert read(path)[0].path == path.as_posix()


def test_a_file_that_is_reached_twice_is_read_once(tmp_path: Path) -> None:
    path = console(tmp_path / "a" / "x.log")
    (tmp_path / "link.log").symlink_to(path)
    assert [table.path for table in read(path, tmp_path, path, root=tmp_path)] == ["a/x.log"]


def test_a_forced_format(tmp_path: Path) -> None:
    notes = console(tmp_path / "notes.md")
    assert [diagnostic.code for diagnostic in refused(notes)] == ["RR204"]
    assert [len(table.rows) for table in read(notes, form="verl-console")] == [1]
    console(tmp_path / "x.log")
    assert [table.path for table in read(tmp_path, root=tmp_path, form="verl-console")] == ["x.log"]
    assert [diagnostic.code for diagnostic in refused(tmp_path, form="tensorboard")] == ["RR205"]


def test_tables_by_their_columns(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("i,s\n1,2.5\n")
    (tmp_path / "t.jsonl").write_text('{"i": 1, "s": 2.5}\n')
    (tmp_path / "t.bin").write_bytes(b"\0" * 10)
    columns = {"i": "step", "s": "time.step_s"}
    for path in (tmp_path / "t.csv", tmp_path / "t.jsonl"):
        assert [code.code for code in refused(path)] == ["RR204"]
        assert [table.rows[0].values for table in read(path, columns=columns)] == [{"time.step_s": 2.5}]
    tables = read(tmp_path, columns=columns, root=tmp_path)
    assert [(table.path, table.format) for table in tables] == [("t.csv", "csv"), ("t.jsonl", "jsonl-table")]
    assert [notice.code for notice in tables[0].notices] == ["RR237"]
    assert "t.bin" in tables[0].notices[0].message


def test_everything_that_cannot_be_read_is_told_at_once(tmp_path: Path) -> None:
    (tmp_path / "empty.log").write_text("")
    (tmp_path / "other.log").write_text("hello\n")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "x.bin").write_bytes(b"\1\2")
    (tmp_path / "nothing").mkdir()
    paths = [tmp_path / name for name in ("missing.log", "no/folder.log", "empty.log", "other.log", "folder", "nothing")]
    diagnostics = refused(*paths, console(tmp_path / "good.log"), root=tmp_path)
    assert [(diagnostic.code, str(diagnostic.location)) for diagnostic in diagnostics] == [
        ("RR201", "missing.log"),
        ("RR201", "no/folder.log"),
        ("RR203", "empty.log"),
        ("RR204", "other.log"),
        ("RR205", "folder"),
        ("RR205", "nothing"),
    ]
    assert all(diagnostic.hint for diagnostic in diagnostics)
    assert "1 file of no known format" in str(diagnostics[4].hint)
    assert "no files" in str(diagnostics[5].hint)


def test_an_unknown_format(tmp_path: Path) -> None:
    (diagnostic,) = refused(console(tmp_path / "x.log"), form="verl")
    assert diagnostic.code == "RR206"
    assert "verl-console" in str(diagnostic.hint)


def test_a_file_that_may_not_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def deny(self: ConsoleCollector, path: Path, options: SourceOptions) -> SourceTable:
        if path.name == "secret.log":
            raise PermissionError(13, os.strerror(13))
        return original(self, path, options)

    original = ConsoleCollector.read
    monkeypatch.setattr(ConsoleCollector, "read", deny)
    secret, good = console(tmp_path / "secret.log"), console(tmp_path / "good.log")
    (diagnostic,) = refused(secret)
    assert diagnostic.code == "RR202"
    assert "Permission denied" in diagnostic.message
    (table,) = read(tmp_path, root=tmp_path)
    assert table.path == good.name
    assert [(notice.code, notice.where) for notice in table.notices] == [("RR202", "secret.log")]


def test_notices_of_a_folder(tmp_path: Path) -> None:
    console(tmp_path / "x.log")
    (tmp_path / "empty.log").write_text("")
    for name in "abcd":
        (tmp_path / f"{name}.bin").write_bytes(b"\1\2")
    (table,) = read(tmp_path, root=tmp_path.parent)
    assert [(notice.code, notice.message) for notice in table.notices] == [
        ("RR237", f"4 files left out, of no known format: {', '.join(f'{tmp_path.name}/{name}.bin' for name in 'abc')}"),
        ("RR237", f"1 file left out, empty: {tmp_path.name}/empty.log"),
    ]


def packed(data: bytes) -> dict[str, bytes]:
    """A log under the names of what it is packed with; the bytes of zstd (RFC 8878) and lz4 are made by hand."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("console.log", data)
    tarred = io.BytesIO()
    with tarfile.open(fileobj=tarred, mode="w:gz") as tar:
        member = tarfile.TarInfo("console.log")
        member.size = 3
        tar.addfile(member, io.BytesIO(b"abc"))
    return {
        "zstd": b"\x28\xb5\x2f\xfd\x20\x03\x19\x00\x00abc",
        "bzip2": bz2.compress(data),
        "xz": lzma.compress(data),
        "lz4": b"\x04\x22\x4d\x18\x64\x40\xa7" + bytes(20),
        "a zip archive": buffer.getvalue(),
        "a tar archive": tarred.getvalue(),
    }


@pytest.mark.parametrize("kind", ["zstd", "bzip2", "xz", "lz4", "a zip archive", "a tar archive"])
def test_what_is_packed_in_a_way_that_is_not_read_says_so(tmp_path: Path, kind: str) -> None:
    data = VerlLog().metrics(1, training_values(1)).data
    path = tmp_path / "console.log.x"
    path.write_bytes(packed(data)[kind])
    for form in (None, "verl-console"):
        (diagnostic,) = refused(path, form=form)
        assert diagnostic.code == "RR204"
        assert kind in diagnostic.message
        assert diagnostic.message.endswith("which is not read")
        assert "first" in str(diagnostic.hint)
    (diagnostic,) = refused(tmp_path)
    assert diagnostic.code == "RR205"
    assert f"1 file {'compressed with ' if 'archive' not in kind else ''}{kind}, which is not read" in str(diagnostic.hint)


def test_a_log_that_begins_like_something_packed_is_read(tmp_path: Path) -> None:
    path = tmp_path / "console.log"
    path.write_bytes(b"BZh is how it begins\n" + VerlLog().metrics(1, training_values(1)).data)
    assert [len(table.rows) for table in read(path)] == [1]


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("name", ["console.log", "metrics.jsonl", "table.csv", "console.log.gz"])
def test_utf_16_text_says_so(tmp_path: Path, encoding: str, name: str) -> None:
    texts = {
        "metrics.jsonl": '{"step": 1, "data": {"actor/loss": 0.5}}\n' * 9,
        "table.csv": "step,time.step_s\n" + "1,2.5\n" * 9,
    }
    data = texts.get(name, VerlLog().metrics(1, training_values(1)).text).encode(encoding)
    path = tmp_path / name
    path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    (diagnostic,) = refused(path)
    assert diagnostic.code == "RR204"
    assert "UTF-16" in diagnostic.message
    assert "UTF-8" in str(diagnostic.hint)


@pytest.mark.parametrize("form", [None, "verl-console"])
def test_a_gzip_file_without_text(tmp_path: Path, form: str | None) -> None:
    path = tmp_path / "console.log.gz"
    path.write_bytes(gzip.compress(b""))
    (diagnostic,) = refused(path, form=form)
    assert (diagnostic.code, diagnostic.message) == ("RR203", "the compressed file is empty")
    for size in (2, 5, 11):
        path.write_bytes(gzip.compress(b"some text of a log")[:size])
        (diagnostic,) = refused(path, form=form)
        assert diagnostic.code == "RR209"
        assert diagnostic.message.startswith("the compressed file is cut or damaged: it holds no text")
    path.write_bytes(b"\x1f\x8bnothing of gzip")
    (diagnostic,) = refused(path, form=form)
    assert diagnostic.code == "RR209"


def test_notices_of_a_folder_tell_why_files_are_left_out(tmp_path: Path) -> None:
    console(tmp_path / "x.log")
    (tmp_path / "a.bin").write_bytes(b"\1\2")
    (tmp_path / "old.log.xz").write_bytes(lzma.compress(b"text"))
    (tmp_path / "older.log.xz").write_bytes(lzma.compress(b"text"))
    (tmp_path / "windows.log").write_bytes("step:1 - a/b:1\n".encode("utf-16"))
    (tmp_path / "nothing.log.gz").write_bytes(gzip.compress(b""))
    (tmp_path / "part.log.gz").write_bytes(gzip.compress(b"")[:5])
    (tmp_path / "empty.log").write_text("")
    (table,) = read(tmp_path, root=tmp_path)
    assert [(notice.code, notice.message) for notice in table.notices] == [
        ("RR237", "1 file left out, of no known format: a.bin"),
        ("RR237", "2 files left out, compressed with xz, which is not read: old.log.xz, older.log.xz"),
        ("RR237", "1 file left out, cut: part.log.gz"),
        ("RR237", "1 file left out, UTF-16 text, which is not read: windows.log"),
        ("RR237", "2 files left out, empty: nothing.log.gz, empty.log"),
    ]

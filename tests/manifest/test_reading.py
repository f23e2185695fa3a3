from __future__ import annotations

import os
from pathlib import Path

import pytest
from support.manifest_files import VALID, make_folder, place_of, problems_of

from rlreport.manifest import load_manifest
from rlreport.manifest.reading import MAX_BYTES, MAX_PROSE_BYTES
from rlreport.run.diagnostics import Diagnostic, Location, RlreportError


def failure(path: Path) -> Diagnostic:
    with pytest.raises(RlreportError) as caught:
        load_manifest(path)
    assert caught.value.exit_code == 2
    (problem,) = caught.value.diagnostics
    return problem


def test_a_missing_manifest_names_one_like_it(tmp_path: Path) -> None:
    (tmp_path / "experiments.yml").write_text("", encoding="utf-8")
    problem = failure(tmp_path / "experiments.yaml")
    assert (problem.code, problem.message) == ("RR100", "the manifest does not exist")
    assert problem.hint == f"did you mean '{tmp_path / 'experiments.yml'}'?"
    assert problem.location == Location(str(tmp_path / "experiments.yaml"))


def test_a_missing_manifest_lists_what_there_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert "rlreport init" in (failure(Path("experiments.yaml")).hint or "")
    Path("b.yaml").write_text("", encoding="utf-8")
    Path("a.yml").write_text("", encoding="utf-8")
    problem = failure(Path("experiments.yaml"))
    assert str(problem) == (
        "experiments.yaml: error[RR100]: the manifest does not exist\n  hint: the YAML files there are: a.yml, b.yaml"
    )
    assert "a.yml, b.yaml" in (failure(Path("nope.yaml")).hint or "")
    assert failure(Path("none/experiments.yaml")).hint == "there is no folder 'none'"


def test_a_folder_is_not_a_manifest(tmp_path: Path) -> None:
    problem = failure(tmp_path)
    assert (problem.code, problem.message) == ("RR100", "a folder, not a manifest")
    assert "rlreport init" in (problem.hint or "")
    (tmp_path / "experiments.yaml").write_text("", encoding="utf-8")
    assert failure(tmp_path).hint == f"the YAML files there are: {tmp_path / 'experiments.yaml'}"


@pytest.mark.parametrize("name", ["experiments.yaml/x", "a" * 300, "a\0b"])
def test_a_path_that_cannot_be_opened(name: str, tmp_path: Path) -> None:
    (tmp_path / "experiments.yaml").write_text("", encoding="utf-8")
    problem = failure(tmp_path / name)
    assert problem.code == "RR100"
    assert problem.message.startswith("the manifest cannot be read: ")


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="permissions do not bind the administrator")
def test_a_manifest_without_permission(tmp_path: Path) -> None:
    path = tmp_path / "experiments.yaml"
    path.write_text("", encoding="utf-8")
    path.chmod(0)
    assert failure(path).message == "the manifest cannot be read: permission denied"


@pytest.mark.parametrize(
    ("data", "line", "column", "message"),
    [
        (b"version: 1\ntitle: caf\xe9\n", 2, 11, "the byte 0xe9 is not UTF-8 text"),
        ("é: ".encode() + b"\xff\n", 1, 4, "the byte 0xff is not UTF-8 text"),
        ("version: 1\n".encode("utf-16"), 1, 1, "the file is UTF-16"),
        (b"version: 1\na: \x00b\n", 2, 4, "the control character U+0000 is not allowed"),
        (b"\x1b[1m: 1\n", 1, 1, "the control character U+001B is not allowed"),
    ],
)
def test_what_is_not_text_is_placed(data: bytes, line: int, column: int, message: str, tmp_path: Path) -> None:
    path = tmp_path / "experiments.yaml"
    path.write_bytes(data)
    problem = failure(path)
    assert (problem.code, problem.message) == ("RR101", message)
    assert problem.location == Location(str(path), line, column)
    assert problem.hint


def test_a_log_is_not_read_whole(tmp_path: Path) -> None:
    path = tmp_path / "console.log"
    path.write_bytes(b"x" * (MAX_BYTES + 1))
    problem = failure(path)
    assert (problem.code, problem.message) == ("RR101", "larger than 4 MiB")
    assert "rlreport inspect" in (problem.hint or "")


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_byte_order_mark_and_line_ends_do_not_matter(newline: str, tmp_path: Path) -> None:
    path = make_folder(tmp_path) / "experiments.yaml"
    path.write_bytes(b"\xef\xbb\xbf" + VALID.replace("\n", newline).encode())
    manifest = load_manifest(path)
    assert manifest.runs["r32"].location == Location(str(path), 5, 3)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"caf\xe9", "is not UTF-8 text"),
        (b"a\x1b[1m", "holds the control character U+001B"),
        ("é".encode() * (MAX_PROSE_BYTES // 2 + 1), "is larger than 256 KiB"),
    ],
)
def test_a_narrative_must_be_text(content: bytes, reason: str, tmp_path: Path) -> None:
    (make_folder(tmp_path) / "notes/study.md").write_bytes(content)
    (problem,) = problems_of(tmp_path, VALID + "    narrative: notes/study.md\n")
    assert (problem.code, problem.message) == ("RR128", f"report 'study': the narrative 'notes/study.md' {reason}")
    assert place_of(problem) == (11, 16)

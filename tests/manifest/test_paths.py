from __future__ import annotations

from pathlib import Path

import pytest
from support.manifest_files import make_folder

from rlreport.manifest.paths import Folder, FoundPath, PathProblem


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return make_folder(tmp_path)


def names(found: tuple[FoundPath, ...] | PathProblem) -> list[str]:
    assert not isinstance(found, PathProblem)
    return [each.display for each in found]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("logs", ["logs"]),
        (".", ["."]),
        ("./logs//r48/../r32", ["logs/r32"]),
        ("logs/*", ["logs/r32", "logs/r48"]),
        ("logs/r48/*", ["logs/r48/console.log", "logs/r48/metrics.jsonl"]),
        ("**/console.log", ["logs/r32/console.log", "logs/r48/console.log"]),
        ("logs/r[0-4]8", ["logs/r48"]),
    ],
)
def test_files_folders_and_globs(text: str, expected: list[str], folder: Path) -> None:
    found = Folder(folder).find(text)
    assert names(found) == expected
    assert not isinstance(found, PathProblem)
    assert all(each.path.exists() for each in found)


def test_a_name_with_brackets_is_taken_literally_when_it_exists(folder: Path) -> None:
    (folder / "run[1].log").write_text("", encoding="utf-8")
    (folder / "run1.log").write_text("", encoding="utf-8")
    assert names(Folder(folder).find("run[1].log")) == ["run[1].log"]
    (folder / "run[1].log").unlink()
    assert names(Folder(folder).find("run[1].log")) == ["run1.log"]


def test_a_folder_whose_own_name_holds_glob_characters(tmp_path: Path) -> None:
    folder = tmp_path / "study [2]*"
    folder.mkdir()
    make_folder(folder)
    assert names(Folder(folder).find("logs/*")) == ["logs/r32", "logs/r48"]


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("logs/r48/consol.log", "'logs/r48/consol.log' does not exist", "did you mean 'logs/r48/console.log'?"),
        ("log/r48/console.log", "'log/r48/console.log' does not exist", "did you mean 'logs/r48/console.log'?"),
        ("logs/r4/x.log", "'logs/r4/x.log' does not exist", "did you mean 'logs/r48'?"),
        ("logs/r4/x", "'logs/r4/x' does not exist", "did you mean 'logs/r48'?"),
        ("logs/r3248", "'logs/r3248' does not exist", "similar names in 'logs': r48, r32"),
        ("zzz.log", "'zzz.log' does not exist", "the manifest's folder holds: logs, notes"),
        ("logs/r48/*.csv", "'logs/r48/*.csv' matches nothing", "'logs/r48' holds: console.log, metrics.jsonl"),
        ("notes/study.md/x", "'notes/study.md/x' does not exist", "did you mean 'notes/study.md'?"),
        ("~/logs", "'~/logs' does not exist", "'~' is not expanded; write the path out and give --allow-outside"),
        ("x" * 5000, "does not exist", "holds: logs, notes"),
    ],
)
def test_what_is_not_there_is_said_with_what_is(text: str, message: str, hint: str, folder: Path) -> None:
    found = Folder(folder).find(text)
    assert isinstance(found, PathProblem)
    assert found.code == "RR130"
    assert message in found.message
    assert hint in found.hint


def test_long_listings_are_cut_and_empty_folders_named(folder: Path) -> None:
    for number in range(7):
        (folder / "notes" / f"n{number}.txt").write_text("", encoding="utf-8")
    found = Folder(folder).find("notes/*.pdf")
    assert isinstance(found, PathProblem)
    assert found.hint == "'notes' holds: n0.txt, n1.txt, n2.txt, n3.txt, n4.txt and 3 more"
    (folder / "empty").mkdir()
    found = Folder(folder).find("empty/*")
    assert isinstance(found, PathProblem)
    assert found.hint == "'empty' is empty"


@pytest.mark.parametrize("text", ["..", "../x", "logs/../../x", "/etc", "logs/*/../../../x"])
def test_the_folder_is_not_left_without_leave(text: str, folder: Path) -> None:
    found = Folder(folder / "logs").find(text)
    assert isinstance(found, PathProblem)
    assert found.code == "RR129"
    found = Folder(folder / "logs", allow_outside=True).find(text)
    assert not isinstance(found, PathProblem) or found.code == "RR130"


def test_a_name_that_begins_with_dots_is_inside(folder: Path) -> None:
    (folder / "..logs").mkdir()
    assert names(Folder(folder).find("..logs")) == ["..logs"]

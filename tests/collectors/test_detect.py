from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from support.verl_logs import VerlLog, training_values
from tensorboardX import SummaryWriter

from rlreport.collectors import registry
from rlreport.collectors.base import SourceOptions
from rlreport.collectors.detect import detect, search
from rlreport.collectors.registry import collector_of, collectors, list_formats
from rlreport.run.diagnostics import RlreportError
from rlreport.run.raw import SourceTable

CONFIG = "actor_rollout_ref:\n  a: 1\nalgorithm:\n  b: 2\n"


def console(path: Path) -> Path:
    return VerlLog().metrics(1, training_values(1)).write(path)


def run_folder(root: Path) -> Path:
    console(root / "logs" / "console.log")
    (root / "metrics.jsonl").write_text(json.dumps({"step": 1, "data": {"a/b": 1}}) + "\n")
    hydra = root / "outputs" / "2026-07-30" / ".hydra"
    hydra.mkdir(parents=True)
    for name in ("config.yaml", "overrides.yaml", "hydra.yaml"):
        (hydra / name).write_text(CONFIG if name == "config.yaml" else "[]\n")
    with SummaryWriter(str(root / "tb" / "p" / "e")) as writer:
        writer.add_scalar("a/b", 1.0, 1)
    (root / "tb" / "p" / "e" / "note.txt").write_text("nothing")
    (root / "README.md").write_text("about\n")
    (root / "weights.bin").write_bytes(bytes(range(256)) * 10)
    (root / "empty.log").write_text("")
    return root


def found(folder: Path, **limits: int) -> list[tuple[str, str]]:
    return [(path.relative_to(folder).as_posix(), owner.format) for path, owner in search(folder, **limits).sources]


def test_a_folder_is_searched_for_every_format(tmp_path: Path) -> None:
    root = run_folder(tmp_path)
    assert found(root) == [
        ("metrics.jsonl", "verl-jsonl"),
        ("logs/console.log", "verl-console"),
        ("outputs/2026-07-30/.hydra", "hydra"),
        ("tb/p/e", "tensorboard"),
    ]
    result = search(root)
    assert [path.name for path in result.unknown] == ["README.md", "weights.bin", "note.txt"]
    assert [path.name for path in result.empty] == ["empty.log"]
    assert result.unreadable == []
    assert result.cut is None


def test_links_that_lead_in_a_circle(tmp_path: Path) -> None:
    console(tmp_path / "a" / "x.log")
    (tmp_path / "a" / "loop").symlink_to(tmp_path, target_is_directory=True)
    (tmp_path / "b").symlink_to(tmp_path / "a", target_is_directory=True)
    (tmp_path / "broken").symlink_to(tmp_path / "nowhere")
    assert found(tmp_path) == [("a/x.log", "verl-console")]


def test_depth_and_number_are_bounded(tmp_path: Path) -> None:
    for depth in range(4):
        console(tmp_path.joinpath(*["d"] * depth) / "x.log")
    assert len(found(tmp_path, max_depth=2)) == 3
    assert search(tmp_path, max_depth=2).cut == "folders deeper than 2 levels"
    assert len(found(tmp_path, max_files=2)) == 2
    assert search(tmp_path, max_files=2).cut == "more than 2 files"
    assert search(tmp_path, max_files=4).cut is None


def test_folders_without_sources_are_skipped(tmp_path: Path) -> None:
    console(tmp_path / ".git" / "x.log")
    console(tmp_path / "__pycache__" / "x.log")
    assert found(tmp_path) == []


def test_pipes_are_no_files(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.log")
    assert found(tmp_path) == []


def test_detection_by_content(tmp_path: Path) -> None:
    owner = detect(console(tmp_path / "anything"))
    assert owner is not None
    assert owner.format == "verl-console"
    (tmp_path / "x.log").write_text("hello\n")
    assert detect(tmp_path / "x.log") is None


def test_the_formats_that_exist() -> None:
    assert {"csv", "hydra", "jsonl-table", "tensorboard", "verl-console", "verl-jsonl"} <= set(list_formats())
    assert list(list_formats()) == sorted(list_formats())
    for name in list_formats():
        collector = collector_of(name)
        assert collector is not None
        assert collector.format == name
    assert collector_of("nothing") is None


class Plugin:
    """A collector as plugins may bring them, without a word on folders."""

    format = "plugin"

    def sniff(self, path: Path, head: bytes) -> bool:
        return head.startswith(b"PLUGIN")

    def read(self, path: Path, options: SourceOptions) -> SourceTable:
        return SourceTable(options.display, self.format)


class WholeFolders:
    """A collector of folders `all` and `some`, of which it owns the first."""

    format = "folders"

    def sniff(self, path: Path, head: bytes) -> bool:
        return path.is_dir() and path.name in ("all", "some")

    def owns(self, folder: Path) -> bool:
        return folder.name == "all"

    def read(self, path: Path, options: SourceOptions) -> SourceTable:
        return SourceTable(options.display, self.format)


class Point:
    name = "plugin"
    value = "x:Plugin"

    def __init__(self, loaded: object) -> None:
        self.loaded = loaded

    def load(self) -> object:
        if isinstance(self.loaded, Exception):
            raise self.loaded
        return self.loaded


@pytest.fixture
def fresh_registry() -> object:
    collectors.cache_clear()
    yield
    collectors.cache_clear()


@pytest.mark.usefixtures("fresh_registry")
@pytest.mark.parametrize("loaded", [Plugin, Plugin()])
def test_plugins_come_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, loaded: object) -> None:
    monkeypatch.setattr("importlib.metadata.entry_points", lambda group: [Point(loaded)] if group == registry.GROUP else [])
    assert collectors()[0].format == "plugin"
    assert "plugin" in list_formats()
    (tmp_path / "x").write_text("PLUGIN step:1 - a/b:1")
    owner = detect(tmp_path / "x")
    assert owner is not None
    assert owner.format == "plugin"


@pytest.mark.usefixtures("fresh_registry")
def test_a_plugin_that_cannot_be_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.metadata.entry_points", lambda group: [Point(ImportError("no module x"))])
    with pytest.raises(RlreportError) as caught:
        collectors()
    assert caught.value.diagnostics[0].code == "RR212"


@pytest.mark.usefixtures("fresh_registry")
def test_a_folder_that_a_collector_owns_is_one_source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing in it is told, counted or searched; a folder that is only a source among others is."""
    points = [Point(WholeFolders), Point(Plugin)]
    monkeypatch.setattr("importlib.metadata.entry_points", lambda group: points if group == registry.GROUP else [])
    for name in ("all", "some"):
        console(tmp_path / name / "x.log")
        console(tmp_path / name / "deep" / "y.log")
        (tmp_path / name / "weights.bin").write_bytes(b"\0\1")
        (tmp_path / name / "empty").write_bytes(b"")
    assert found(tmp_path) == [
        ("all", "folders"),
        ("some", "folders"),
        ("some/x.log", "verl-console"),
        ("some/deep/y.log", "verl-console"),
    ]
    result = search(tmp_path)
    assert [path.relative_to(tmp_path).as_posix() for path in result.unknown] == ["some/weights.bin"]
    assert [path.relative_to(tmp_path).as_posix() for path in result.empty] == ["some/empty"]
    assert search(tmp_path, max_depth=1).cut == "folders deeper than 1 levels"
    assert search(tmp_path / "all", max_files=0).cut is None
    assert search(tmp_path / "all", max_depth=0).cut is None


@pytest.mark.usefixtures("fresh_registry")
def test_a_folder_that_cannot_be_looked_into(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(self: WholeFolders, folder: Path) -> bool:
        raise PermissionError(13, "no", str(folder))

    monkeypatch.setattr(WholeFolders, "owns", fails)
    monkeypatch.setattr("importlib.metadata.entry_points", lambda group: [Point(WholeFolders)])
    console(tmp_path / "all" / "x.log")
    result = search(tmp_path)
    assert [path.name for path in result.unreadable] == ["all"]
    assert found(tmp_path) == [("all/x.log", "verl-console")]

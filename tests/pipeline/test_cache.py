from __future__ import annotations

import os
from pathlib import Path

import pytest
from support.made_projects import write_pair

from rlreport.manifest import load_manifest
from rlreport.pipeline.cache import BuildCache
from rlreport.pipeline.result import BuildResult

RESULT = BuildResult(("a line",), ("a failure",))


@pytest.fixture
def manifest(tmp_path: Path) -> Path:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "index.html").write_text("page", "utf-8")
    return write_pair(tmp_path)


def cache(manifest: Path, formats: tuple[str, ...] = ("html",), only: tuple[str, ...] = ()) -> BuildCache:
    return BuildCache(load_manifest(manifest), manifest.parent / "out", formats, only)


def test_nothing_changed(manifest: Path) -> None:
    assert cache(manifest).find() is None
    cache(manifest).store(RESULT)
    assert cache(manifest).find() == RESULT


def test_other_options_are_another_build(manifest: Path) -> None:
    cache(manifest).store(RESULT)
    assert cache(manifest, formats=("html", "pdf")).find() is None
    assert cache(manifest, only=("pair",)).find() is None


@pytest.mark.parametrize("changed", ["logs/a.jsonl", "out/index.html", "experiments.yaml"])
def test_a_changed_input_or_output_is_built_again(manifest: Path, changed: str) -> None:
    cache(manifest).store(RESULT)
    path = manifest.parent / changed
    path.write_text(path.read_text("utf-8") + "\n", "utf-8")
    assert cache(manifest).find() is None


def test_a_touched_source_and_a_lost_output_are_built_again(manifest: Path) -> None:
    cache(manifest).store(RESULT)
    os.utime(manifest.parent / "logs" / "a.jsonl", ns=(1, 1))
    assert cache(manifest).find() is None
    cache(manifest).store(RESULT)
    (manifest.parent / "out" / "index.html").unlink()
    assert cache(manifest).find() is None


def test_a_damaged_record_and_a_cache_that_cannot_be_written_do_no_harm(
    manifest: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache(manifest).store(RESULT)
    cache(manifest).path.write_bytes(b'{"inputs": 1')
    assert cache(manifest).find() is None
    monkeypatch.setenv("XDG_CACHE_HOME", str(manifest))
    cache(manifest).store(RESULT)
    assert cache(manifest).find() is None

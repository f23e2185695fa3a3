from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
import yaml
from support.tiny_scenarios import SEPARATE

from rlreport.run.diagnostics import RlreportError
from rlreport.simulator import simulate


@pytest.fixture
def scenario_path(tmp_path: Path) -> Path:
    path = tmp_path / "tiny.yaml"
    path.write_text(yaml.safe_dump(SEPARATE | {"noise": {"trainer_cv": 0.05}}))
    return path


def test_a_log_and_the_truth_are_written(scenario_path: Path, tmp_path: Path) -> None:
    result = simulate(scenario_path, tmp_path / "new" / "folder")
    assert [path.name for path in result.files] == ["console.log.gz", "truth.json"]
    assert all(path.parent == tmp_path / "new" / "folder" for path in result.files)
    assert gzip.decompress(result.files[0].read_bytes()).startswith(b"# simulated by rlreport simulate, scenario tiny")
    assert json.loads(result.files[1].read_text()) == result.truth
    assert result.truth["throughput"]["steady_noise_free"] is not None


def test_the_same_scenario_gives_the_same_bytes(scenario_path: Path, tmp_path: Path) -> None:
    first, second = (simulate(scenario_path, tmp_path / name) for name in ("a", "b"))
    assert [path.read_bytes() for path in first.files] == [path.read_bytes() for path in second.files]


def test_another_seed_gives_another_run(scenario_path: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.yaml"
    other.write_text("extends: tiny.yaml\nseed: 1\n")
    assert simulate(scenario_path, tmp_path / "a").truth["wall_s"] != simulate(other, tmp_path / "b").truth["wall_s"]


def test_a_folder_that_cannot_be_made(scenario_path: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(RlreportError, match="RR605"):
        simulate(scenario_path, tmp_path / "file")

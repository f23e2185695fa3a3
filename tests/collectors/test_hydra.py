from __future__ import annotations

from pathlib import Path

import pytest

from rlreport.collectors.base import SourceOptions
from rlreport.collectors.hydra import HydraCollector
from rlreport.run.diagnostics import RlreportError
from rlreport.run.raw import SourceTable

CONFIG = """\
actor_rollout_ref:
  actor:
    optim:
      lr: 1e-6
      betas:
      - 0.9
      - 0.999
    ratio: 16:16
    strategy: fsdp
  ref:
    strategy: ${actor_rollout_ref.actor.strategy}
    optim: ${actor_rollout_ref.actor.optim}
algorithm:
  gamma: 1.0
data:
  train_files: ${oc.env:TRAIN_FILE}
  val_files:
  - ${oc.env:TEST_FILE}
  empty: {}
  max_length: ${oc.select:.missing,512}
"""


def folder(path: Path, **files: str) -> Path:
    here = path / ".hydra"
    here.mkdir()
    for name, text in files.items():
        (here / f"{name}.yaml").write_text(text)
    return here


def read(path: Path) -> SourceTable:
    return HydraCollector().read(path, SourceOptions("run/.hydra"))


def test_a_folder(tmp_path: Path) -> None:
    table = read(folder(tmp_path, config=CONFIG, overrides="[]\n", hydra="hydra:\n  job:\n    name: main_ppo\n"))
    assert {key: value.value for key, value in table.config.items()} == {
        "actor_rollout_ref.actor.optim.lr": 1e-06,
        "actor_rollout_ref.actor.optim.betas": [0.9, 0.999],
        "actor_rollout_ref.actor.ratio": "16:16",
        "actor_rollout_ref.actor.strategy": "fsdp",
        "actor_rollout_ref.ref.strategy": "fsdp",
        "actor_rollout_ref.ref.optim.lr": 1e-06,
        "actor_rollout_ref.ref.optim.betas": [0.9, 0.999],
        "algorithm.gamma": 1.0,
        "data.max_length": 512,
    }
    assert table.config["actor_rollout_ref.actor.optim.betas"].origin == "run/.hydra/config.yaml:5"
    assert table.config["actor_rollout_ref.ref.strategy"].origin == "run/.hydra/config.yaml:11"
    assert table.config["actor_rollout_ref.ref.optim.lr"].origin == "run/.hydra/config.yaml:12"
    assert [(notice.code, notice.message) for notice in table.notices] == [
        (
            "RR235",
            "2 configuration values cannot be resolved from the configuration alone and left out: "
            "data.train_files, data.val_files",
        )
    ]
    assert table.facts.hints == {"job:main_ppo"}
    assert table.rows == []


def test_a_file_alone(tmp_path: Path) -> None:
    path = tmp_path / "config.yaml"
    path.write_text("a: 1\n")
    table = HydraCollector().read(path, SourceOptions("config.yaml"))
    assert table.config["a"].origin == "config.yaml:1"


@pytest.mark.parametrize(("text", "line"), [("a: [1\nb: 2\n", 2), ("- 1\n- 2\n", None), ("", None), ("a: 1\n\tb: 2\n", 2)])
def test_what_is_no_configuration(tmp_path: Path, text: str, line: int | None) -> None:
    with pytest.raises(RlreportError) as caught:
        read(folder(tmp_path, config=text))
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.code == "RR209"
    assert diagnostic.location is not None
    assert diagnostic.location.path == "run/.hydra/config.yaml"
    assert diagnostic.location.line == line


def test_a_hydra_file_that_cannot_be_read_is_a_notice(tmp_path: Path) -> None:
    table = read(folder(tmp_path, config="a: 1\n", hydra="hydra: [\n"))
    assert [notice.code for notice in table.notices] == ["RR239"]


def test_sniffing(tmp_path: Path) -> None:
    collector = HydraCollector()
    here = folder(tmp_path, config=CONFIG)
    assert collector.sniff(here, b"")
    assert collector.sniff(here / "config.yaml", CONFIG.encode())
    copied = tmp_path / "copied"
    copied.mkdir()
    (copied / "config.yaml").write_text(CONFIG)
    assert not collector.sniff(copied, b"")
    (copied / "overrides.yaml").write_text("[]")
    assert collector.sniff(copied, b"")
    (copied / "console.log").write_text("x")
    assert not collector.sniff(copied, b"")
    assert not collector.sniff(tmp_path, b"")
    assert not collector.sniff(tmp_path / "config.yaml", b"version: 1\nruns:\n  a: 1\n")
    tracked = (
        b"_wandb:\n    value: 1\nactor_rollout_ref:\n    value:\n        actor: 1\nalgorithm:\n    value:\n        x: 1\n"
    )
    assert not collector.sniff(tmp_path / "config.yaml", tracked)

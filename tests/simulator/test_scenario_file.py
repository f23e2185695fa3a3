from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from support.tiny_scenarios import SEPARATE

from rlreport.run.diagnostics import RlreportError
from rlreport.simulator import load_scenario


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "tiny.yaml").write_text(yaml.safe_dump(SEPARATE, sort_keys=False))
    return tmp_path


def messages(path: Path) -> list[str]:
    with pytest.raises(RlreportError) as caught:
        load_scenario(path)
    assert caught.value.exit_code == 2
    return [str(diagnostic) for diagnostic in caught.value.diagnostics]


def test_a_scenario_extends_another_key_by_key(folder: Path) -> None:
    (folder / "wide.yaml").write_text("extends: tiny.yaml\nname: wide\ncluster:\n  rollout_nodes: 7\n")
    scenario = load_scenario(folder / "wide.yaml")
    assert (scenario.name, scenario.cluster.rollout_nodes, scenario.cluster.trainer_nodes) == ("wide", 7, 1)


def test_scalars_are_those_of_yaml_1_2(folder: Path) -> None:
    text = "extends: tiny.yaml\nconfig: {a.b: 1e-6, a.c: 16:16, a.d: on, a.e: true, a.f: '3', a.g: ~, a.h: 1.5}\n"
    (folder / "typed.yaml").write_text(text)
    assert load_scenario(folder / "typed.yaml").config == {
        "a.b": 1e-6,
        "a.c": "16:16",
        "a.d": "on",
        "a.e": True,
        "a.f": "3",
        "a.g": None,
        "a.h": 1.5,
    }


def test_every_mistake_is_told_with_its_place(folder: Path) -> None:
    bad = folder / "bad.yaml"
    bad.write_text("extends: tiny.yaml\ncluster:\n  rollout_nodes: many\n  rolout_nodes: 4\nsteps: -1\n")
    found = messages(bad)
    assert len(found) == 3
    assert found[0].startswith(f"{bad}:3:18: error[RR603]: 'cluster.rollout_nodes'")
    assert found[1].startswith(f"{bad}:4:17: error[RR603]: unknown key 'cluster.rolout_nodes'")
    assert found[2].startswith(f"{bad}:5:8: error[RR603]: 'steps'")


def test_a_mistake_in_the_base_is_told_there(folder: Path) -> None:
    (folder / "base.yaml").write_text((folder / "tiny.yaml").read_text().replace("steps: 3", "steps: three"))
    (folder / "child.yaml").write_text("extends: base.yaml\nname: child\n")
    line = (folder / "base.yaml").read_text().split("\n").index("steps: three") + 1
    assert messages(folder / "child.yaml")[0].startswith(f"{folder / 'base.yaml'}:{line}:8: error[RR603]")


def test_a_missing_parameter_is_told_at_its_section(folder: Path) -> None:
    (folder / "tiny.yaml").write_text((folder / "tiny.yaml").read_text().replace("  decode_tokens_per_s: 10\n", ""))
    assert "error[RR603]: 'rollout.decode_tokens_per_s' is missing" in messages(folder / "tiny.yaml")[0]


def test_a_contradiction_is_told_without_python_words(folder: Path) -> None:
    (folder / "odd.yaml").write_text("extends: tiny.yaml\nmode: sync\n")
    assert messages(folder / "odd.yaml")[0].split("\n")[0].endswith("cluster.rollout_nodes must be 0")


@pytest.mark.parametrize(
    ("text", "code", "part"),
    [
        ("name: a\nname: b\n", "RR603", ":2:1: error[RR603]: key 'name' is given twice"),
        ("name: [a\n", "RR602", "not YAML"),
        ("- 1\n", "RR602", "mapping"),
        ("extends: self.yaml\n", "RR604", "circle"),
        ("extends: nowhere.yaml\n", "RR601", "cannot read"),
    ],
)
def test_a_file_that_is_no_scenario(folder: Path, text: str, code: str, part: str) -> None:
    (folder / "self.yaml").write_text(text)
    found = messages(folder / "self.yaml")
    assert len(found) == 1
    assert f"error[{code}]" in found[0]
    assert part in found[0]


def test_a_missing_file(tmp_path: Path) -> None:
    assert "RR601" in messages(tmp_path / "none.yaml")[0]

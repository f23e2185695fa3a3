"""What a scenario's `outputs` write, and that it is the same each time."""

from __future__ import annotations

import gzip
import re
from pathlib import Path
from typing import get_args

import pytest
import yaml
from support.mode_scenarios import MODES, mode_scenario
from support.tiny_scenarios import SEPARATE

from rlreport.simulator import simulate
from rlreport.simulator.defects import DEFECTS, DefectName
from rlreport.simulator.output import WRITERS, output_files
from rlreport.simulator.output_names import OUTPUT_MEANINGS, OutputName
from rlreport.simulator.restart import launches_of

ALL: tuple[OutputName, ...] = get_args(OutputName)
PAGE = Path(__file__).resolve().parents[2] / "docs" / "simulator.md"


@pytest.mark.parametrize(
    ("output", "names"),
    [
        ("console", [r"console\.log\.gz"]),
        ("jsonl", [r"metrics\.jsonl\.gz"]),
        ("tensorboard", [r"tensorboard/events\.out\.tfevents\.1788249605\.simulated"]),
        ("rl-insight", [r"rl-insight/summary_event\.json\.gz"]),
        ("chrome-trace", [r"chrome-trace\.json\.gz"]),
        ("rollouts", [r"rollouts/(\d+|left-over)\.jsonl\.gz"]),
    ],
)
def test_an_output_writes_its_files_and_no_others(output: OutputName, names: list[str]) -> None:
    scenario = mode_scenario("separate_async", outputs=(output,))
    files = output_files(scenario, launches_of(scenario))
    assert files
    assert all(any(re.fullmatch(name, path) for name in names) for path in files)


def test_a_resumed_run_has_an_event_file_for_each_launch() -> None:
    scenario = mode_scenario(
        "separate_async", outputs=("tensorboard",), defects=("resumed",), schedule__validate_every_steps=5
    )
    launches = launches_of(scenario)
    second = 1_788_249_605 + int(launches[1].launched_s)
    names = sorted(output_files(scenario, launches))
    assert names[0] == "tensorboard/events.out.tfevents.1788249605.simulated"
    assert abs(int(re.search(r"tfevents\.(\d+)", names[1])[1]) - second) <= 1  # type: ignore[index]
    assert len(names) == 2


@pytest.mark.parametrize("mode", sorted(MODES))
def test_the_same_scenario_gives_the_same_bytes_in_every_format(mode: str) -> None:
    scenario = mode_scenario(
        mode, outputs=ALL, defects=("glued", "resumed", "killed"), schedule__validate_every_steps=5, seed=3
    )
    assert output_files(scenario, launches_of(scenario)) == output_files(scenario, launches_of(scenario))


def test_compressed_files_hold_neither_a_time_nor_a_name() -> None:
    scenario = mode_scenario("sync", outputs=ALL)
    files = output_files(scenario, launches_of(scenario))
    packed = {name: data for name, data in files.items() if name.endswith(".gz")}
    assert [name for name in files if name not in packed] == ["tensorboard/events.out.tfevents.1788249605.simulated"]
    for content in packed.values():
        assert content[:4] == b"\x1f\x8b\x08\x00"  # gzip, deflate, no flags: so no name
        assert content[4:8] == b"\0\0\0\0"
        assert gzip.decompress(content)


def test_folders_are_made_and_the_files_are_told(tmp_path: Path) -> None:
    scenario = tmp_path / "tiny.yaml"
    scenario.write_text(yaml.safe_dump(SEPARATE | {"outputs": ["jsonl", "rl-insight"]}))
    result = simulate(scenario, tmp_path / "out")
    assert [str(path.relative_to(tmp_path / "out")) for path in result.files] == [
        "metrics.jsonl.gz",
        "rl-insight/summary_event.json.gz",
        "truth.json",
    ]
    assert all(path.is_file() for path in result.files)


def test_the_truth_of_a_resumed_run_is_that_of_both_launches(tmp_path: Path) -> None:
    scenario = tmp_path / "tiny.yaml"
    base = SEPARATE | {"schedule": {"startup_s": 5, "checkpoint_every_steps": 2, "checkpoint_s": 1}, "steps": 9}
    scenario.write_text(yaml.safe_dump(base))
    alone = simulate(scenario, tmp_path / "alone").truth
    scenario.write_text(yaml.safe_dump(base | {"defects": ["resumed"]}))
    resumed = simulate(scenario, tmp_path / "resumed").truth
    assert resumed["steps"]["count"] == alone["steps"]["count"] == 9
    assert resumed["throughput"]["all"]["tokens"] == alone["throughput"]["all"]["tokens"]  # all responses have one length
    assert resumed["wall_s"] > alone["wall_s"] + 240
    assert resumed["tokens"] == {"trained": alone["tokens"]["trained"]}
    first, second = resumed["launches"]
    assert (first["launched_s"], first["resumed_from"], first["first_step"]) == (0.0, None, 1)
    assert second["launched_s"] == pytest.approx(first["stopped_s"] + 240)
    assert (second["first_step"], second["last_step"], second["stopped_s"]) == (second["resumed_from"] + 1, 9, None)
    assert second["resumed_from"] % 2 == 0
    assert second["resumed_from"] < first["last_step"]
    assert "launches" not in alone


def test_the_truth_of_a_killed_run_ends_with_its_last_whole_step(tmp_path: Path) -> None:
    scenario = tmp_path / "tiny.yaml"
    scenario.write_text(yaml.safe_dump(SEPARATE | {"steps": 20, "defects": ["killed"]}))
    truth = simulate(scenario, tmp_path / "out").truth
    text = gzip.decompress((tmp_path / "out" / "console.log.gz").read_bytes()).decode()
    last = max(int(step) for step in re.findall(r"(?<![\w/])step:(\d+) - ", text)) - 1  # the last line is not whole
    (launch,) = truth["launches"]
    assert launch["last_step"] == last
    assert truth["throughput"]["all"]["tokens"] == 220 * last
    # Start-up 5 s; a step takes 37 s: the run dies at the end of the step after the last whole one.
    assert truth["wall_s"] == pytest.approx(5 + 37 * (last + 1), rel=1e-6)
    assert truth["wall_s"] == launch["stopped_s"]


def test_every_output_has_a_writer_and_a_row_in_the_documentation() -> None:
    assert list(WRITERS) == list(OUTPUT_MEANINGS) == list(ALL)
    text = PAGE.read_text()
    for name, meaning in OUTPUT_MEANINGS.items():
        assert f"| `{name}` | {meaning} |" in text


def test_every_defect_of_a_run_is_described_too() -> None:
    names: tuple[DefectName, ...] = get_args(DefectName)
    assert set(names) == {*DEFECTS, "resumed"}
    assert all(f"| `{name}` |" in PAGE.read_text() for name in names)

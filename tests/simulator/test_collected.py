"""The logs survive the project's own collector: what is written is what is read, for every mode and defect."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.tiny_scenarios import noisy

from rlreport.collectors.base import SourceOptions
from rlreport.collectors.console import ConsoleCollector
from rlreport.collectors.files import read_head
from rlreport.collectors.flatten import dotted, flatten
from rlreport.run.raw import SourceTable
from rlreport.simulator.defects import DefectName
from rlreport.simulator.output import compressed, log_text
from rlreport.simulator.pipeline import run_pipeline
from rlreport.simulator.quality import LearningCurves
from rlreport.simulator.scenario import Scenario
from rlreport.simulator.verl_config import verl_config
from rlreport.simulator.verl_metrics import Metrics, step_metrics, validation_metrics

STEPS = 40
SEPARATE = noisy(steps=STEPS)
SYNC = noisy(steps=STEPS, mode="sync", cluster__rollout_nodes=0, cluster__trainer_nodes=2)
HARMLESS: tuple[DefectName, ...] = ("glued", "split", "np-scalars")


def collected(scenario: Scenario, folder: Path) -> SourceTable:
    path = folder / "console.log.gz"
    path.write_bytes(compressed(log_text(run_pipeline(scenario))))
    assert ConsoleCollector().sniff(path, read_head(path))
    return ConsoleCollector().read(path, SourceOptions("console.log.gz"))


def written(scenario: Scenario) -> dict[int, Metrics]:
    """What each step's line holds, from the simulation itself."""
    curves = LearningCurves(scenario)
    lines = {0: validation_metrics(scenario, curves.accuracy(0))}
    for record in run_pipeline(scenario).steps:
        accuracy = None if record.testing_s is None else curves.accuracy(record.step)
        lines[record.step] = step_metrics(scenario, record, curves, accuracy)
    return lines


def with_defects(scenario: Scenario, *names: DefectName) -> Scenario:
    return scenario.model_copy(update={"defects": names})


@pytest.mark.parametrize("scenario", [SEPARATE, SYNC], ids=["separate_async", "sync"])
@pytest.mark.parametrize("defects", [(), *((name,) for name in HARMLESS), HARMLESS], ids="+".join)
def test_nothing_is_lost(scenario: Scenario, defects: tuple[DefectName, ...], tmp_path: Path) -> None:
    table = collected(with_defects(scenario, *defects), tmp_path)
    assert {row.step: row.values for row in table.rows} == written(scenario)
    assert len(table.rows) == STEPS + 1
    assert not any(row.truncated for row in table.rows)
    assert table.facts.progress == (STEPS, STEPS)
    assert table.facts.final_validation
    assert table.facts.first_error is None
    assert table.facts.started_at is not None


@pytest.mark.parametrize("defects", [(), ("split",), ("glued", "split")], ids="+".join)
def test_the_configuration_is_read_whole(defects: tuple[DefectName, ...], tmp_path: Path) -> None:
    table = collected(with_defects(SEPARATE, *defects), tmp_path)
    expected = {dotted(path): value for path, value in flatten(verl_config(SEPARATE))}
    assert {key: found.value for key, found in table.config.items()} == expected


def test_the_bar_gives_the_wall_clock_of_every_step(tmp_path: Path) -> None:
    simulation = run_pipeline(SEPARATE)
    elapsed = collected(SEPARATE, tmp_path).facts.elapsed_s
    for record in simulation.steps:
        assert elapsed[record.step] == int(record.logged_s - simulation.training_begins_s)


def test_a_log_cut_as_wandb_cuts_it_loses_the_times_of_validations_only(tmp_path: Path) -> None:
    table = collected(with_defects(SEPARATE, "cut"), tmp_path)
    lines = written(SEPARATE)
    assert len(table.rows) == STEPS + 1
    for row in table.rows:
        if row.truncated:
            assert "timing_s/testing" in lines[row.step]
            assert "timing_s/step" not in row.values
        else:
            assert row.values == lines[row.step]
    assert sum(row.truncated for row in table.rows) == STEPS // 4


def test_a_killed_run_keeps_every_whole_step(tmp_path: Path) -> None:
    table = collected(with_defects(SEPARATE, "killed"), tmp_path)
    lines = written(SEPARATE)
    *whole, last = table.rows
    assert all(row.values == lines[row.step] for row in whole)
    assert last.truncated
    assert last.values.items() <= lines[last.step].items()
    assert not table.facts.final_validation

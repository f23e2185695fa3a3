from __future__ import annotations

import ast
import re

import pytest
from support.tiny_scenarios import noisy, tiny, tiny_sync

from rlreport.simulator.pipeline import run_pipeline
from rlreport.simulator.scenario import Scenario
from rlreport.simulator.verl_config import verl_config
from rlreport.simulator.verl_console import console_log

PREFIX = "\x1b[36m(TaskRunnerV1 pid=41873)\x1b[0m "


def bodies(scenario: Scenario) -> list[str]:
    return [line.removeprefix(PREFIX) for line in console_log(run_pipeline(scenario)).split("\n")]


def test_the_first_line_says_that_the_log_is_simulated() -> None:
    lines = bodies(tiny(seed=7))
    assert lines[0] == "# simulated by rlreport simulate, scenario tiny, seed 7"
    assert any("'experiment_name': 'tiny-simulated'" in line for line in lines)


def test_every_line_of_the_actor_has_rays_prefix() -> None:
    log = console_log(run_pipeline(noisy()))
    assert all(line.startswith(PREFIX) for line in log.split("\n")[3:-1])
    assert log.endswith("\n")


@pytest.mark.parametrize("scenario", [tiny(), tiny_sync(), noisy(config={"trainer.nnodes": 9, "new.key": "x"})])
def test_the_configuration_reads_back_as_python(scenario: Scenario) -> None:
    lines = bodies(scenario)
    start = next(index for index, line in enumerate(lines) if line.startswith("{'actor_rollout_ref'"))
    end = next(index for index in range(start, len(lines)) if lines[index].startswith("INFO:"))
    read = ast.literal_eval("\n".join(lines[start:end]))
    assert read == verl_config(scenario)
    assert read["trainer"]["v1"]["trainer_mode"] == scenario.mode


def test_the_configuration_follows_the_scenario() -> None:
    config = verl_config(noisy(sync__warmup_batches=1.5))
    rollout = config["actor_rollout_ref"]["rollout"]
    assert config["trainer"]["nnodes"] * config["trainer"]["n_gpus_per_node"] == 2
    assert rollout["nnodes"] * rollout["n_gpus_per_node"] == 4
    sync = config["trainer"]["v1"]["separate_async"]
    assert (
        config["data"]["train_batch_size"]
        == sync["parameter_sync_step"] * config["actor_rollout_ref"]["actor"]["ppo_mini_batch_size"]
    )
    assert sync["num_warmup_batches"] == 1.5
    assert rollout["checkpoint_engine"]["backend"] != "naive"  # verl asserts this in separate_async
    assert config["trainer"]["test_freq"] == 4
    assert verl_config(tiny())["trainer"]["test_freq"] == -1


def test_the_hybrid_switch_appears_with_the_version_that_brought_it() -> None:
    for version, known in (("2026-08-20", False), ("2026-08-21", True)):
        tree = verl_config(tiny(framework__version=version))["trainer"]["v1"]["separate_async"]
        assert ("hybrid_rollout" in tree) is known


def test_one_metric_line_a_step_and_one_before_training() -> None:
    lines = [line for line in bodies(noisy()) if line.startswith("step:")]
    assert [int(re.match(r"step:(\d+) - ", line)[1]) for line in lines] == list(range(13))  # type: ignore[index]
    assert all(part.count(":") == 1 for line in lines for part in line.split(" - ")[1:])
    assert lines[0].split(" - ")[1].startswith("val-core/")


def test_the_progress_bar_runs_from_training_to_the_last_step_with_validation() -> None:
    scenario = tiny(schedule__validate_every_steps=3, schedule__validation_s=8)
    bars = [line for line in bodies(scenario) if "Training Progress" in line]
    assert bars[0].startswith("\rTraining Progress:  33%|███▎      | 1/3 [00:37<01:14, 37.00s/it]")
    # The last state is printed twice on one line; its time holds the closing validation: 3 x 37 + 8 s.
    assert bars[-1].count("3/3 [01:59<00:00, ") == 2


def test_validations_are_announced_in_pprints_quotes() -> None:
    text = "\n".join(bodies(noisy()))
    assert "(\"Initial validation metrics: {'val-core/" in text
    assert "(\"Final validation metrics: {'val-core/" in text
    assert "'Final validation metrics: None'" in "\n".join(bodies(tiny()))


def test_polls_are_dated_from_the_start_of_the_run() -> None:
    scenario = tiny(rollout__poll_interval_s=4, framework__started_at="2026-09-01T23:59:58.500")
    polls = [line for line in bodies(scenario) if "pending: " in line]
    assert polls[0] == "INFO:2026-09-02 00:00:03,500:pending: 0, running: 2, finished: 0, failure: 0"
    assert polls[2] == "INFO:2026-09-02 00:00:11,500:pending: 0, running: 2, finished: 0, failure: 0"


def test_a_run_starts_from_scratch() -> None:
    assert "Training from scratch" in bodies(tiny())

from __future__ import annotations

import ast
import re
from dataclasses import replace
from itertools import pairwise

import pytest
from support.mode_scenarios import mode_scenario

from rlreport.simulator.async_events import PauseFacts
from rlreport.simulator.fully_async_console import fully_async_lines
from rlreport.simulator.fully_async_metrics import async_facts
from rlreport.simulator.fully_async_statistics import SampleCounts, statistics_at
from rlreport.simulator.log_calls import run_log
from rlreport.simulator.pipeline import run_pipeline
from rlreport.simulator.restart import Launch
from rlreport.simulator.verl_config import verl_config
from rlreport.simulator.verl_console import console_log

SIMULATION = run_pipeline(mode_scenario("fully_async"))
LARGER = run_pipeline(
    mode_scenario(
        "fully_async",
        steps=2,
        workload__prompts_per_step=256,
        workload__samples_per_prompt=1,
        trainer__mini_batch_prompts=128,
        fully_async__trigger_parameter_sync_step=2,
        fully_async__concurrent_samples_per_replica=8,
    )
)
EPOCH_S = 1_788_249_600  # 2026-09-01T08:00:00 UTC


def lines_of(simulation: object = SIMULATION, actor: str | None = None) -> list[str]:
    """The bodies of the log's lines, of one actor or of all."""
    lines = [re.sub(r"\x1b\[\d+m", "", line) for line in console_log(simulation).split("\n")]  # type: ignore[arg-type]
    named = [re.fullmatch(r"\((\w+) pid=\d+\) (.*)", line) for line in lines]
    return [match[2] for match in named if match and actor in (None, match[1])]


@pytest.mark.parametrize(
    ("actor", "pattern", "count"),
    [
        ("FullyAsyncTrainer", r"\[FullyAsyncTrainer\] Requesting 4 samples from queue", 48),
        (
            "FullyAsyncTrainer",
            r"\[FullyAsyncTrainer\] Loop collection completed: 4/4 samples, "
            r"total wait time: \d+\.\d\d seconds\. mq_len: \d+",
            48,
        ),
        (
            "FullyAsyncTrainer",
            r"\[FullyAsyncTrainer\] global_steps: \d+ local_trigger_step: [1-4] trigger_parameter_sync_step: 4 "
            r"\d\d:\d\d:\d\d\.\d{3}",
            48,
        ),
        (
            "FullyAsyncTrainer",
            r"\[FullyAsyncTrainer\] _fit_update_weights, timing_s/param_sync: \d+\.\d{4} seconds "
            r"self\.current_param_version: \d+",
            13,
        ),
        (
            "FullyAsyncRollouter",
            r"\[FullyAsyncRollouter\]\[Public\]\[reset_staleness\] reset staleness_samples to: \d+ idle_ratio: \d\.\d{4} "
            r"step_generated_samples\(this_step\): \d+ rollout_resource_utilization: \d\.\d{4} "
            r"recent_history\(last 10 steps\): \[.*\]",
            13,
        ),
        (
            "FullyAsyncRollouter",
            r"\[FullyAsyncRollouter\]\[RolloutResourceUtilization\] raw active_count_history "
            r"\(timestamp, active_count, max_concurrent\): \[\(.*\)\]",
            13,
        ),
        (
            "FullyAsyncRollouter",
            r"\[FullyAsyncRollouter\] required_samples : 4 max_required_samples: 24 max_queue_size: 24 "
            r"total_train_steps: 12 total_rollout_steps: 192 max_concurrent_samples: 8 ",
            1,
        ),
        ("FullyAsyncTrainer", r"aggregated metrics done\. cost \d\.\d{4} seconds\.", 12),
        ("FullyAsyncTrainer", r"step:\d+ - .*", 13 + 4 + 12),
        ("FullyAsyncTrainer", r"\rTraining Progress: .*", 12),
        ("MessageQueue", r"MessageQueue stats: produced=\d*00, queue_size=\d+", 1),
        ("FullyAsyncTaskRunner", r"\[ASYNC MAIN\] .*", None),
    ],
)
def test_the_forms_of_the_lines(actor: str, pattern: str, count: int | None) -> None:
    found = [line for line in lines_of(actor=actor) if re.fullmatch(pattern, line)]
    assert len(found) == count if count is not None else found


def test_the_quota_pauses_the_rollouter_and_a_sync_resumes_it() -> None:
    pauses = async_facts(SIMULATION).pauses
    lines = lines_of(actor="FullyAsyncRollouter")
    due = "[FullyAsyncRollouter][ShouldPause] due to staleness_samples 24 >= max_required_samples 24 "
    assert lines.count(due) == len(pauses) > 5
    waiting = "[FullyAsyncRollouter][Processor] Received pause signal, waiting for remaining tasks to return..."
    assert lines.count(waiting) == len(pauses)
    interrupted = [line for line in lines if "Drain interrupted by resume signal" in line]
    assert len(interrupted) == sum(pause.resumed_s is not None and pause.left > 0 for pause in pauses)


def test_a_full_queue_pauses_too() -> None:
    facts = async_facts(SIMULATION)
    full = replace(SIMULATION, async_facts=replace(facts, pauses=(PauseFacts(50.0, "queue_full", 24, 24, None, 0),)))
    texts = [line.text for line in fully_async_lines(Launch(full, run_log(full)), verl_config(full.scenario))]
    assert "[FullyAsyncRollouter][ShouldPause]  due to full queue: size=24, max=24" in texts


def test_the_history_is_absolute_and_without_gaps_over_the_whole_run() -> None:
    versions = async_facts(SIMULATION).versions
    histories = [
        ast.literal_eval(line.split("max_concurrent): ")[1])
        for line in lines_of(actor="FullyAsyncRollouter")
        if "raw active_count_history" in line
    ]
    for version, history in zip(versions, histories, strict=True):
        assert history[-1][0] == pytest.approx(EPOCH_S + version.at_s, abs=6e-4)
        assert [at for at, _, _ in history] == sorted(at for at, _, _ in history)
        assert all(0 <= active <= most == 8 for _, active, most in history)
    for before, after in pairwise(histories):
        assert after[0] == before[-1]
        assert all(abs(b[1] - a[1]) <= 1 for a, b in pairwise(after))  # one sample starts or ends


def test_samples_are_told_in_steps_of_64_as_they_come() -> None:
    facts = async_facts(LARGER)
    told = [line for line in lines_of(LARGER, "FullyAsyncTrainer") if "sample collected" in line]
    assert len(told) == 2 * len(LARGER.steps)
    assert [re.search(r"collected (\d+)/128", line)[1] for line in told] == ["64", "128"] * len(LARGER.steps)  # type: ignore[index]
    last = [int(line.rsplit(" ", 1)[1]) for line in told[1::2]]
    waited = [record.ready[0] < 128 for record in LARGER.steps]
    # Where the Trainer waited, the queue was empty when the last sample came.
    assert all(left == 0 for left, wait in zip(last, waited, strict=True) if wait)
    assert any(waited)
    assert [left for left, wait in zip(last, waited, strict=True) if not wait] == [
        record.ready[0] - 128 for record in LARGER.steps if record.ready[0] >= 128
    ]
    assert len(facts.queue) == 512
    assert [line for line in lines_of(LARGER, "MessageQueue") if "stats" in line][-1].startswith(
        "MessageQueue stats: produced=500, queue_size="
    )


@pytest.mark.parametrize("simulation", [SIMULATION, LARGER], ids=["small", "larger"])
def test_counts_at_a_moment_agree_with_what_the_model_counted(simulation: object) -> None:
    facts = async_facts(simulation)  # type: ignore[arg-type]
    counts = SampleCounts(simulation, facts)  # type: ignore[arg-type]
    for seen in facts.rounds:
        assert counts.queued(seen.collected_s) == seen.queue_after
    for version in facts.versions:
        assert version.active[-1][1] + counts.queued(version.at_s - 1e-6) == version.staleness_samples
        assert counts.produced(version.at_s) == sum(v.generated for v in facts.versions if v.version <= version.version)
    for at_s, produced, queued in facts.queue:
        assert counts.produced(at_s) == produced
        assert abs(counts.queued(at_s) - queued) <= 1  # a waiting Trainer takes the sample at once
    assert counts.taken(0.0) == counts.stale(0.0) == counts.active(0.0) == 0


def test_the_statistics_come_every_minute_over_several_lines() -> None:
    lines = lines_of(actor="FullyAsyncRollouter")
    starts = [index for index, line in enumerate(lines) if "[MonitorLoop][Statistics]" in line]
    minutes = (SIMULATION.end_s - SIMULATION.training_begins_s) / 60
    assert len(starts) == int(minutes)
    text = "\n".join(lines[starts[2] : starts[2] + 11]).split("[Statistics] ")[1]
    counts = SampleCounts(SIMULATION, async_facts(SIMULATION))
    at_s = SIMULATION.training_begins_s + 180.0
    assert ast.literal_eval(text) == statistics_at(SIMULATION.scenario, counts, at_s)
    assert ast.literal_eval(text)["count/total_generated_samples"] == counts.produced(at_s)


def test_a_validation_on_the_trainers_devices_is_told_with_its_switches() -> None:
    simulation = run_pipeline(mode_scenario("fully_async", hybrid__validates=True, hybrid__to_rollout_s=3))
    lines = lines_of(simulation, "FullyAsyncTrainer")
    begun = "[FullyAsyncTrainer] _trainer_side_validate === START ==="
    assert lines.count(begun) == len(simulation.validations) == 4
    totals = [float(match[1]) for line in lines if (match := re.search(r"=== END === \(total: (\d+\.\d\d)s\)$", line))]
    assert totals == [pytest.approx(v.end_s - v.begin_s, abs=0.006) for v in simulation.validations]
    logged = [
        call.values["rollouter/validate_time"]
        for call in run_log(simulation).calls
        if "val-aux/num_turns/min" in call.values
    ]
    switched = [validation.switch_s for validation in simulation.validations]
    assert all(2 < seconds < 4 for seconds in switched)
    assert [total - seconds for total, seconds in zip(totals, switched, strict=True)] == pytest.approx(logged, abs=0.006)
    assert not any("_trainer_side_validate" in line for line in lines_of())


def test_the_configuration_reads_back_and_has_the_knobs_of_the_mode() -> None:
    lines = lines_of(actor="FullyAsyncTaskRunner")
    start = next(index for index, line in enumerate(lines) if line.startswith("{'actor_rollout_ref'"))
    end = next(index for index in range(start, len(lines)) if lines[index].startswith("[ASYNC MAIN]"))
    assert ast.literal_eval("\n".join(lines[start:end])) == verl_config(SIMULATION.scenario)

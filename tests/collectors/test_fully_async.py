from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path

import pytest
from support.mode_scenarios import mode_scenario

from rlreport.collectors.fully_async import KEYS, FullyAsyncLines
from rlreport.collectors.merge import merge_sources
from rlreport.collectors.read import read_sources
from rlreport.run.raw import RawRun
from rlreport.simulator.defects import DefectName
from rlreport.simulator.fully_async_metrics import async_facts
from rlreport.simulator.output import output_files
from rlreport.simulator.restart import Launch, launches_of

PREFIX = "console/"
RESET_KEYS = ("staleness_samples", "rollout_idle_ratio", "generated_samples", "rollout_resource_utilization")


def sync(version: int, seconds: float = 7.0) -> str:
    return (
        f"[FullyAsyncTrainer] _fit_update_weights, timing_s/param_sync: {seconds:.4f} seconds "
        f"self.current_param_version: {version}"
    )


def reset(staleness: int) -> str:
    """The numbers of one version, all told by the count of stale samples."""
    return (
        f"[FullyAsyncRollouter][Public][reset_staleness] reset staleness_samples to: {staleness} "
        f"idle_ratio: {staleness / 1000:.4f} step_generated_samples(this_step): {5 * staleness} "
        f"rollout_resource_utilization: {staleness / 500:.4f} recent_history(last 10 steps): []"
    )


def history(percent: int, tag: str = "[FullyAsyncRollouter][RolloutResourceUtilization]") -> str:
    return (
        f"{tag} raw active_count_history (timestamp, active_count, max_concurrent): "
        f"[(100.5, {percent}, 100), (110.5, 0, 100)]"
    )


def round_of(step: int) -> str:
    return f"[FullyAsyncTrainer] global_steps: {step} local_trigger_step: 1 trigger_parameter_sync_step: 1 10:11:12.123"


def waited(seconds: float, queue: int = 3) -> str:
    return (
        "[FullyAsyncTrainer] Loop collection completed: 128/128 samples, "
        f"total wait time: {seconds:.2f} seconds. mq_len: {queue}"
    )


def numbers(staleness: int) -> dict[str, float]:
    values = (staleness, staleness / 1000, 5 * staleness, staleness / 500)
    return {PREFIX + key: pytest.approx(value) for key, value in zip(RESET_KEYS, values, strict=True)}


def read(*texts: str, attempts: Sequence[int] | None = None) -> FullyAsyncLines:
    lines = FullyAsyncLines()
    for text, attempt in zip(texts, attempts or [0] * len(texts), strict=True):
        lines.read(text, attempt)
    return lines


def test_the_rollouters_lines_before_a_sync_line_are_that_versions() -> None:
    lines = read(
        *(history(0), reset(1), sync(0, 9.0)),
        *(waited(10.0, 9), round_of(1), waited(2.34), round_of(2), history(80), reset(96), sync(1, 7.31)),
        *(waited(1.0), round_of(3), history(70), reset(64), sync(2, 6.0)),
    )
    occupancy = PREFIX + "rollout_occupancy"
    assert lines.values == {
        (0, 0): {"console/param_sync_s": 9.0, occupancy: 0.0, **numbers(1)},
        (0, 1): {
            "console/param_sync_s": 7.31,
            "console/queue_wait_s": pytest.approx(12.34),
            "console/queue_samples": 3.0,
            occupancy: 0.8,
            **numbers(96),
        },
        (0, 2): {
            "console/param_sync_s": 6.0,
            "console/queue_wait_s": 1.0,
            "console/queue_samples": 3.0,
            occupancy: 0.7,
            **numbers(64),
        },
    }
    assert set(lines.values[0, 1]) == set(KEYS)


def test_in_older_code_they_follow_the_sync_line() -> None:
    lines = read(*(line for v in range(4) for line in (round_of(v), sync(v), history(10 * v), reset(v))))
    for version in range(4):
        found = lines.values[0, version]
        assert found == {PREFIX + "param_sync_s": 7.0, PREFIX + "rollout_occupancy": version / 10, **numbers(version)}


@pytest.mark.parametrize("seed", range(20))
def test_two_actors_lines_turned_around_at_a_sync(seed: int) -> None:
    random_ = random.Random(seed)
    texts = []
    for version in range(12):
        lines = [history(version), reset(version)]
        lines.insert(random_.randrange(3), sync(version))
        texts += [waited(0.5), round_of(version), *lines]
    values = read(*texts).values
    assert [values[0, version][PREFIX + "staleness_samples"] for version in range(12)] == list(range(12))
    assert [values[0, version][PREFIX + "rollout_occupancy"] for version in range(12)] == [v / 100 for v in range(12)]


@pytest.mark.parametrize("lost", ["history", "reset", "sync"])
@pytest.mark.parametrize("late", [False, True], ids=["before", "after"])
def test_a_lost_line_shifts_no_other_version(lost: str, late: bool) -> None:
    texts = []
    for version in range(6):
        own = {"history": history(version), "reset": reset(version)}
        parts = {"sync": sync(version), **own} if late else {**own, "sync": sync(version)}
        texts += [round_of(version), *(text for name, text in parts.items() if version != 3 or name != lost)]
    values = read(*texts).values
    for version in (0, 1, 2, 4, 5):
        assert values[0, version][PREFIX + "staleness_samples"] == version
        assert values[0, version][PREFIX + "rollout_occupancy"] == version / 100
    if lost == "reset":
        assert PREFIX + "staleness_samples" not in values[0, 3]
    if lost == "history":
        assert PREFIX + "rollout_occupancy" not in values[0, 3]


def test_without_lines_of_rounds_the_order_decides() -> None:
    lines = read(*(line for version in range(4) for line in (history(version), reset(version), sync(version))))
    assert [lines.values[0, version][PREFIX + "staleness_samples"] for version in range(4)] == [0, 1, 2, 3]


def test_the_first_numbers_of_a_version_stay() -> None:
    """After the last version its weights are synced once more, when a validation is not due."""
    first = (waited(3.0), round_of(1), history(50), reset(40), sync(7))
    lines = read(*first, history(1), reset(2), sync(7, 1.0), sync(7, 2.0), reset(3))
    assert lines.values == read(*first).values


def test_a_new_launch_takes_nothing_from_the_one_before() -> None:
    """The sync before a resumed training names the version of the checkpoint."""
    before = (round_of(1), history(50), reset(40), sync(5), waited(4.0), round_of(2), history(60))
    after = (reset(0), sync(5, 9.0), waited(1.0), round_of(2), history(70), reset(44), sync(6))
    lines = read(*before, *after, attempts=[0] * len(before) + [1] * len(after))
    assert lines.values[0, 5] == {PREFIX + "param_sync_s": 7.0, PREFIX + "rollout_occupancy": 0.5, **numbers(40)}
    assert lines.values[1, 5] == {PREFIX + "param_sync_s": 9.0, **numbers(0)}
    assert lines.values[1, 6] == {
        PREFIX + "param_sync_s": 7.0,
        PREFIX + "queue_wait_s": 1.0,
        PREFIX + "queue_samples": 3.0,
        PREFIX + "rollout_occupancy": 0.7,
        **numbers(44),
    }
    assert (0, 6) not in lines.values


def test_a_line_ends_where_another_is_glued_to_it() -> None:
    glued = waited(3.0).removesuffix("mq_len: 3") + "mq_len: 12(FullyAsyncTrainer pid=7) " + sync(4)
    lines = read(glued, glued[glued.index("[Fully", 1) :])
    assert lines.values == {(0, 4): {PREFIX + "param_sync_s": 7.0, PREFIX + "queue_wait_s": 3.0}}


@pytest.mark.parametrize(
    "text",
    [
        "[RolloutResourceUtilization] raw active_count_history (timestamp, active_count, max_concurrent): []",
        "[RolloutResourceUtilization] raw active_count_history (timestamp, active_count, max_concurrent): [(1.0, 2, 3)]",
        "[RolloutResourceUtilization] raw active_count_history (timestamp, active_count, max_concurrent): [(1.0, 2, 3), (2",
        "[FullyAsyncTrainer] _fit_update_weights, timing_s/param_sync: 7.31",
        "[FullyAsyncRollouter] reset staleness_samples to: 64 idle_ratio: 0.25 step_generated_samples(this_step): 48",
    ],
)
def test_lines_that_hold_no_number_or_are_cut(text: str) -> None:
    assert read(sync(1), text, sync(2)).values == {
        (0, 1): {"console/param_sync_s": 7.0},
        (0, 2): {"console/param_sync_s": 7.0},
    }


def test_occupancy_is_weighted_by_time() -> None:
    text = "[RolloutResourceUtilization] raw active_count_history: [(100.0, 200, 256), (110.0, 100, 256), (140.0, 0, 256)]"
    assert read(text, sync(1)).values[0, 1][PREFIX + "rollout_occupancy"] == (200 * 10 + 100 * 30) / (256 * 40)


def simulated(tmp_path: Path, *defects: DefectName) -> tuple[tuple[Launch, ...], RawRun]:
    """A simulated fully async run and what its console log is read to be."""
    scenario = mode_scenario("fully_async", outputs=("console",), defects=defects, schedule__validate_every_steps=5)
    launches = launches_of(scenario)
    (tmp_path / "console.log.gz").write_bytes(output_files(scenario, launches)["console.log.gz"])
    return launches, merge_sources(read_sources([(tmp_path / "console.log.gz", None, {})], tmp_path))


def told(launch: Launch, version: int) -> dict[str, float]:
    """The numbers of a version from the simulation itself; rounds 4v - 3 to 4v lead to version v."""
    facts = async_facts(launch.simulation)
    sync = next(entry for entry in facts.versions if entry.version == version)
    before = facts.versions[facts.versions.index(sync) - 1]
    rounds = [record for record in launch.simulation.steps if 4 * version - 3 <= record.step <= 4 * version]
    seen = [facts.rounds[launch.simulation.steps.index(record)] for record in rounds]
    busy = sum(active * (end - start) for (start, active, _), (end, _, _) in zip(sync.active, sync.active[1:], strict=False))
    return {
        "param_sync_s": pytest.approx(sync.param_sync_s, abs=6e-5),
        "queue_wait_s": pytest.approx(sum(round(record.seconds["gen"], 2) for record in rounds)),
        "queue_samples": seen[-1].queue_after,
        "staleness_samples": sync.staleness_samples,
        "generated_samples": sync.generated,
        "rollout_occupancy": pytest.approx(busy / (8 * (sync.active[-1][0] - sync.active[0][0])), abs=1e-4),
        "rollout_resource_utilization": pytest.approx(busy / (8 * (sync.at_s - before.at_s)), abs=1e-2),
    }


def found(raw: RawRun, version: int) -> dict[str, float]:
    row = raw.frame.loc[version].dropna().to_dict()
    return {str(key).removeprefix(PREFIX): value for key, value in row.items() if str(key).startswith(PREFIX)}


def test_a_simulated_run_tells_of_every_version(tmp_path: Path) -> None:
    (launch,), raw = simulated(tmp_path)
    for version in range(1, 13):
        numbers_found = found(raw, version)
        assert 0.0 <= numbers_found.pop("rollout_idle_ratio") <= 1.0
        assert numbers_found == told(launch, version)


def test_a_simulated_resumed_run_tells_of_the_launch_that_trained_each_version(tmp_path: Path) -> None:
    (first, second), raw = simulated(tmp_path, "resumed")
    assert second.resumed_from == 5
    for version in range(1, 13):
        numbers_found = found(raw, version)
        del numbers_found["rollout_idle_ratio"]
        assert numbers_found == told(first if version <= 5 else second, version)

from __future__ import annotations

import json
from typing import Any

import pytest
from support.mode_scenarios import mode_scenario

from rlreport.simulator import Scenario
from rlreport.simulator.restart import Launch, launches_of
from rlreport.simulator.rollout_dumps import rollout_texts


def dumps(launch: Launch) -> dict[str, list[dict[str, Any]]]:
    return {name: [json.loads(line) for line in text.splitlines()] for name, text in rollout_texts(launch)}


def launched(mode: str, **changes: Any) -> tuple[Scenario, Launch]:
    scenario = mode_scenario(mode, **changes)
    return scenario, launches_of(scenario)[0]


def test_a_step_has_a_file_with_a_line_for_every_sample_that_it_trained() -> None:
    scenario, launch = launched("separate_async")
    found = dumps(launch)
    assert [name for name in found if name != "left-over"] == [str(step) for step in range(1, 13)]
    for record in launch.simulation.steps:
        lines = found[str(record.step)]
        assert len(lines) == scenario.workload.prompts_per_step * scenario.workload.samples_per_prompt
        assert sum(line["prompt_length"] + line["response_length"] for line in lines) == record.tokens
        assert {line["step"] for line in lines} == {record.step}
        assert len({line["uid"] for line in lines}) == scenario.workload.prompts_per_step
        assert all(line["min_global_steps"] <= line["max_global_steps"] < record.step for line in lines)


def test_the_mean_score_is_the_logged_one() -> None:
    _, launch = launched("one_step_off")
    logged = {call.step: call.values["critic/score/mean"] for call in launch.log.calls if call.step}
    for step, score in logged.items():
        scores = [line["score"] for line in dumps(launch)[str(step)]]
        assert set(scores) <= {0.0, 1.0}
        assert sum(scores) / len(scores) == pytest.approx(score, abs=1 / len(scores))


def test_fully_async_dumps_a_file_a_round() -> None:
    scenario, launch = launched("fully_async", traced_steps=(2, 3))
    found = dumps(launch)
    assert [name for name in found if name != "left-over"] == ["5", "6", "7", "8", "9", "10", "11", "12"]
    lines = scenario.quota.required_samples * scenario.workload.samples_per_prompt
    assert all(len(found[str(number)]) == lines for number in range(5, 13))


def test_what_was_generated_and_not_trained_is_apart() -> None:
    _, launch = launched("separate_async", sync__warmup_batches=2)
    left = launch.simulation.left_over
    lines = dumps(launch)["left-over"]
    assert [line["response_length"] for line in lines] == [tokens for group in left for tokens in group.response_tokens]
    assert lines
    assert "step" not in lines[0]


def test_a_stopped_launch_dumps_what_it_trained() -> None:
    scenario = mode_scenario("separate_async", defects=("resumed",), schedule__validate_every_steps=5)
    first, second = launches_of(scenario)
    assert list(dumps(first)) == [str(step) for step in range(1, max(call.step for call in first.log.calls) + 1)]
    assert [name for name in dumps(second) if name != "left-over"] == [str(step) for step in range(6, 13)]

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd
from support.raw_runs import FULLY_CONFIG, SEPARATE_CONFIG, SYNC_CONFIG, raw_run, timed_row

from rlreport.dialects.verl_metrics import map_metrics
from rlreport.dialects.verl_modes import PromptRule
from rlreport.dialects.verl_work import PROMPT_RULES, Work, measure_work, measured_trajectories


def _work(rows: dict[int, dict[str, float]], rules: tuple[PromptRule, ...], config: Mapping[str, Any]) -> Work:
    columns, _ = map_metrics(raw_run(rows).frame, "sync")
    return measure_work(columns, rules, config)


def test_rules_read_the_configuration() -> None:
    assert PROMPT_RULES["train batch"](SYNC_CONFIG) == 4
    assert PROMPT_RULES["mini-batch"](SEPARATE_CONFIG) == 2
    assert PROMPT_RULES["required samples x trigger"](FULLY_CONFIG) == 2 * 2 * 3
    assert PROMPT_RULES["train batch"](FULLY_CONFIG) is None  # 0: fully async ignores it
    assert PROMPT_RULES["train batch"]({}) is None


def test_tokens_over_lengths_count_trajectories() -> None:
    columns, _ = map_metrics(raw_run({1: timed_row(trajectories=64, length=983.265625)}).frame, "sync")
    measured = measured_trajectories(columns)
    assert measured is not None
    assert measured.tolist() == [64.0]


def test_agreement_gives_the_configured_number_for_timed_steps_only() -> None:
    rows = {0: {"val-core/a/acc/mean@1": 0.1}, 1: timed_row(trajectories=8), 2: timed_row(trajectories=8)}
    work = _work(rows, ("train batch",), SYNC_CONFIG)
    assert work.prompts is not None
    assert work.trajectories is not None
    assert pd.isna(work.prompts.loc[0])
    assert work.prompts.loc[1:].tolist() == [4.0, 4.0]
    assert work.trajectories.loc[1:].tolist() == [8.0, 8.0]
    assert work.notices == ()


def test_tokens_win_over_a_configuration_that_they_contradict() -> None:
    work = _work({1: timed_row(trajectories=16)}, ("train batch",), SYNC_CONFIG)
    assert work.prompts is not None
    assert work.trajectories is not None
    assert (work.prompts.loc[1], work.trajectories.loc[1]) == (8.0, 16.0)
    assert [notice.code for notice in work.notices] == ["RR325"]
    assert "8 trajectories" in work.notices[0].message
    assert "give 16" in work.notices[0].message


def test_without_configuration_trajectories_are_measured_and_prompts_stay_unknown() -> None:
    work = _work({1: timed_row(trajectories=16)}, ("train batch",), {})
    assert work.prompts is None
    assert work.trajectories is not None
    assert work.trajectories.loc[1] == 16.0


def test_rules_that_disagree_are_left_to_the_tokens() -> None:
    config = {**SEPARATE_CONFIG, "actor_rollout_ref.rollout.n": 2}
    work = _work({1: timed_row(trajectories=8)}, ("mini-batch", "train batch"), config)
    assert work.prompts is not None
    assert work.prompts.loc[1] == 4.0


def test_nothing_known_stays_absent() -> None:
    row = {"timing_s/step": 10.0}
    assert _work({1: row}, ("train batch",), {}) == Work(None, None)
    assert _work({1: {"critic/score/mean": 1.0}}, ("train batch",), SYNC_CONFIG) == Work(None, None)

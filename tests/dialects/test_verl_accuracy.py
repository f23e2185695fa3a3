from __future__ import annotations

import pandas as pd
from support.raw_runs import raw_run

from rlreport.dialects.verl_accuracy import headline_keys, read_accuracy


def test_acc_before_reward_mean_before_others_and_the_largest_n() -> None:
    keys = [
        "val-core/math/reward/mean@8",
        "val-core/math/acc/mean@4",
        "val-core/math/acc/mean@8",
        "val-core/math/acc/best@8/mean",
        "val-core/math/acc/maj@8/std",
        "val-aux/math/acc/mean@16",
        "val-core/openai/gsm8k/reward/mean@1",
    ]
    assert [core.key for core in headline_keys(keys)] == ["val-core/math/acc/mean@8", "val-core/openai/gsm8k/reward/mean@1"]


def test_a_majority_speaks_where_there_is_no_mean() -> None:
    keys = ["val-core/a/acc/best@4/mean", "val-core/a/acc/maj@4/mean"]
    assert [core.key for core in headline_keys(keys)] == ["val-core/a/acc/maj@4/mean"]


def test_sources_are_averaged_and_named() -> None:
    rows = {
        0: {"val-core/a/acc/mean@1": 0.2, "val-core/b/c/acc/mean@1": 0.6},
        5: {"val-core/a/acc/mean@1": 0.3},
        6: {"timing_s/step": 1.0},
    }
    series, notices = read_accuracy(raw_run(rows).frame)
    assert series is not None
    assert series.loc[0] == 0.4
    assert series.loc[[5, 6]].isna().all()
    assert [notice.code for notice in notices] == ["RR320"]
    assert "val-core/a/acc/mean@1, val-core/b/c/acc/mean@1" in notices[0].message
    assert "1 steps without all of them" in notices[0].message
    assert "reward" not in notices[0].message


def test_a_reward_is_not_passed_off_as_accuracy() -> None:
    series, notices = read_accuracy(raw_run({0: {"val-core/a/reward/mean@1": -0.5}}).frame)
    assert series is not None
    assert series.loc[0] == -0.5
    assert "mean validation reward" in notices[0].message


def test_old_keys() -> None:
    series, _ = read_accuracy(raw_run({0: {"val/test_score/openai/gsm8k": 0.7}}).frame)
    assert series is not None
    assert series.loc[0] == 0.7
    assert read_accuracy(raw_run({0: {"test_score/gsm8k": 0.6}}).frame)[0] is not None


def test_no_validation_no_accuracy() -> None:
    assert read_accuracy(pd.DataFrame({"timing_s/step": [1.0]})) == (None, ())

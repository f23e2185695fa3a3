"""Every trap is met on the table it comes from, with its numbers, and on a clean table it is not."""

from __future__ import annotations

import pytest
from support.published import results_run, study, study_of, totals

from rlreport.comparators.summary import SummaryStudy
from rlreport.comparators.summary_trap import Trap
from rlreport.comparators.summary_traps import RULES, find_traps
from rlreport.run.knobs import Condition, InertPart, KnobRow, KnobRules

ALL = {
    "horizon",
    "fewest-hours",
    "less-work",
    "changed-in-effect",
    "step-below-parts",
    "repeated-totals",
    "step-and-total",
    "claimed",
    "best-for-last",
}


def traps(found: SummaryStudy) -> dict[str, Trap]:
    return {trap.id: trap for trap in find_traps(found)}


def trap(report: str, trap_id: str) -> Trap:
    return traps(study(report))[trap_id]


def made(trap_id: str, first: dict[object, float], second: dict[object, float], **more: object) -> Trap | None:
    runs = {name: results_run(name, results, **more) for name, results in (("a", first), ("b", second))}
    return traps(study_of(runs, "a")).get(trap_id)


def test_every_rule_is_met_by_a_published_table() -> None:
    reports = [
        "published-staleness",
        "published-horizons-32",
        "published-require-batches",
        "published-v1-modes",
        "published-one-step-fsdp",
        "published-metax",
    ]
    assert {trap_id for report in reports for trap_id in traps(study(report))} == ALL
    assert len(RULES) == len(ALL)


def test_a_clean_table_has_no_trap() -> None:
    # With switching and without: one horizon, the same winner by time and by rate, the last reward only.
    assert traps(study("published-v1-switch")) == {}


def test_the_study_carries_its_traps() -> None:
    found = study("published-staleness")
    assert found.traps == find_traps(found)


class TestHorizon:
    def test_the_same_pair_is_told_by_horizon_and_by_window(self) -> None:
        found = trap("published-horizons-32", "horizon")
        assert "no single number describes it" in found.title
        assert found.evidence == (
            "fully async on 16 + 16 against sync on 32: 1.72×, 1.70×, 2.31× and 2.66× from the start, over 100, 200, 300 "
            "and 400 steps; by window 1.72×, 1.67×, 3.47× and 3.71×.",
        )
        assert found.runs == ("sync-32", "async-16-16")

    def test_a_pair_that_keeps_its_ratio_is_clean(self) -> None:
        assert made("horizon", totals(2, 4, 6), totals(1, 2, 3)) is None
        assert made("horizon", totals(2, 4, 6.09), totals(1, 2, 3)) is None

    def test_one_horizon_cannot_disagree_with_itself(self) -> None:
        assert made("horizon", totals(2), totals(1)) is None

    def test_windows_count_also_where_the_totals_agree(self) -> None:
        # 10 and 10.4 hours against 5 and 5.4: 2.00 and 1.93 from the start, but 1.00 in the second window.
        assert made("horizon", totals(10, 10.4), totals(5, 5.4)) is not None


class TestFewestHours:
    def test_the_fastest_mode_is_not_the_one_with_most_tokens(self) -> None:
        (sentence,) = trap("published-v1-modes", "fewest-hours").evidence
        assert "separate async takes the shortest time, 14 h 06 min against 14 h 43 min of colocate async" in sentence
        assert "18,829 against 18,852 tokens/s" in sentence
        assert "12,288 against 12,854 tokens in the mean (−4.4 %)" in sentence  # 12288 / 12854 = 0.956
        assert "956 M against 999 M tokens (−4.3 %)" in sentence  # 955.76 / 998.99 = 0.9567

    def test_one_winner_is_clean(self) -> None:
        slow, fast = {**totals(2), "rate.tokens_per_s": 10.0}, {**totals(1), "rate.tokens_per_s": 20.0}
        assert made("fewest-hours", slow, fast) is None

    def test_equal_hours_or_rates_tell_nothing(self) -> None:
        first, second = {**totals(2), "rate.tokens_per_s": 10.0}, {**totals(2), "rate.tokens_per_s": 20.0}
        assert made("fewest-hours", first, second) is None

    def test_times_over_other_steps_are_not_set_against_each_other(self) -> None:
        first = {("clock.wall_s", 100): 10.0, "rate.tokens_per_s": 20.0}
        second = {("clock.wall_s", 50): 5.0, "rate.tokens_per_s": 10.0}
        assert made("fewest-hours", first, second) is None

    def test_what_is_not_published_is_not_said(self) -> None:
        first, second = {**totals(2), "rate.tokens_per_s": 20.0}, {**totals(1), "rate.tokens_per_s": 10.0}
        found = made("fewest-hours", first, second)
        assert found is not None and "responses" not in found.evidence[0]


class TestLessWork:
    def test_fewer_samples_a_prompt_make_the_step_shorter_not_the_work_faster(self) -> None:
        (sentence,) = trap("published-metax", "less-work").evidence
        assert "time −26.9 %, a speed-up of 1.37×" in sentence  # 927.68 / 1268.49 = 0.7313
        assert "tokens/s +9.4 %, 1.094×" in sentence
        assert "4.26 M tokens instead of 5.32 M (−20.0 %)" in sentence
        assert "3 knobs moved at once, and 7 more are given for one run only" in sentence

    def test_the_pair_is_confounded(self) -> None:
        assert study("published-metax").comparisons[0].change.verdict == "confounded"

    def test_time_and_rate_that_agree_are_clean(self) -> None:
        first, second = {"time.step_s": 10.0, "work.tokens": 100.0}, {"time.step_s": 5.0, "work.tokens": 98.0}
        assert made("less-work", first, second) is None

    def test_total_time_stands_in_for_a_step(self) -> None:
        first, second = {**totals(2), "rate.tokens_per_s": 10.0}, {**totals(1), "rate.tokens_per_s": 15.0}
        found = made("less-work", first, second)
        assert found is not None and "speed-up of 2.00×, but tokens/s +50.0 %" in found.evidence[0]
        assert "knob" not in found.evidence[0]


class TestChangedInEffect:
    def test_partial_rollout_changes_with_staleness(self) -> None:
        found = trap("published-staleness", "changed-in-effect")
        assert found.evidence == (
            "Partial rollout (async_training.partial_rollout = True) acts in staleness 0.1, staleness 0.3 and staleness 0.5 "
            "and does nothing in staleness 0, where async_training.staleness_threshold is 0.",
        )
        assert found.runs == ("stale-0", "stale-0.1", "stale-0.3", "stale-0.5")

    def test_between_doses_above_zero_nothing_else_changes(self) -> None:
        from support.published import published_run

        runs = {run_id: published_run(run_id) for run_id in ("stale-0.1", "stale-0.3", "stale-0.5")}
        assert "changed-in-effect" not in traps(study_of(runs, "stale-0.1"))

    @staticmethod
    def pair(first: dict[str, object], second: dict[str, object]) -> Trap | None:
        rules = KnobRules(
            rows=(KnobRow("gear", "engine", "the gear"),),
            inert=(InertPart("gear", ("gear",), (Condition("motor", ("off",)),)),),
        )
        runs = {
            name: results_run(name, totals(1), config=config, knob_rules=rules)
            for name, config in (("a", first), ("b", second))
        }
        return traps(study_of(runs, "a")).get("changed-in-effect")

    def test_it_takes_one_value_on_both_sides_and_one_side_that_sleeps(self) -> None:
        found = self.pair({"gear": 3, "motor": "on"}, {"gear": 3, "motor": "off"})
        assert found is not None
        assert found.evidence == ("The gear (gear = 3) acts in a and does nothing in b, where motor is off.",)
        assert self.pair({"gear": 3, "motor": "on"}, {"gear": 4, "motor": "off"}) is None
        assert self.pair({"gear": 3, "motor": "off"}, {"gear": 3, "motor": "off"}) is None
        assert self.pair({"gear": 3, "motor": "on"}, {"motor": "off"}) is None

    def test_what_a_configuration_does_not_give_is_not_assumed(self) -> None:
        assert self.pair({"gear": 3}, {"gear": 3, "motor": "off"}) is None


class TestStepBelowParts:
    def test_a_step_is_shorter_than_its_actor_update(self) -> None:
        found = trap("published-horizons-32", "step-below-parts")
        assert found.evidence == (
            "fully async on 16 + 16: a step is said to take 294.77 s, its actor update alone 313.81 s.",
        )
        assert found.runs == ("async-16-16",)

    def test_parts_that_follow_each_other_must_fit_in_together(self) -> None:
        # 30.88 + 181.08 = 211.96 > 203.47
        assert trap("published-require-batches", "step-below-parts").evidence == (
            "require_batches 1: a step is said to take 203.47 s, its parts together 211.96 s (waiting for samples 30.88 s "
            "and actor update 181.08 s).",
        )

    def test_the_other_tables_are_clean(self) -> None:
        reports = ("staleness", "horizons-64", "horizons-128", "one-step-fsdp", "one-step-megatron", "metax")
        for report in reports:
            assert "step-below-parts" not in traps(study(f"published-{report}"))

    def test_rounding_is_no_trap(self) -> None:
        parts = {"time.step_s": 10.0, "time.wait_s": 5.1, "time.update_actor_s": 5.0}
        assert made("step-below-parts", parts, {}, resolution=0.1) is None
        assert made("step-below-parts", parts, {}, resolution=0.01) is not None

    def test_validation_and_checkpoints_may_lie_outside_of_the_step(self) -> None:
        assert made("step-below-parts", {"time.step_s": 10.0, "time.validate_s": 200.0}, {}) is None


class TestRepeatedTotals:
    def test_the_totals_of_another_row_are_repeated(self) -> None:
        found = trap("published-require-batches", "repeated-totals")
        # 653 min / 300 = 130.6 s, 1042 min / 400 = 156.3 s.
        assert found.evidence == (
            "staleness 0.5 and require_batches 4 both took 3 h 13 min, 6 h 46 min and 10 h 53 min to steps 100, 200 and "
            "300, yet a step is said to take 150.63 s in one and 124.64 s in the other. The totals give 130.6 s a step over "
            "300 steps and 156.3 s a step over 400 steps.",
        )
        assert found.runs == ("stale-0.5", "require-4")

    def test_other_tables_are_clean(self) -> None:
        assert "repeated-totals" not in traps(study("published-staleness"))

    def test_one_run_told_twice_in_the_same_words_is_no_contradiction(self) -> None:
        row = {**totals(1, 2, 3), "time.step_s": 36.0}
        assert made("repeated-totals", row, row) is None
        assert made("repeated-totals", row, {**row, "time.step_s": 30.0}) is not None

    def test_one_equal_total_may_be_chance(self) -> None:
        assert made("repeated-totals", {**totals(1), "time.step_s": 36.0}, {**totals(1), "time.step_s": 30.0}) is None
        first, second = {**totals(1, 2), "time.step_s": 36.0}, {**totals(1, 2.1), "time.step_s": 30.0}
        assert made("repeated-totals", first, second) is None


class TestStepAndTotal:
    def test_two_ways_to_count_tell_two_speed_ups(self) -> None:
        (sentence,) = trap("published-one-step-fsdp", "step-and-total").evidence
        assert "1.44× by the mean step time (749 s against 520 s)" in sentence
        assert "1.24× by the total time (19 h 18 min against 15 h 34 min)" in sentence

    def test_where_they_agree_nothing_is_said(self) -> None:
        assert "step-and-total" not in traps(study("published-horizons-32"))


class TestClaimed:
    def test_a_claim_that_its_times_do_not_give_is_told(self) -> None:
        (sentence,) = trap("published-one-step-fsdp", "claimed").evidence
        assert sentence == (
            "one-step-off, FSDP2 against sync, FSDP2: +23 % is claimed; 19 h 18 min over 15 h 34 min is 1.240×, +24.0 %."
        )

    @pytest.mark.parametrize(
        "report", ["published-horizons-32", "published-horizons-64", "published-horizons-128", "published-one-step-megatron"]
    )
    def test_claims_that_hold_within_rounding_are_clean(self, report: str) -> None:
        assert "claimed" not in traps(study(report))

    def test_a_claim_is_held_against_its_own_horizon(self) -> None:
        claim = {**totals(1, 1), ("claim.speedup", 100): 2.0, ("claim.speedup", 200): 2.0}
        found = made("claimed", totals(2, 3), claim, resolution=0.01)
        assert found is not None
        assert found.evidence == (
            "b against a over 200 steps: +100 % is claimed; 3 h 00 min over 1 h 00 min is 3.000×, +200.0 %.",
        )

    def test_a_claim_without_times_is_left_alone(self) -> None:
        assert made("claimed", {}, {"claim.speedup": 2.0}) is None


class TestBestForLast:
    def test_the_best_evaluation_is_set_against_the_last(self) -> None:
        assert trap("published-horizons-32", "best-for-last").evidence == (
            "sync on 32: best 0.3313, last 0.2448.",
            "fully async on 16 + 16: best 0.3302, last 0.2333.",
        )

    def test_a_run_that_ends_at_its_best_is_clean(self) -> None:
        assert "require-4" not in trap("published-require-batches", "best-for-last").runs
        assert made("best-for-last", {"quality.accuracy_best": 0.35, "quality.accuracy_last": 0.341}, {}) is None
        assert made("best-for-last", {"quality.accuracy_last": 0.3}, {}) is None

    def test_a_best_without_a_last_is_told(self) -> None:
        found = made("best-for-last", {"quality.accuracy_best": 0.35}, {}, resolution=0.01)
        assert found is not None and found.evidence == ("a: best 0.35, the last one is not given.",)

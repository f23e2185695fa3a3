"""Expected numbers are worked out from the tables as printed, in minutes: 13h 44m is 824 min, 7h 58m is 478 min."""

from __future__ import annotations

import pytest
from support.made_runs import make_run
from support.published import published_run, results_run, study, study_of, totals

from rlreport.comparators.results import SteadyState
from rlreport.comparators.summary import (
    REASON,
    PublishedRun,
    is_published_only,
    published_throughput,
    study_summaries,
)
from rlreport.run.model import Devices

EMPTY = SteadyState("none", None, None, (), None, ())

# Total minutes after 100, 200, 300 and 400 steps, read off the tables.
SYNC_32 = (13 * 60 + 44, 27 * 60 + 43, 57 * 60 + 22, 89 * 60 + 5)
ASYNC_32 = (7 * 60 + 58, 16 * 60 + 21, 24 * 60 + 53, 33 * 60 + 26)
STALE_0 = (4 * 60 + 25, 9 * 60 + 41, 15 * 60 + 2, 25 * 60 + 53)
STALE_05 = (3 * 60 + 13, 6 * 60 + 46, 10 * 60 + 53, 17 * 60 + 22)


class TestByHorizon:
    def test_the_pair_of_the_7b_table_gives_four_speed_ups(self) -> None:
        (pair,) = study("published-horizons-32").comparisons
        ratios = [found.ratio for found in pair.cumulative]
        assert ratios == pytest.approx([a / b for a, b in zip(SYNC_32, ASYNC_32, strict=True)])
        assert [f"{ratio:.2f}" for ratio in ratios if ratio] == ["1.72", "1.70", "2.31", "2.66"]
        assert [found.to_step for found in pair.cumulative] == [100, 200, 300, 400]

    def test_windows_are_differences_of_totals(self) -> None:
        (pair,) = study("published-horizons-32").comparisons
        # 839 / 503, 1779 / 512 and 1903 / 513 minutes after the first 824 / 478.
        assert [found.baseline_s / 60 for found in pair.windows] == [824, 839, 1779, 1903]
        assert [found.variant_s / 60 for found in pair.windows] == [478, 503, 512, 513]
        assert [f"{found.ratio:.2f}" for found in pair.windows if found.ratio] == ["1.72", "1.67", "3.47", "3.71"]
        assert [(found.from_step, found.to_step) for found in pair.windows] == [(1, 100), (101, 200), (201, 300), (301, 400)]

    @pytest.mark.parametrize(
        ("report", "windows"),
        [
            ("published-horizons-64", ["2.09", "1.97", "1.54", "2.22"]),
            ("published-horizons-128", ["2.67", "2.63", "2.71", "1.80"]),
        ],
    )
    def test_the_other_sizes_have_other_courses(self, report: str, windows: list[str]) -> None:
        (pair,) = study(report).comparisons
        assert [f"{found.ratio:.2f}" for found in pair.windows if found.ratio] == windows

    def test_the_staleness_ablation_has_one_comparison_a_dose(self) -> None:
        pairs = study("published-staleness").comparisons
        assert [pair.variant.run.run_id for pair in pairs] == ["stale-0.1", "stale-0.3", "stale-0.5"]
        last = pairs[2]
        assert [found.ratio for found in last.cumulative] == pytest.approx(
            [a / b for a, b in zip(STALE_0, STALE_05, strict=True)]
        )
        # Steps 201 to 300 at staleness 0.1: 321 min against 348 min, slower than the baseline.
        assert pairs[0].windows[2].ratio == pytest.approx(321 / 348)
        assert pairs[0].step is not None and pairs[0].step.ratio == pytest.approx(231.34 / 171.30)

    def test_only_horizons_of_both_arms_are_compared(self) -> None:
        pair = study("published-require-batches").comparisons[0]
        assert [found.to_step for found in pair.cumulative] == [100, 200, 300]

    def test_a_total_without_a_horizon_is_compared_and_makes_no_window(self) -> None:
        (pair,) = study("published-one-step-fsdp").comparisons
        (found,) = pair.cumulative
        assert (found.from_step, found.to_step, pair.windows) == (None, None, ())
        assert found.ratio == pytest.approx((19 * 60 + 18) / (15 * 60 + 34))

    def test_totals_that_fall_have_no_ratio_in_their_window(self) -> None:
        runs = {"a": results_run("a", totals(1, 2, 3)), "b": results_run("b", totals(1, 0.5, 2))}
        (pair,) = study_of(runs, "a").comparisons
        assert [found.ratio for found in pair.windows] == [pytest.approx(1.0), None, pytest.approx(1 / 1.5)]
        assert pair.ratios == pytest.approx((1.0, 4.0, 1.5, 1 / 1.5))


class TestImplied:
    def test_tokens_are_rate_times_time_where_both_are_about_the_same_steps(self) -> None:
        tokens = {run_id: run.implied_tokens for run_id, run in study("published-v1-modes").runs.items()}
        assert tokens == {
            "v1-sync": pytest.approx(12_053 * 22.79 * 3600),
            "v1-colocate": pytest.approx(18_852 * 14.72 * 3600),
            "v1-separate": pytest.approx(18_829 * 14.10 * 3600),
        }
        assert [round(value / 1e6) for value in tokens.values() if value] == [989, 999, 956]
        other = PublishedRun(results_run("r", {("clock.wall_s", 100): 10.0, ("rate.tokens_per_s", 50): 2.0}))
        assert other.implied_tokens is None

    def test_the_rate_comes_from_what_is_published(self) -> None:
        assert PublishedRun(results_run("r", {"rate.tokens_per_s": 5.0})).tokens_per_s == 5.0
        assert PublishedRun(results_run("r", {"work.tokens": 900.0, "time.step_s": 3.0})).tokens_per_s == 300.0
        assert PublishedRun(results_run("r", {"perf.throughput_reported": 10.0})).tokens_per_s == 80.0
        unknown = results_run("r", {"perf.throughput_reported": 10.0}, trainer=None)
        assert PublishedRun(unknown).tokens_per_s is None

    def test_devices_follow_from_tokens_time_and_rate(self) -> None:
        before = PublishedRun(published_run("before"))
        assert before.implied_devices == pytest.approx(5_322_462 / (1268.49 * 524.49))
        assert before.implied_devices == pytest.approx(8, rel=1e-4)

    def test_a_step_and_its_wait_follow_from_the_totals_and_the_parts(self) -> None:
        run = PublishedRun(published_run("async-64-64"))
        assert run.implied_step_s == pytest.approx((17 * 60 + 22) * 60 / 400)
        assert run.wait_share == pytest.approx(33.14 / 150.63)
        assert PublishedRun(results_run("r", {"work.tokens": 1.0})).implied_step_s is None


class TestStudy:
    def test_there_is_none_without_results(self) -> None:
        assert study_summaries({"a": make_run({"time.step_s": [1.0]})}, []) is None

    def test_a_run_with_steps_keeps_the_study_from_standing_alone(self) -> None:
        logged = make_run({"time.step_s": [1.0, 2.0]}, run_id="logged")
        runs = {"logged": logged, "told": results_run("told", totals(1, 2))}
        found = study_of(runs, "logged")
        assert not found.alone and list(found.runs) == ["told"] and found.comparisons == ()
        assert study("published-staleness").alone

    def test_no_claim_is_made(self) -> None:
        for pair in study("published-v1-modes").comparisons:
            assert (pair.verdict, pair.reason) == ("insufficient-data", REASON)
        assert REASON == "one published number an arm: no interval"

    def test_another_model_makes_the_pair_not_comparable(self) -> None:
        runs = {
            name: results_run(name, totals(1, 2), config={"actor_rollout_ref.model.path": name})
            for name in ("model-a", "model-b")
        }
        (pair,) = study_of(runs, "model-a").comparisons
        assert pair.change.blocking and pair.verdict == "not-comparable"

    def test_a_step_over_other_steps_is_told_without_steps(self) -> None:
        runs = {"a": results_run("a", {("time.step_s", 100): 4.0}), "b": results_run("b", {("time.step_s", 200): 2.0})}
        (pair,) = study_of(runs, "a").comparisons
        assert pair.step is not None and (pair.step.to_step, pair.step.ratio) == (None, 2.0)

    def test_of_several_results_the_one_over_most_steps_is_found(self) -> None:
        run = PublishedRun(results_run("r", {("time.step_s", 300): 3.0, ("time.step_s", 400): 4.0, "work.tokens": 1.0}))
        assert run.value("time.step_s") == 4.0 and run.value("time.ref_s") is None

    def test_only_a_run_without_steps_is_published_only(self) -> None:
        assert is_published_only(published_run("stale-0"))
        assert not is_published_only(make_run({"time.step_s": [1.0]}, summaries=published_run("stale-0").summaries))
        assert not is_published_only(make_run({}))


class TestThroughput:
    @staticmethod
    def compared(first: str, second: str, *, comparable: bool = True):  # type: ignore[no-untyped-def]
        runs = published_run(first), published_run(second)
        return published_throughput(*runs, (EMPTY, EMPTY), margin=0.05, comparable=comparable)

    def test_tokens_a_second_and_device_lead_where_devices_are_known(self) -> None:
        found = self.compared("before", "after")
        headline = found.headline
        assert headline.metric == "tokens_per_s_per_device"
        assert headline.baseline.estimate == pytest.approx(5_322_462 / 1268.49 / 8)
        assert headline.ratio == pytest.approx((4_259_630 / 927.68) / (5_322_462 / 1268.49))
        assert [other.metric for other in found.others] == ["tokens_per_s", "steps_per_h"]

    def test_without_tokens_steps_an_hour_stand_at_the_longest_common_horizon(self) -> None:
        headline = self.compared("sync-32", "async-16-16").headline
        assert (headline.metric, headline.verdict) == ("steps_per_h", "insufficient-data")
        assert headline.baseline.estimate == pytest.approx(400 / (5345 / 60))
        assert headline.ratio == pytest.approx(5345 / 2006)

    def test_a_total_without_a_horizon_leaves_the_mean_step(self) -> None:
        headline = self.compared("sync-fsdp", "one-step-fsdp").headline
        assert headline.baseline.estimate == pytest.approx(3600 / 749)
        assert headline.ratio == pytest.approx(749 / 520)

    def test_there_is_no_interval_anywhere(self) -> None:
        for pair in (("before", "after"), ("sync-32", "async-16-16"), ("v1-sync", "v1-separate")):
            found = self.compared(*pair)
            for ratio in (found.headline, *found.others):
                ends = (ratio.ci_low, ratio.ci_high, ratio.baseline.ci_low, ratio.variant.ci_high)
                assert ends == (None,) * 4 and ratio.minimum_detectable_ratio is None
            assert [notice.code for notice in found.notices] == ["RR490"]

    def test_a_pair_that_may_not_be_compared_says_so(self) -> None:
        found = self.compared("before", "after", comparable=False)
        assert found.headline.verdict == "not-comparable" and found.headline.ratio is not None
        assert [notice.code for notice in found.notices] == ["RR453", "RR490"]

    def test_nothing_in_common_is_unknown(self) -> None:
        runs = results_run("a", {"time.ref_s": 1.0}), results_run("b", {"time.ref_s": 1.0}, trainer=None)
        found = published_throughput(*runs, (EMPTY, EMPTY), margin=0.05, comparable=True)
        assert (found.headline.metric, found.headline.ratio, found.headline.baseline.estimate) == ("steps_per_h", None, None)

    def test_unequal_devices_lead_by_device(self) -> None:
        left = results_run("a", {"rate.tokens_per_s": 100.0}, trainer=10, rollout=0)
        right = results_run("b", {"rate.tokens_per_s": 100.0}, trainer=5, rollout=0)
        found = published_throughput(left, right, (EMPTY, EMPTY), margin=0.05, comparable=True)
        assert found.headline.ratio == pytest.approx(2.0)
        assert found.others[0].ratio == pytest.approx(1.0)
        assert left.devices == Devices(10, 0, None, 10)

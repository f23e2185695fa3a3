from __future__ import annotations

import datetime

import pytest
from support.raw_runs import SYNC_CONFIG, raw_run, timed_row

from rlreport.comparators.change import compare_config
from rlreport.comparators.change_results import WaiverUse
from rlreport.comparators.change_waive import judging_day
from rlreport.comparators.results import Change
from rlreport.dialects import interpret_run
from rlreport.run.model import RunDeclaration
from rlreport.run.rules import ChangePolicy, Waiver

LAST_DAY = datetime.date(2026, 8, 22)


def _change(*waivers: Waiver, as_of: datetime.date | None = None) -> Change:
    runs = [
        interpret_run(raw_run({1: timed_row()}, {**SYNC_CONFIG, "data.seed": seed}), RunDeclaration("r")) for seed in (1, 2)
    ]
    return compare_config(runs[0], runs[1], declared=(), policy=ChangePolicy(waivers=waivers, as_of=as_of))


@pytest.mark.parametrize(
    ("as_of", "state", "verdict"),
    [
        (LAST_DAY, "holds", "identical"),
        (LAST_DAY + datetime.timedelta(days=1), "expired", "undeclared"),
        (None, "not judged", "identical"),
    ],
)
def test_a_waiver_holds_to_the_end_of_its_last_day(as_of: datetime.date | None, state: str, verdict: str) -> None:
    change = _change(Waiver("data.seed", "replicates", LAST_DAY), as_of=as_of)
    (use,) = change.waivers
    assert (use.state, use.keys, use.reason, use.expires) == (state, ("data.seed",), "replicates", LAST_DAY)
    assert change.verdict == verdict
    assert bool(change.blocking) is (state == "expired")
    told = [notice.message for notice in change.notices if notice.code == "RR418"]
    assert len(told) == (state != "holds")
    assert all("2026-08-22" in message for message in told)


def test_a_waiver_without_an_end_needs_no_day() -> None:
    change = _change(Waiver("data.seed", "replicates"))
    assert change.waivers == (WaiverUse("data.seed", "replicates", "holds", None, ("data.seed",)),)
    assert {notice.code for notice in change.notices} == {"RR406"}


def test_a_waiver_that_meets_no_difference_is_told_and_not_judged() -> None:
    change = _change(Waiver("data.shuffle", "same order", LAST_DAY), as_of=datetime.date(2027, 1, 1))
    assert change.waivers[0].state == "meets no difference"
    assert {"RR404"} <= {notice.code for notice in change.notices}


def test_the_day_is_the_manifests_or_the_latest_start_of_a_run() -> None:
    started = ["2026-07-30", None, "2026-07-31T10:20:23", "yesterday", ""]
    assert judging_day(None, started) == datetime.date(2026, 7, 31)
    assert judging_day(LAST_DAY, started) == LAST_DAY
    assert judging_day(None, [None, "soon"]) is None

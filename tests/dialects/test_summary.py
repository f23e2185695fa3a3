from __future__ import annotations

from support.made_runs import make_run
from support.published import published_run, results_run

from rlreport.dialects.summary import with_summaries
from rlreport.run.diagnostics import Notice

RESULTS = results_run("r", {"time.step_s": 1.0}).summaries


def test_a_run_without_results_stays_as_it_is() -> None:
    run = make_run({})
    assert with_summaries(run, ()) is run


def test_a_run_with_steps_keeps_everything_and_has_the_results_beside_them() -> None:
    run = make_run({"time.step_s": [1.0, 2.0]}, mode="unknown", config={"execution.mode": "sync"})
    found = with_summaries(run, RESULTS)
    assert found.summaries == RESULTS
    assert (found.mode, found.status, len(found.steps)) == ("unknown", "completed", 2)


def test_a_run_without_steps_says_so_and_takes_its_declared_mode() -> None:
    notices = (
        Notice("RR304", "mode"),
        Notice("RR301", "no canonical name"),
        Notice("RR322", "lines"),
        Notice("RR303", "kept"),
    )
    run = make_run({}, mode="unknown", config={"execution.mode": "sync"}, notices=notices)
    found = with_summaries(run, RESULTS)
    assert (found.mode, found.status, found.status_reason) == ("sync", "unknown", "only results are at hand, no log")
    assert [notice.code for notice in found.notices] == ["RR303"]


def test_an_unknown_word_is_no_mode_and_the_mode_that_is_known_stands() -> None:
    unknown = make_run({}, mode="unknown", config={"execution.mode": "turbo"}, notices=(Notice("RR304", "mode"),))
    found = with_summaries(unknown, RESULTS)
    assert found.mode == "unknown" and [n.code for n in found.notices] == ["RR304"]
    known = make_run({}, mode="fully_async", config={"execution.mode": "sync"})
    assert with_summaries(known, RESULTS).mode == "fully_async"


def test_the_published_runs_have_their_modes_and_devices() -> None:
    told = {
        run_id: (run.mode, run.devices.trainer, run.devices.rollout)
        for run_id in ("sync-32", "async-16-16", "v1-colocate", "v1-separate", "one-step-fsdp", "before")
        for run in [published_run(run_id)]
    }
    assert told == {
        "sync-32": ("sync", 32, 0),
        "async-16-16": ("fully_async", 16, 16),
        "v1-colocate": ("colocate_async", 32, 0),
        "v1-separate": ("separate_async", 16, 16),
        "one-step-fsdp": ("one_step_off", 12, 4),
        "before": ("sync", 8, 0),
    }

from __future__ import annotations

import json
from itertools import pairwise

import pytest
from support.mode_scenarios import MODES, mode_scenario
from support.tiny_scenarios import tiny

from rlreport.simulator.chrome_trace import chrome_text, chrome_trace
from rlreport.simulator.restart import launches_of
from rlreport.simulator.spans import device_seconds


def test_a_run_worked_out_by_hand() -> None:
    trace = chrome_trace(launches_of(tiny(steps=1)))
    assert trace["baseTimeNanoseconds"] == 1_788_249_600 * 10**9
    names = {event["tid"]: event["args"]["name"] for event in trace["traceEvents"] if event["name"] == "thread_name"}
    spans = [
        (names[e["tid"]], e["name"], e["cat"], e["args"].get("cause"), e["ts"] / 1e6, e["dur"] / 1e6)
        for e in trace["traceEvents"]
        if e["ph"] == "X"
    ]
    assert spans == [
        ("trainer", "wait", "idle", "startup", 0.0, 5.0),
        ("trainer", "wait", "idle", "samples", 5.0, 10.0),
        ("trainer", "update_actor", "busy", None, 15.0, 12.0),
        ("trainer", "update_actor", "busy", None, 27.0, 12.0),
        ("trainer", "weight_sync", "idle", "weight_sync", 39.0, 3.0),
        ("replica_0", "wait", "idle", "startup", 0.0, 5.0),
        ("replica_0", "generate", "busy", None, 5.0, 10.0),
        ("replica_0", "wait", "idle", "quota", 15.0, 24.0),
        ("replica_0", "weight_sync", "idle", "weight_sync", 39.0, 3.0),
    ]


@pytest.mark.parametrize("mode", sorted(MODES))
def test_every_lane_is_covered_without_gaps_and_adds_up_to_the_truth(mode: str) -> None:
    (launch,) = launches_of(mode_scenario(mode))
    simulation = launch.simulation
    spans = [event for event in chrome_trace([launch])["traceEvents"] if event["ph"] == "X"]
    for number, lane in enumerate(simulation.lanes):
        mine = [event for event in spans if event["tid"] == number]
        assert mine[0]["ts"] == 0.0
        assert all(a["ts"] + a["dur"] == pytest.approx(b["ts"], abs=2e-3) for a, b in pairwise(mine))
        assert mine[-1]["ts"] + mine[-1]["dur"] == pytest.approx(1e6 * simulation.end_s, abs=2e-3)
        assert {event["args"]["devices"] for event in mine} == {lane.devices}
    for side, pid in (("trainer", 1), ("rollout", 2)):
        true = device_seconds(simulation.lanes, side, [(0.0, simulation.end_s)])
        for cause, seconds in true.idle.items():
            told = sum(e["dur"] * e["args"]["devices"] for e in spans if e["pid"] == pid and e["args"].get("cause") == cause)
            assert told / 1e6 == pytest.approx(seconds, abs=1e-3)
        busy = sum(e["dur"] * e["args"]["devices"] for e in spans if e["pid"] == pid and e["cat"] == "busy")
        assert busy / 1e6 == pytest.approx(sum(true.busy.values()), abs=1e-3)


def test_the_text_is_json_and_the_same_each_time() -> None:
    launches = launches_of(mode_scenario("fully_async"))
    assert json.loads(chrome_text(launches)) == chrome_trace(launches)
    assert chrome_text(launches) == chrome_text(launches_of(mode_scenario("fully_async")))


def test_a_resumed_run_goes_on_the_same_axis() -> None:
    first, second = launches_of(mode_scenario("separate_async", defects=("resumed",), schedule__validate_every_steps=5))
    spans = [event for event in chrome_trace([first, second])["traceEvents"] if event["ph"] == "X"]
    later = [event for event in spans if event["ts"] > 1e6 * second.launched_s - 1]
    assert min(event["ts"] for event in later) == pytest.approx(1e6 * second.launched_s)
    assert max(event["ts"] for event in spans if event not in later) < 1e6 * first.stopped_s
    assert {event["args"]["version"] for event in later} >= {5, 12}

"""Judges a timeline against the simulator's truth: what deviates, in words; nothing when all is right."""

from __future__ import annotations

import dataclasses

from rlreport.comparators.bubble_results import OWNER_MARGIN, SideAccount
from rlreport.comparators.results import SteadyState
from rlreport.comparators.timeline import measure_timeline
from rlreport.simulator.scenario import COLOCATED_MODES
from rlreport.simulator.steady import warmup_steps
from support.timelines import TracedRun

#: One point of device time.
POINT = 0.01


def steady_window(traced: TracedRun) -> SteadyState:
    """The steps after the simulator's warm-up, without the last one."""
    scenario = traced.simulation.scenario
    kept = tuple(range(warmup_steps(scenario) + 1, scenario.steps))
    return SteadyState("flat", kept[0], kept[-1], kept, None, ())


def judge_trace(traced: TracedRun) -> list[str]:
    """What the account from spans gets wrong over the steady window."""
    timeline = measure_timeline(traced.run, steady_window(traced))
    if timeline is None or timeline.trace is None:
        return ["no timeline"]
    problems = ["steps are not tied to the trace"] if timeline.whole_trace else []
    if timeline.window.residual > 1e-3:
        problems.append(f"identity off by {timeline.window.residual:.4f}")
    begin_s = timeline.trace.scene.course.begin_ns / 1e9
    start_s, end_s = begin_s + timeline.window.start_s, begin_s + timeline.window.end_s
    truths = {side: traced.truth(side, start_s, end_s) for side in ("trainer", "rollout")}
    for name, (_, idle, total) in truths.items():
        if not total:
            continue
        side = timeline.window.trainer if name == "trainer" else timeline.window.rollout
        if side is None:
            problems += [] if timeline.trace.scene.lanes.unknown else [f"{name}: no account"]
        else:
            problems += [f"{name}: {problem}" for problem in _judge_side(side, idle, total)]
    problems += _judge_owner(traced, timeline.owner, truths)
    return problems


def _judge_side(side: SideAccount, idle: dict[str, float], total: float) -> list[str]:
    truth = sum(idle.values()) / total
    problems = []
    if abs(side.total_s - total) > 1e-3 * total:
        problems.append(f"wall x devices is {side.total_s:.1f}, truth {total:.1f}")
    if side.idle_fraction is None:
        if side.at_least is None or side.at_most is None or not side.at_least - POINT <= truth <= side.at_most + POINT:
            problems.append(f"idle {truth:.4f} is not within {side.at_least} to {side.at_most}")
        return problems
    if abs(side.idle_fraction - truth) > POINT:
        problems.append(f"idle {side.idle_fraction:.4f}, truth {truth:.4f}")
    if side.largest is not None and idle:
        rival = idle.get(side.largest[0], 0.0) / total
        if rival < max(idle.values()) / total - POINT / 2:
            problems.append(f"largest cause {side.largest[0]}, truth {max(idle, key=lambda cause: idle[cause])}")
    return problems


def _judge_owner(
    traced: TracedRun, owner: str, truths: dict[str, tuple[dict[str, float], dict[str, float], float]]
) -> list[str]:
    if traced.simulation.scenario.mode in COLOCATED_MODES:
        return [] if owner == "neither" else [f"owner {owner}, truth neither"]
    waits = {side: idle.get(cause, 0.0) / total for side, cause in (("trainer", "samples"), ("rollout", "quota"))
             for _, idle, total in [truths[side]]}  # fmt: skip
    lead = waits["trainer"] - waits["rollout"]
    truth = "neither" if abs(lead) < OWNER_MARGIN else "trainer" if lead > 0 else "rollout"
    if owner == truth or abs(abs(lead) - OWNER_MARGIN) < POINT:
        return []
    return [] if owner == "unknown" else [f"owner {owner}, truth {truth} ({lead:+.3f})"]


def judge_log(traced: TracedRun) -> list[str]:
    """What the account from the log alone claims that the truth contradicts."""
    timeline = measure_timeline(dataclasses.replace(traced.run, spans=(), gauges=()), steady_window(traced))
    if timeline is None:
        return ["no account"]
    window = steady_window(traced)
    per_step = traced.simulation.scenario.rounds_per_step if traced.simulation.scenario.mode == "fully_async" else 1
    # A line of fully_async is shifted by one round: its window is too.
    shift = 1 if traced.simulation.scenario.mode == "fully_async" else 0
    records = traced.simulation.steps
    first = (window.kept[0] - 1) * per_step - shift
    last = window.kept[-1] * per_step - 1 - shift
    start_s, end_s = records[max(first, 0)].begin_s, max(records[last].end_s, records[last].logged_s)
    _, idle, total = traced.truth("trainer", start_s, end_s)
    truth, side = sum(idle.values()) / total, timeline.window.trainer
    problems = _judge_rollout(traced, timeline.window.rollout, start_s, end_s)
    if side is None or side.at_least is None or side.at_most is None:
        return [*problems, "the Trainer has no account"]
    if not side.at_least - POINT <= truth <= side.at_most + POINT:
        problems.append(f"trainer: idle {truth:.4f} is not within {side.at_least:.4f} to {side.at_most:.4f}")
    if side.idle_fraction is not None and abs(side.idle_fraction - truth) > POINT:
        problems.append(f"trainer: idle {side.idle_fraction:.4f}, truth {truth:.4f}")
    return problems


def _judge_rollout(traced: TracedRun, side: SideAccount | None, start_s: float, end_s: float) -> list[str]:
    """A log tells of the Rollouters at most a lower bound, which must be one."""
    if side is None:
        return []
    if side.idle_fraction is not None:
        return ["the Rollouters' idle share is told as a number"]
    _, idle, total = traced.truth("rollout", start_s, end_s)
    truth = sum(idle.values()) / total
    if side.at_least is None or side.at_least > truth + POINT:
        return [f"rollout: idle {truth:.4f} is less than {side.at_least}"]
    return []

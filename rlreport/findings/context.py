"""What a rule reads of one run: its results, and where a timeline exists, the account of its device time."""

from __future__ import annotations

from dataclasses import dataclass, field

from rlreport.comparators.analysis import Analysis, RunResult
from rlreport.comparators.bubble_lead import QuotaCover, measure_quota
from rlreport.comparators.bubble_results import WAITS_FOR_OTHER, DeviceAccount, Owner
from rlreport.comparators.lead import Lead, measure_lead
from rlreport.comparators.periodic import PeriodicBubble, find_periodic
from rlreport.comparators.timeline import Timeline
from rlreport.comparators.window import column_array
from rlreport.run.format import number
from rlreport.run.metrics import METRICS
from rlreport.run.model import SEPARATED_MODES, Run

#: A wait below this share of the step means that the Trainer is the bottleneck; above the second it is worth acting on.
TRAINER_BOUND_WAIT = 0.02
WAIT_WORTH_ACTING = 0.10
#: The Trainer sets the pace while it waits for less than this share of a step: polling and fetching take a little of any.
SETS_THE_PACE = 0.05
#: The Rollouters are always ahead when what waits is at least this share of what may wait. How much they idle it does not
#: tell: in simulations of separate async training 0.993 goes with 4 % of their time as well as with 34 %.
QUEUE_FULL = 0.985
#: A share of a step, or of device time, from which on a finding is severe.
SEVERE = 0.25


@dataclass(frozen=True, slots=True)
class Context:
    """One run of a report as rules see it. `timeline` is None where none was made: rules then read metrics alone."""

    analysis: Analysis
    run_id: str
    timeline: Timeline | None = None
    result: RunResult = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "result", self.analysis.runs[self.run_id])

    @property
    def run(self) -> Run:
        """The run itself."""
        return self.result.run

    @property
    def separated(self) -> bool:
        """Whether the two sides have devices of their own, so that one can wait for the other."""
        return self.run.mode in SEPARATED_MODES

    @property
    def account(self) -> DeviceAccount | None:
        """Device time by side and cause, from spans only: from metrics it says no more than the time split."""
        if self.timeline is None or self.timeline.window.basis != "spans":
            return None
        return self.timeline.window

    @property
    def wait_share(self) -> float | None:
        """Share of step time in which the Trainer waits for samples; None where no timer tells it or both share devices."""
        return self.result.time_split.fractions.get("time.wait_s") if self.separated else None

    @property
    def rollout_wait_share(self) -> float | None:
        """Share of the Rollouters' device time in which they may not generate more (quota, full queue), from spans.

        Waiting while the Trainer saves is left out: it goes away with the checkpoint, not with Rollouters.
        """
        account = self.account
        if account is None or account.rollout is None or self.timeline is None:
            return None
        return max(account.rollout.share(*WAITS_FOR_OTHER["rollout"]) - self.timeline.paused_by_checkpoints, 0.0)

    @property
    def rollout_waits_at_least(self) -> float | None:
        """A lower bound of the same from a log's own idle ratio; None where spans tell more, or nothing does."""
        if self.timeline is None or self.account is not None or self.timeline.window.rollout is None:
            return None
        return self.timeline.window.rollout.share(*WAITS_FOR_OTHER["rollout"])

    def evidence(self, *ids: str) -> tuple[str, ...]:
        """Ids of what shows a finding: some, and the account of device time where a trace tells it."""
        return ids if self.account is None else ("bubbles", *ids)

    @property
    def lead(self) -> Lead:
        """Finished mini-batches that wait for the Trainer."""
        return measure_lead(self.run, self.result.steady_state)

    @property
    def quota(self) -> QuotaCover | None:
        """What the Rollouters may generate ahead."""
        return measure_quota(self.run)

    @property
    def periodic(self) -> tuple[PeriodicBubble, ...]:
        """Bubbles with a period."""
        return find_periodic(self.run) if self.timeline is None else self.timeline.periodic

    @property
    def staleness(self) -> float | None:
        """Mean staleness over the window in versions; None where it is not logged."""
        import numpy as np

        values = column_array(self.run, "staleness.mean")[self.run.steps.index.isin(self.result.steady_state.kept)]
        known = values[np.isfinite(values)]
        return float(known.mean()) if known.size else None

    @property
    def queue_fill(self) -> float | None:
        """How much of what may be generated ahead is ready; None where that is unknown or nothing may be.

        A counted queue over the largest one. Else, in separate async mode, staleness over the batches that are handed out
        ahead: a response that ends before the next batch is handed out is as many versions old as there are such batches.
        """
        quota, lead = self.quota, self.lead
        if quota is None or quota.covered <= 0:
            return None
        if lead.basis in ("queue", "gauge") and lead.mini_batches is not None:
            return lead.mini_batches / quota.covered
        staleness = self.staleness
        if self.run.mode != "separate_async" or staleness is None:
            return None
        return staleness / quota.quota

    def owner(self) -> Owner:
        """The side that waits for the other one: what has to be known before devices are moved.

        The one that the account of device time names, from spans or from the log (`comparators.timeline`). Where that is
        "unknown", what the log alone makes likely: the Trainer when it waits in a tenth of the step or more, the Rollouters
        when it practically never waits and the samples that are ready fill what may be generated ahead; rules say then that
        it is likely. "neither" when both are known to be busy.
        """
        if not self.separated:
            return "neither"
        if self.timeline is not None and self.timeline.owner != "unknown":
            return self.timeline.owner
        wait = self.wait_share
        if wait is None:
            return "unknown"
        if wait >= WAIT_WORTH_ACTING:
            return "trainer"
        if wait >= TRAINER_BOUND_WAIT:
            return "neither"
        fill = self.queue_fill
        if fill is None:
            return "unknown"
        return "rollout" if fill >= QUEUE_FULL else "neither"

    def seconds(self, phase: str) -> str:
        """Mean seconds a step of a phase in words: "64.8 of 149 s (weight sync)"."""
        split = self.result.time_split
        total = "" if split.step_s is None else f" of {number(split.step_s)}"
        return f"{number(split.seconds[phase])}{total} s ({METRICS[phase].label})"

"""What has to be measured, or understood, before a conclusion is drawn: across the tiers."""

from __future__ import annotations

from rlreport.comparators.analysis import Analysis, ComparisonResult, RunResult
from rlreport.comparators.volatility import logged_values
from rlreport.comparators.window import FEWEST_STEPS
from rlreport.findings.context import SEVERE, Context
from rlreport.findings.model import Action, Finding
from rlreport.run.format import count, number, percent, ratio, signed_percent
from rlreport.run.metrics import METRICS, PHASES
from rlreport.run.model import SEPARATED_MODES
from rlreport.stats.means import difference_of_means, mean_of_series

UNTIMED_WORTH_ACTING = 0.10
#: Idle as logged and as reconstructed contradict each other from this difference on, in shares of device time.
CONTRADICTION = 0.10
#: Response length that moves by this share along the window moves step times with it.
LENGTH_DRIFT = 0.15
#: The wait has moved when it fell by this share of the baseline's step and most of it came back elsewhere.
MOVED_WAIT = 0.05
CAME_BACK = 0.5
LENGTH = "length.response_mean"


def untimed_remainder(context: Context) -> Finding | None:
    """A large part of the step is covered by no timer."""
    share = context.result.time_split.fractions.get("time.other_s")
    if share is None or share < UNTIMED_WORTH_ACTING:
        return None
    return Finding(
        id="untimed",
        severity="medium" if share >= SEVERE else "low",
        title=f"{percent(share)} of a step is covered by no timer",
        body=f"{context.seconds('time.other_s')} of every step are in none of the logged phases.",
        run_id=context.run_id,
        evidence=("time-split",),
        owner="unknown",
        action=Action(
            tier=2,
            knob="instrumentation",
            direction="check",
            text="Profile one step before moving resources: what is not measured cannot be tuned.",
            risk="a profiler slows the step that it measures",
            refuted_by="a profile of one step shows the time in a known phase",
        ),
    )


def reported_idle(context: Context) -> Finding | None:
    """The framework's own idle ratio contradicts the timeline."""
    if context.account is None or context.timeline is None or not context.timeline.reported:
        return None
    worst = max(context.timeline.reported, key=lambda found: (abs(found.difference), found.side))
    if abs(worst.difference) < CONTRADICTION:
        return None
    parts = "; ".join(f"{words} {percent(share)}" for words, share in worst.parts[:3])
    who = "Trainer" if worst.side == "trainer" else "Rollouters"
    return Finding(
        id="reported-idle",
        severity="low",
        title=f"{who}: idle {percent(worst.reported)} as logged, {percent(worst.reconstructed)} by the timeline",
        body=(
            f"The logged number counts {worst.counts}. It leaves out: {parts or 'nothing that has a name'}; "
            f"{percent(worst.rest)} stay unexplained."
        ),
        run_id=context.run_id,
        evidence=("idle-reported", "bubbles", "idle"),
        owner=worst.side,
        action=Action(
            tier=2,
            knob="instrumentation",
            direction="check",
            text="Decide by the timeline, not by the logged ratio.",
            risk="a trace of a few steps may miss what happens rarely",
            refuted_by="a trace of other steps agrees with the log",
        ),
    )


def length_drift(context: Context) -> Finding | None:
    """Responses get longer or shorter along the window, so that times of a step are not alike."""
    values = logged_values(context.run, context.result.steady_state, LENGTH)
    quarter = len(values) // 4
    if quarter < FEWEST_STEPS or float(values[:quarter].mean()) <= 0:
        return None
    first, last = mean_of_series(values[:quarter]), mean_of_series(values[-quarter:])
    low, high = difference_of_means(last, first).interval()
    drift = last.value / first.value - 1
    if low <= 0 <= high or abs(drift) < LENGTH_DRIFT:
        return None
    longer = drift > 0
    return Finding(
        id="length-drift",
        severity="low",
        title=f"Responses get {'longer' if longer else 'shorter'} along the window: {signed_percent(drift, 0)}",
        body=(
            f"From the first to the last quarter of the window the mean response goes from {count(first.value)} to "
            f"{count(last.value)} tokens. Generation, update and the balance of the two sides move with it."
        ),
        run_id=context.run_id,
        evidence=("response-length",),
        owner="unknown",
        action=Action(
            tier=1,
            knob="workload",
            direction="check",
            text="Compare runs at equal samples and by tokens, and look at the balance again late in training.",
            risk="a balance that is right at the begin is wrong at the end",
            refuted_by="longer runs show the length going back",
        ),
    )


def wait_moved(analysis: Analysis) -> Finding | None:
    """The Trainer waits less, but the step is not shorter: the time went to another phase."""
    for comparison in analysis.comparisons:
        found = _moved(analysis, comparison)
        if found is not None:
            return found
    return None


def _moved(analysis: Analysis, comparison: ComparisonResult) -> Finding | None:
    baseline, variant = analysis.runs[comparison.baseline_id], analysis.runs[comparison.variant_id]
    verdict = comparison.throughput.headline.verdict
    if not comparison.comparable or verdict not in ("within-noise", "equivalent", "regressed"):
        return None
    if {baseline.run.mode, variant.run.mode} - SEPARATED_MODES:
        return None
    before, after = baseline.time_split, variant.time_split
    wait = "time.wait_s"
    if not before.step_s or not after.step_s or wait not in before.seconds or wait not in after.seconds:
        return None
    saved_s = before.seconds[wait] - after.seconds[wait]
    grown_s, phase = max((_growth(baseline, variant, name), name) for name in PHASES if name != wait)
    if saved_s < MOVED_WAIT * before.step_s or grown_s < CAME_BACK * saved_s:
        return None
    label = METRICS[phase].label
    return Finding(
        id="wait-moved",
        severity="medium",
        title=f"The wait moved, it did not go away: {label} takes {number(grown_s)} s more",
        body=(
            f"The Trainer waits {number(saved_s)} s a step less than in {baseline.run.label}, and {label} takes "
            f"{number(grown_s)} s more; throughput is at {ratio(comparison.throughput.headline.ratio)} of it "
            f"({verdict.replace('-', ' ')})."
        ),
        run_id=comparison.variant_id,
        evidence=("time-split", "ratios"),
        owner="trainer",
        action=Action(
            tier=1,
            knob="resources",
            direction="check",
            text=f"Do not count the shorter wait as a gain: look for what makes {label} longer.",
            risk="tuning one number makes another one worse",
            refuted_by="the total of waiting and that phase falls on a longer window",
        ),
    )


def _growth(baseline: RunResult, variant: RunResult, phase: str) -> float:
    """By how many seconds a step a phase grew; a phase that a run does not log grows by nothing that is known."""
    before, after = baseline.time_split.seconds.get(phase), variant.time_split.seconds.get(phase)
    return 0.0 if before is None or after is None else after - before

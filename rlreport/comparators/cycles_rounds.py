"""The Trainer's rounds in a trace, and which logged steps they belong to.

A *round* ends with an update: waiting, log-probabilities, advantages, update. A logged step holds a fixed number of rounds
(mini-batches of a sync cycle, passes of fully_async). A trace has no step numbers; what ties both together is how long the
updates took, which the log tells too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rlreport.comparators.bubble_paint import busy_state
from rlreport.comparators.chain import first_value
from rlreport.comparators.lanes import TRAINING, Lanes
from rlreport.comparators.window import column_array
from rlreport.run.model import Mode, Run
from rlreport.run.spans import Activity, SpanTable

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from rlreport.comparators.bubble_paint import Times

    Array = NDArray[np.float64]

#: The activity that ends a round: the first of these that the Trainer's lanes show.
CLOSING: tuple[Activity, ...] = ("update_actor", "train", "update_critic")
#: What a round may begin with.
WORK: tuple[Activity, ...] = (*TRAINING, "reward", "advantage")

#: Configuration keys that tell how many rounds a logged step has, by mode.
ROUNDS_KEYS: Mapping[Mode, tuple[str, ...]] = {
    "separate_async": ("trainer.v1.separate_async.parameter_sync_step",),
    "fully_async": ("async_training.trigger_parameter_sync_step",),
}
#: Modes whose line of a version holds the last round of the version before and not its own last one.
SHIFTED_MODES: frozenset[Mode] = frozenset({"fully_async"})

#: Timers below this share of the first one are too short to compare.
SMALL_SHARE = 0.02
#: Updates in the trace and in the log may differ by a common factor (the driver's call includes more) within these bounds.
FACTOR = (0.7, 1.6)
#: What a factor costs: one of 1.05 counts as half a percent of difference.
FACTOR_COST = 0.1
#: Mean absolute difference of both, as a share of the update, up to which a matching is believed.
TOLERANCE = 0.10
#: A matching stands when every other one fits worse by this factor, and by this much.
RIVAL_FACTOR, RIVAL_MARGIN = 2.0, 1e-4
#: With as many rounds as the log has, the natural matching is taken when it fits nearly as well as the best one.
NEARLY = 0.005
#: Activities whose seconds are compared, with their timers; those that both the trace and the log tell.
COMPARED: tuple[tuple[Activity, str], ...] = (
    ("update_actor", "time.update_actor_s"),
    ("old_log_prob", "time.old_log_prob_s"),
    ("ref", "time.ref_s"),
    ("update_critic", "time.update_critic_s"),
)
_JITTER_NS = 5_000_000
_MOST_ROUNDS = 256


@dataclass(frozen=True, slots=True, eq=False)
class Rounds:
    """Rounds in order: `start_ns` is the first traced work, `end_ns` the end of the update, `update_s` how long it took.

    `seconds` are those of each round by timer, a mean over the lanes, for the activities of `COMPARED` that the trace shows.
    """

    start_ns: Times
    end_ns: Times
    update_s: Array
    seconds: Mapping[str, Array]

    def __len__(self) -> int:
        return len(self.start_ns)


@dataclass(frozen=True, slots=True)
class Matching:
    """Logged steps and their rounds: step -> its first round; each has `per_step` rounds.

    `residual` is how much the updates in the trace and in the log differ, as a share; `shifted` says that a step's line
    begins with the last round of the version before.
    """

    first_round: Mapping[int, int]
    per_step: int
    residual: float
    shifted: bool


def find_rounds(table: SpanTable, lanes: Lanes) -> Rounds:
    """The rounds that the Trainer's lanes show; none without an update."""
    import numpy as np

    ranks = np.array([use.code for use in lanes.of("trainer")], np.int32)
    mine = np.isin(table.lane, ranks)
    closing = next((a for a in CLOSING if bool((mine & (table.activity == busy_state(a))).any())), None)
    empty = np.array([], np.int64)
    if closing is None:
        return Rounds(empty, empty, np.array([]), {})
    chosen = mine & (table.activity == busy_state(closing))
    by_lane = {int(code): np.flatnonzero(chosen & (table.lane == code)) for code in np.unique(table.lane[chosen])}
    counts = [len(rows) for rows in by_lane.values()]
    usual = max(set(counts), key=lambda count: (counts.count(count), count))
    rows = np.stack([np.sort(found) for found in by_lane.values() if len(found) == usual])
    begin, end = table.start_ns[rows], table.end_ns[rows]
    closes, opens = end.max(axis=0), begin.min(axis=0)
    work = np.sort(table.start_ns[mine & np.isin(table.activity, [busy_state(activity) for activity in WORK])])
    after = np.concatenate([[np.iinfo(np.int64).min], closes[:-1] - _JITTER_NS])
    places = np.searchsorted(work, after)
    first = np.where(places < len(work), work[np.minimum(places, len(work) - 1)], opens)
    update_s = (end - begin).mean(axis=0) / 1e9
    seconds = {COMPARED[0][1]: update_s} if closing != "update_critic" else {}
    for activity, metric in COMPARED[1:]:
        shown = mine & (table.activity == busy_state(activity))
        if shown.any() and activity != closing:
            place = np.searchsorted(closes, (table.start_ns[shown] + table.end_ns[shown]) // 2)
            length = (table.end_ns[shown] - table.start_ns[shown]) / 1e9
            lanes_shown = len(np.unique(table.lane[shown]))
            seconds[metric] = np.bincount(place, length, len(closes) + 1)[: len(closes)] / lanes_shown
    return Rounds(np.minimum(first, opens), closes, update_s, seconds)


def match_rounds(run: Run, rounds: Rounds) -> Matching | None:
    """Which rounds a logged step has, by the seconds of its work; None when nothing fits or several things fit as well.

    The number of rounds a step and the place of the first step in the trace are searched together: the trace may cover a
    part of the run and begin within a step. Both sides may differ by one common factor for each timer. Where durations do
    not tell places apart, a trace with as many rounds as the log is taken to begin where the log does.
    """
    import numpy as np

    columns = {metric: column_array(run, metric) for metric in rounds.seconds if run.metric(metric) is not None}
    known = np.ones(len(run.steps), bool)
    for values in columns.values():
        known &= np.isfinite(values) & (values > 0)
    steps = np.asarray(run.steps.index, np.int64)[known]
    pairs = [(rounds.seconds[metric], values[known]) for metric, values in columns.items()]
    pairs = [pair for pair in pairs if pair[1].sum() >= SMALL_SHARE * pairs[0][1].sum()]
    if not len(rounds) or not len(steps) or not pairs:
        return None
    logged = pairs[0][1]
    shifted = run.mode in SHIFTED_MODES
    for per_step in _candidates(run, len(rounds), len(logged), rounds.update_s, logged):
        usual = (per_step - 1, 1 if per_step > 1 else 0) if shifted else (0, 0)
        fits = [fit for fit in _fits(pairs, per_step) if fit.residual <= TOLERANCE]
        if not fits:
            continue
        least = min(fit.residual for fit in fits)
        near = [fit for fit in fits if fit.residual <= RIVAL_FACTOR * least + RIVAL_MARGIN]
        if abs(len(rounds) - per_step * len(logged)) <= per_step:
            natural = [fit for fit in fits if (fit.first_round, fit.first_line) == usual]
            near = [fit for fit in natural if fit.residual <= least + NEARLY] or near
        most = max(fit.steps for fit in near)
        near = [fit for fit in near if fit.steps == most]
        if len(near) != 1:
            return None
        fit = near[0]
        first_round = {int(steps[fit.first_line + n]): fit.first_round + n * per_step for n in range(fit.steps)}
        return Matching(first_round, per_step, fit.residual, shifted)
    return None


@dataclass(frozen=True, slots=True)
class _Fit:
    """One way to lay the log over the trace: from which round and which line on, for how many steps, how well."""

    residual: float
    first_round: int
    first_line: int
    steps: int


def _fits(pairs: Sequence[tuple[Array, Array]], per_step: int) -> list[_Fit]:
    """Every way to lay the log over the trace; `pairs` are seconds by round and by line, one pair a timer."""
    import numpy as np

    n_rounds, n_lines = len(pairs[0][0]), len(pairs[0][1])
    fits: list[_Fit] = []
    for offset in range(min(per_step, n_rounds - per_step + 1)):
        groups = (n_rounds - offset) // per_step
        used = slice(offset, offset + groups * per_step)
        every = [_residuals(of[used].reshape(groups, per_step).sum(axis=1), logged) for of, logged in pairs]
        for place, residual in enumerate(np.mean(every, axis=0).tolist()):
            in_log = groups <= n_lines
            skipped, line = (0, place) if in_log else (place, 0)
            fits.append(_Fit(residual, offset + skipped * per_step, line, min(groups, n_lines)))
    return fits


def _candidates(run: Run, n_rounds: int, n_logged: int, update_s: Array, logged: Array) -> Sequence[int]:
    """Numbers of rounds that a step may have: what the configuration says, what counts say, what durations say."""
    import numpy as np

    told = first_value(run, ROUNDS_KEYS.get(run.mode, ()))
    ratio = float(np.median(logged) / np.median(update_s)) if len(update_s) else 1.0
    guesses = [
        round(told[1]) if told else 0,
        round(n_rounds / n_logged),
        *(round(ratio) + shift for shift in (0, -1, 1)),
    ]
    return list(dict.fromkeys(guess for guess in guesses if 1 <= guess <= min(n_rounds, _MOST_ROUNDS)))


def _residuals(sums: Array, logged: Array) -> Array:
    """Mean absolute difference of the shorter series from every stretch of the longer one, over its mean.

    A common factor is taken out first and counts a little itself, so that few steps cannot be made to fit anywhere.
    """
    import numpy as np

    short, long = (sums, logged) if len(sums) <= len(logged) else (logged, sums)
    windows = np.lib.stride_tricks.sliding_window_view(long, len(short))
    factor = np.median(windows / short, axis=1)
    difference = np.abs(windows - factor[:, None] * short).mean(axis=1) / windows.mean(axis=1)
    relative = factor if len(sums) <= len(logged) else 1 / factor
    bad = (relative < FACTOR[0]) | (relative > FACTOR[1])
    return np.asarray(np.where(bad, np.inf, difference + FACTOR_COST * np.abs(np.log(relative))), np.float64)

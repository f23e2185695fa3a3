"""Results without steps: the single numbers that a published table or a colleague's message gives of a run.

A result is a number with its quantity, its unit, the steps that it is about (where its author says so) and the place it was
taken from. It has no spread, so nothing that is computed from it has an interval.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from rlreport.run.format import as_given, count
from rlreport.run.metrics import METRICS, Metric

#: Time since the start of a run when a step was done; with `to_step` it is the total time of that many steps.
ELAPSED = "clock.wall_s"
STEP_TIME = "time.step_s"
WAIT = "time.wait_s"
RATE = "rate.tokens_per_s"
RATE_PER_DEVICE = "perf.throughput_reported"
TOKENS = "work.tokens"
LENGTH = "length.response_mean"
BEST_ACCURACY = "quality.accuracy_best"
LAST_ACCURACY = "quality.accuracy_last"
CLAIM = "claim.speedup"

_MORE: tuple[tuple[str, str, str, str], ...] = (
    (RATE, "tokens/s", "tokens/s, all devices", "tokens over time, of all devices together"),
    (BEST_ACCURACY, "", "validation accuracy, best", "the largest of all evaluations of the run"),
    (LAST_ACCURACY, "", "validation accuracy, last", "the last evaluation of the run"),
    (CLAIM, "×", "speed-up as published", "the author's own ratio of the baseline's time to this run's"),
)

#: What a result may be about: every canonical metric, and what only summaries have.
QUANTITIES: Mapping[str, Metric] = {**METRICS, **{row[0]: Metric(*row) for row in _MORE}}


@dataclass(frozen=True, slots=True)
class Summary:
    """One published number.

    Args:
        run: The run's name in its table.
        quantity: A name of `QUANTITIES`.
        value: The number, in the quantity's unit.
        unit: That unit.
        from_step: First step that the number is about, None where that is not told.
        to_step: Last of these steps, None where that is not told.
        source: Where it was published, as its table cites it.
        where: Where it was read, as "file:line".
        resolution: One unit of the last digit that was given, in the quantity's unit: 0.01 for 294.77 s, 60 for 13h 44m.
    """

    run: str
    quantity: str
    value: float
    unit: str
    from_step: int | None
    to_step: int | None
    source: str
    where: str
    resolution: float

    @property
    def from_start(self) -> bool:
        """Whether the steps are counted from the first one, or the table does not say from which."""
        return self.from_step is None or self.from_step <= 1


def summary_line(summary: Summary) -> str:
    """One result as a line of text: its run, quantity, value with unit, steps and source."""
    unit = f" {summary.unit}" if summary.unit else ""
    steps = "steps not told"
    if summary.to_step is not None:
        steps = f"steps {count(summary.from_step)} to {count(summary.to_step)}"
    value = f"{as_given(summary.value, summary.resolution)}{unit}"
    return f"{summary.run:<16} {summary.quantity:<24} {value}, {steps} ({summary.source or 'no source'})"

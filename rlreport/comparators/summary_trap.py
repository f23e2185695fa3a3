"""What a trap in published numbers is, and the words that the rules share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from rlreport.comparators.summary import PublishedRun, SpeedUp, SummaryComparison
from rlreport.run.format import as_given, join_words, ratio
from rlreport.run.summary import Summary


@dataclass(frozen=True, slots=True)
class Trap:
    """One way in which published numbers mislead.

    `title` says it, `why` what follows for a reader, `evidence` holds the numbers, one sentence a case; `remedy` completes
    "it would take ..."; `runs` are the ids of the runs concerned.
    """

    id: str
    title: str
    why: str
    evidence: tuple[str, ...]
    remedy: str
    runs: tuple[str, ...]


#: A rule reads the runs of a report and its pairs; where the numbers agree it gives None.
Rule = Callable[[Sequence[PublishedRun], Sequence[SummaryComparison]], Trap | None]


@dataclass(frozen=True, slots=True)
class Case:
    """One case that a rule found: the sentence with its numbers, and the runs it is about."""

    sentence: str
    runs: tuple[PublishedRun, ...]


def trap_of(cases: Sequence[Case], trap_id: str, title: str, why: str, remedy: str) -> Trap | None:
    """The trap that the cases make; None without a case."""
    if not cases:
        return None
    runs = dict.fromkeys(run.run.run_id for case in cases for run in case.runs)
    return Trap(trap_id, title, why, tuple(dict.fromkeys(case.sentence for case in cases)), remedy, tuple(runs))


def pair_words(pair: SummaryComparison) -> str:
    """The pair's labels: "variant against baseline"."""
    return f"{pair.variant.label} against {pair.baseline.label}"


def speed_ups(found: Sequence[SpeedUp]) -> str:
    """Speed-ups as a list: "1.72×, 1.70× and 2.31×"."""
    return join_words([ratio(one.ratio) for one in found])


def given(result: Summary) -> str:
    """A result with the digits of its source and its unit."""
    unit = f" {result.unit}" if result.unit else ""
    return f"{as_given(result.value, result.resolution)}{unit}"


def spread(ratios: Sequence[float]) -> float:
    """How far apart ratios lie, as a fraction of the smallest."""
    return max(ratios) / min(ratios) - 1 if ratios else 0.0

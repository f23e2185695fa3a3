"""Whether the runs of a group are replicates: alike in everything but the seed, each with a seed of its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rlreport.comparators.change import compare_config
from rlreport.comparators.change_facts import SEED_PATTERNS, seeds_of
from rlreport.comparators.change_values import same_value, written
from rlreport.comparators.results import KnobDifference
from rlreport.run.diagnostics import Notice
from rlreport.run.format import join_words, plural
from rlreport.run.knobs import matches
from rlreport.run.model import Run
from rlreport.run.rules import NO_POLICY, ChangePolicy

#: How many differing knobs a reason spells out.
SHOWN = 4


@dataclass(frozen=True, slots=True)
class ReplicateCheck:
    """The runs of one group, and which of them count as replicates.

    `accepted` are run ids that differ from the first one in seeds only, in the order given; `refused` maps each other run to
    the reason. `seeds_known` says that every accepted run tells a seed; where it does not, two of them may have had the same
    one. A group of one accepted run has no replicates.
    """

    group: str
    accepted: tuple[str, ...]
    refused: Mapping[str, str] = field(default_factory=dict)
    seeds_known: bool = False
    notices: tuple[Notice, ...] = ()

    @property
    def are_replicates(self) -> bool:
        """Whether there are two or more runs that can stand for each other."""
        return len(self.accepted) > 1


def check_replicates(runs: Sequence[Run], policy: ChangePolicy = NO_POLICY) -> ReplicateCheck:
    """Check the runs of one group against the first of them.

    A run that differs in a knob other than a seed is refused, as is one whose seeds are all those of a run accepted before
    it: it repeats that run and says nothing of the spread between runs. Names, paths and parts that do not run do not count,
    nor does what the policy waives or leaves free.

    Raises:
        ValueError: no run is given.
    """
    if not runs:
        raise ValueError("a group has one run at least")
    first = runs[0]
    group = first.group or first.run_id
    accepted: list[Run] = [first]
    refused: dict[str, str] = {}
    for run in runs[1:]:
        reason = _difference(first, run, policy) or next((r for other in accepted if (r := _repeats(other, run))), None)
        if reason is None:
            accepted.append(run)
        else:
            refused[run.run_id] = reason
    silent = [run.label for run in accepted if not seeds_of(run)]
    return ReplicateCheck(
        group=group,
        accepted=tuple(run.run_id for run in accepted),
        refused=refused,
        seeds_known=not silent,
        notices=tuple(_notices(group, runs, refused, silent if len(accepted) > 1 else [])),
    )


def check_groups(runs: Mapping[str, Run], policy: ChangePolicy = NO_POLICY) -> tuple[ReplicateCheck, ...]:
    """The check of every group that has more than one run, in the order in which groups appear."""
    groups: dict[str, list[Run]] = {}
    for run in runs.values():
        if run.group is not None:
            groups.setdefault(run.group, []).append(run)
    return tuple(check_replicates(members, policy) for members in groups.values() if len(members) > 1)


def _difference(first: Run, run: Run, policy: ChangePolicy) -> str | None:
    """Why two runs are not alike, None when they are but for their seeds."""
    if not first.config or not run.config:
        missing = first if not first.config else run
        return f"the configuration of {missing.label} is not known, so that it may differ in anything"
    change = compare_config(first, run, declared=(), policy=policy)
    moved = [d for d in change.differences if d.waived is None and not _is_seed(d.key)]
    if not moved:
        return None
    words = [_words(difference) for difference in moved[:SHOWN]]
    rest = len(moved) - SHOWN
    more = f", and {plural(rest, 'more knob')}" if rest > 0 else ""
    return f"it differs from {first.label} in more than the seed: {', '.join(words)}{more}"


def _is_seed(key: str) -> bool:
    return any(matches(pattern, part) for part in key.split(" / ") for pattern in SEED_PATTERNS)


def _words(difference: KnobDifference) -> str:
    return f"{difference.key} {written(difference.baseline)} against {written(difference.variant)}"


def _repeats(other: Run, run: Run) -> str | None:
    """Why a run repeats another one, None when it does not or when that is not known."""
    seeds: list[dict[str, Any]] = [seeds_of(other), seeds_of(run)]
    if not all(seeds) or seeds[0].keys() != seeds[1].keys():
        return None
    if not all(same_value(value, seeds[1][key]) for key, value in seeds[0].items()):
        return None
    shown = ", ".join(f"{key} = {written(value)}" for key, value in list(seeds[1].items())[:SHOWN])
    return f"it has the same seed as {other.label} ({shown}): it repeats that run and is no replicate"


def _notices(group: str, runs: Sequence[Run], refused: Mapping[str, str], silent: Sequence[str]) -> list[Notice]:
    labels = {run.run_id: run.label for run in runs}
    notices = [
        Notice("RR435", f"group {group}: {labels[run_id]} is refused: {reason}") for run_id, reason in refused.items()
    ]
    if silent:
        message = (
            f"group {group}: no seed of {join_words(silent)} is known, so that these runs are taken as replicates without "
            "being known to have different seeds"
        )
        notices.append(Notice("RR436", message))
    return notices

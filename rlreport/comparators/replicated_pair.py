"""The groups of a pair: which runs count as replicates of each arm, and the arms compared with runs as the unit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from rlreport.comparators.arm import BY_NAME
from rlreport.comparators.replicated import ReplicatedComparison, compare_replicates
from rlreport.comparators.replicates import check_replicates
from rlreport.comparators.results import ThroughputComparison
from rlreport.comparators.steady_state import find_steady_state
from rlreport.run.diagnostics import Notice
from rlreport.run.model import Run
from rlreport.run.rules import NO_POLICY, ChangePolicy


def compare_pair_groups(
    baseline_id: str,
    variant_id: str,
    runs: Mapping[str, Run],
    groups: Mapping[str, Sequence[str]],
    throughput: ThroughputComparison,
    *,
    policy: ChangePolicy = NO_POLICY,
    from_step: int | None = None,
    to_step: int | None = None,
    comparable: bool = True,
) -> ReplicatedComparison | None:
    """Compare a pair with runs as the unit, where an arm has replicates; None where neither has.

    `runs` holds every run, `groups` the other runs of a run's group (see `replicated.replicates_by_run`). Runs that differ
    in more than the seed, or repeat a seed, are refused; what the check says of them is among the notices. `throughput` is
    the pair's own comparison, whose headline metric and margin are used; `from_step` and `to_step` are the declared window.
    """
    headline = throughput.headline
    if headline.metric not in BY_NAME:
        return None
    arms: list[list[Run]] = []
    notices: list[Notice] = []
    for run_id in (baseline_id, variant_id):
        members = [runs[name] for name in (run_id, *groups.get(run_id, ())) if name in runs]
        checked = check_replicates(members, policy)
        arms.append([run for run in members if run.run_id in checked.accepted])
        if len(members) > 1:
            notices.extend(checked.notices)
    own = [[find_steady_state(run, from_step=from_step, to_step=to_step) for run in arm] for arm in arms]
    found = compare_replicates(
        arms[0], arms[1], own[0], own[1], metric=headline.metric, margin=headline.margin, comparable=comparable
    )
    return None if found is None else replace(found, notices=(*found.notices, *notices))

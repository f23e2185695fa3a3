"""Whether two runs may be compared: everything that should hold between them, and whether it does.

A comparison stands on many conditions, of which a log tells some, contradicts some, and is silent about others. The list
says of each which it is. It does not decide: what keeps runs from being compared stands in `Change.blocking`, and
`comparators.judge` has the last word.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rlreport.comparators.comparability_config import (
    as_declared_check,
    class_check,
    config_known_check,
    fact_check,
    invariants_check,
    rules_check,
    seeds_check,
    version_check,
)
from rlreport.comparators.comparability_items import Check, ComparabilityItem, PairEvidence, Standing
from rlreport.comparators.comparability_windows import (
    devices_check,
    equal_samples_check,
    lengths_check,
    replicates_check,
    steady_check,
    step_meaning_check,
)
from rlreport.comparators.replicates import ReplicateCheck
from rlreport.comparators.results import Change, SteadyState, ThroughputComparison
from rlreport.run.model import Run

__all__ = ["Comparability", "ComparabilityItem", "Standing", "comparability"]


#: What should hold, in the order in which it is shown.
CHECKS: tuple[Check, ...] = (
    as_declared_check,
    config_known_check,
    fact_check("model", "Same model", "model"),
    fact_check("data", "Same training data", "training data"),
    class_check("workload", "Same prompts, limits and sampling", "workload", ("model", "training data")),
    class_check("algorithm", "Same training hyperparameters", "algorithm"),
    class_check("engine", "Same engine settings", "engine"),
    seeds_check,
    devices_check,
    fact_check("hardware", "Same kind of device", "device model"),
    version_check,
    fact_check("libraries", "Same library versions", "library versions"),
    step_meaning_check,
    steady_check,
    equal_samples_check,
    lengths_check,
    invariants_check,
    rules_check,
    replicates_check,
)


@dataclass(frozen=True, slots=True)
class Comparability:
    """The list of one pair, in a fixed order, each item with a name of its own."""

    items: tuple[ComparabilityItem, ...]

    def item(self, name: str) -> ComparabilityItem:
        """The item of a name. Raises KeyError when there is none."""
        for item in self.items:
            if item.name == name:
                return item
        raise KeyError(name)

    def of(self, standing: Standing) -> tuple[ComparabilityItem, ...]:
        """The items that stand so."""
        return tuple(item for item in self.items if item.standing == standing)

    @property
    def unexpected(self) -> tuple[ComparabilityItem, ...]:
        """What fails without being the change that was declared."""
        return tuple(item for item in self.of("fails") if not item.expected)


def comparability(
    change: Change,
    throughput: ThroughputComparison,
    windows: tuple[SteadyState, SteadyState],
    runs: tuple[Run, Run],
    replicates: Sequence[ReplicateCheck] = (),
) -> Comparability:
    """Check everything that should hold between two runs.

    Args:
        change: what differs between their configurations.
        throughput: the comparison of their throughput, of which the equality of the device basis is read.
        windows: the windows over which they are compared, the baseline's first.
        runs: the baseline and the variant.
        replicates: the checked groups of the report's runs; without the group of an arm that arm is one run.

    Returns:
        Each condition with "holds", "fails" or "unknown" and a short reason. What no source tells is unknown.
    """
    evidence = PairEvidence(change, throughput, windows, runs, tuple(replicates))
    return Comparability(tuple(item for check in CHECKS if (item := check(evidence)) is not None))

"""One condition of a fair comparison, and what conditions are checked on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from rlreport.comparators.replicates import ReplicateCheck
from rlreport.comparators.results import Change, KnobDifference, SteadyState, ThroughputComparison
from rlreport.run.model import Run

Standing = Literal["holds", "fails", "unknown"]

#: How many differences a reason spells out.
SHOWN = 3
#: The reason of a condition that holds because nothing of its kind differs.
NO_DIFFERENCE = "no difference"
SIDES = ("baseline", "variant")


@dataclass(frozen=True, slots=True)
class ComparabilityItem:
    """One condition: its short name, what should hold in words, how it stands, and why in a few words.

    `expected` says that it fails because of the change that was declared, or by a waiver or rule of the author.
    """

    name: str
    title: str
    standing: Standing
    reason: str
    expected: bool = False


@dataclass(frozen=True, slots=True)
class PairEvidence:
    """What the conditions are checked on."""

    change: Change
    throughput: ThroughputComparison
    windows: tuple[SteadyState, SteadyState]
    runs: tuple[Run, Run]
    replicates: tuple[ReplicateCheck, ...] = ()

    @property
    def config_known(self) -> bool:
        """Whether both configurations are known as a whole."""
        return all(run.config for run in self.runs) and not self.change.partial

    def expects(self, moved: Sequence[KnobDifference]) -> bool:
        """Whether some differences are all declared or waived, or follow from one that is."""
        by_key = {difference.key: difference for difference in self.change.differences}
        leads = [by_key.get(d.coupled_by, d) if d.coupled_by is not None else d for d in moved]
        return all(d.declared or d.waived is not None for d in leads)


#: A condition; None where there is nothing to check.
Check = Callable[[PairEvidence], ComparabilityItem | None]

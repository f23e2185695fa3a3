"""What a finding is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Severity = Literal["high", "medium", "low"]
Direction = Literal["increase", "decrease", "change", "keep", "check"]
FindingOwner = Literal["trainer", "rollout", "both", "unknown"]


@dataclass(frozen=True, slots=True)
class Action:
    """What to try next.

    `tier` is the guide's tier (1 resources, 2 deterministic bubbles, 3 batch sizes and sync, 4 off-policy); `knob` the key
    or class to move; `text` the action as a sentence; `gain_bound` the largest possible gain as a ratio (1.77 is +77 %),
    None where the data do not bound it, `gain_expected` the gain under the assumption that the text names, None where no
    assumption gives one, and `gain_of` what both are gains of; `risk` what the action may cost; `refuted_by`
    what would show the finding wrong (it completes "refuted if").
    """

    tier: int
    knob: str
    direction: Direction
    text: str
    gain_bound: float | None = None
    gain_expected: float | None = None
    refuted_by: str = ""
    risk: str = ""
    gain_of: str = "throughput"


@dataclass(frozen=True, slots=True)
class Finding:
    """One finding about a run: a title that says it, the numbers behind it, the ids of figures and tables that show it.

    `fragment` holds the manifest's lines for the next experiment, empty where there is none to be made.
    """

    id: str
    severity: Severity
    title: str
    body: str
    run_id: str
    evidence: tuple[str, ...]
    owner: FindingOwner
    action: Action | None = None
    fragment: str = ""

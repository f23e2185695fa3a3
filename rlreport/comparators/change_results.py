"""What change validation finds beside the differences: rules, waivers and invariants, each with how it stands."""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from typing import Literal

from rlreport.run.rules import RuleKind, RuleLevel

#: How something that should hold stands: what cannot be checked is unknown, never taken to hold.
Standing = Literal["holds", "violated", "unknown"]
WaiverState = Literal["holds", "expired", "not judged", "meets no difference"]


@dataclass(frozen=True, slots=True)
class RuleFinding:
    """One rule of the author, checked on both sides; `message` says what was found, with the values."""

    knob: str
    kind: RuleKind
    level: RuleLevel
    standing: Standing
    message: str
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class WaiverUse:
    """One waiver: the keys whose difference it covers, and whether it still holds.

    "not judged" holds, but its last day could not be compared with any known day; "expired" does not hold.
    """

    knob: str
    reason: str
    state: WaiverState
    expires: datetime.date | None = None
    keys: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class InvariantFinding:
    """One arithmetic relation that a framework asks of a run's configuration, checked with the run's own numbers."""

    run_id: str
    name: str
    standing: Standing
    message: str
    source: str

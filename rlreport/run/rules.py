"""What an author lays down about a comparison: rules for knobs, waivers, and how strict the judgement is.

Plain data that a manifest fills in and that comparisons read. The three kinds of rule are those of benchmark rule files, as
MLPerf's for training: a value that is fixed, one that anybody may choose, one that follows from others by a formula.
"""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from typing import Any, Literal, get_args

RuleKind = Literal["pinned", "free", "derived"]
RuleLevel = Literal["off", "warn", "error"]
Preset = Literal["strict", "exploratory"]

RULE_KINDS: tuple[RuleKind, ...] = get_args(RuleKind)
RULE_LEVELS: tuple[RuleLevel, ...] = get_args(RuleLevel)
PRESETS: tuple[Preset, ...] = get_args(Preset)


@dataclass(frozen=True, slots=True)
class Rule:
    """What holds for one knob, or for all that a pattern covers.

    `knob` is a dotted key, the end of one ("rollout.n"), or a pattern with * and **. A "pinned" knob must not differ and,
    with `has_value`, must be `value` on each side; a "free" one may be anything and its difference does not count; a
    "derived" one must equal `expression` (see `run.expression`) on each side. `level` says what a violation is: "error"
    keeps the runs from being compared, "warn" is a notice, "off" switches the rule off. Of several rules that cover a key
    the last one decides.
    """

    knob: str
    kind: RuleKind
    level: RuleLevel = "error"
    has_value: bool = False
    value: Any = None
    expression: str | None = None
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Waiver:
    """A difference that the author accepts; `expires` is the last day on which it holds, None for no end."""

    knob: str
    reason: str
    expires: datetime.date | None = None


@dataclass(frozen=True, slots=True)
class ChangePolicy:
    """How a change is judged beyond what was declared.

    `preset`: None blocks a comparison on undeclared changes of what must stay fixed; "strict" on every undeclared change;
    "exploratory" as None, but undeclared changes of tuned classes (those with a tier) are warnings that no gate fails on.
    `as_of` is the day on which waivers are judged; None when no day is known.
    """

    rules: tuple[Rule, ...] = ()
    preset: Preset | None = None
    waivers: tuple[Waiver, ...] = ()
    as_of: datetime.date | None = None


#: Nothing beyond what was declared.
NO_POLICY = ChangePolicy()

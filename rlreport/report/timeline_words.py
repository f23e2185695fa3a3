"""Words for timelines: activities, sides, causes, and sentences on who idles for what."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from rlreport.comparators.bubble_results import AccountSide, SideAccount
from rlreport.comparators.lead import Lead
from rlreport.comparators.timeline import Timeline
from rlreport.report.figures_timeline import IDLE_PREFIX, UNTOLD_STATE, State
from rlreport.run import format as fmt
from rlreport.run.model import Mode
from rlreport.run.samples import SampleTable
from rlreport.run.spans import ACTIVITIES, BUSY, CAUSE_WORDS, IDLE_CAUSES, Activity, IdleCause, cause_words

ACTIVITY_WORDS: Mapping[Activity, str] = {
    "generate": "generation",
    "update_actor": "actor update",
    "update_critic": "critic update",
    "old_log_prob": "old log prob",
    "ref": "reference log prob",
    "values": "values",
    "reward": "reward",
    "advantage": "advantage",
    "train": "training",
    "validate": "validation",
    "other": "other work",
    "weight_sync": "weight sync",
    "checkpoint": "checkpoint",
    "switch": "switching",
    "wait": "waiting",
}
SIDE_WORDS: Mapping[AccountSide, str] = {"trainer": "Trainer", "rollout": "Rollouters"}

#: All states that a figure of devices may show: work in the order of a step, then idle time, then what nobody knows.
STATES: tuple[State, ...] = (
    *(State(name=activity, label=ACTIVITY_WORDS[activity]) for activity in ACTIVITIES if activity in BUSY),
    *(State(name=f"{IDLE_PREFIX}{cause}", label=f"idle: {CAUSE_WORDS[cause]}") for cause in IDLE_CAUSES),
    State(name=UNTOLD_STATE, label="work or idle: not known"),
)
STATE_PLACES: Mapping[str, int] = {state.name: place for place, state in enumerate(STATES)}


@dataclass(frozen=True, slots=True, eq=False)
class ShownRun:
    """A run as a timeline section shows it: its look, its timeline, the samples that dumps tell, and its lead.

    `trace_file` is the name of the file beside the page that holds its trace; empty for none.
    """

    run_id: str
    label: str
    role: int
    timeline: Timeline
    samples: tuple[SampleTable, ...] = ()
    mode: Mode = "unknown"
    lead: Lead | None = None
    trace_file: str = ""

    @property
    def causes(self) -> Mapping[IdleCause, str]:
        """Idle causes in the words of the run's mode."""
        return cause_words(self.mode)


def cause_label(runs: Sequence[ShownRun], cause: IdleCause) -> str:
    """A cause in words for several runs: each mode's own, where they differ."""
    return " or ".join(dict.fromkeys(run.causes[cause] for run in runs)) or CAUSE_WORDS[cause]


def states_of(runs: Sequence[ShownRun]) -> tuple[State, ...]:
    """`STATES` in the words of the runs that a figure shows."""
    labels = {f"{IDLE_PREFIX}{cause}": f"idle: {cause_label(runs, cause)}" for cause in IDLE_CAUSES}
    return tuple(replace(state, label=labels.get(state.name, state.label)) for state in STATES)


def is_shared(run: ShownRun) -> bool:
    """Whether training and generation take turns on the same devices: then there is one side only, and no owner."""
    return run.timeline.owner == "neither" and run.timeline.window.rollout is None


def causes_text(side: SideAccount, words: Mapping[IdleCause, str] = CAUSE_WORDS, most: int = 3) -> str:
    """The causes of a side's idle time with their shares, the largest first: "staleness quota 36.1 %, weight sync 8.1 %"."""
    told = [(cause, share) for cause, share in side.shares.items() if share >= 0.001]
    parts = [f"{words[cause]} {fmt.percent(share)}" for cause, share in told[:most]]
    rest = sum(share for _, share in told[most:])
    return ", ".join([*parts, *([f"others {fmt.percent(rest)}"] if rest >= 0.001 else [])])


def idle_text(side: SideAccount) -> str:
    """How much a side idles: "44.2 %", "0.0 % to 12.1 %" where only bounds are known."""
    if side.idle_fraction is not None:
        return fmt.percent(side.idle_fraction)
    if side.at_least is None or (side.at_most is not None and side.at_most - side.at_least > 0.999):
        return "unknown"
    if side.at_most is None or side.at_most > 0.999:
        return f"at least {fmt.percent(side.at_least)}"
    return f"{fmt.percent(side.at_least)} to {fmt.percent(side.at_most)}"


def side_sentence(side: SideAccount, words: Mapping[IdleCause, str] = CAUSE_WORDS) -> str:
    """One side in a clause: "Rollouters idle 44.2 %: staleness quota 36.1 %, weight sync 8.1 %"."""
    causes = causes_text(side, words)
    return f"{SIDE_WORDS[side.side]} idle {idle_text(side)}{': ' + causes if causes else ''}"


def sides_text(
    trainer: SideAccount | None, rollout: SideAccount | None, words: Mapping[IdleCause, str] = CAUSE_WORDS
) -> str:
    """Both sides, the one that idles more first."""
    sides = [side for side in (trainer, rollout) if side is not None]
    ordered = sorted(sides, key=lambda side: -(side.at_least or 0.0))
    return ". ".join(side_sentence(side, words) for side in ordered) + ("." if ordered else "")


def devices_text(count: float | None, lanes: int, one: str = "device") -> str:
    """A count of devices ("256 devices"), of lanes where devices are not known."""
    if count is None:
        return fmt.plural(lanes, "lane")
    return fmt.plural(round(count), one)

"""Accounts of device time: busy and idle device-seconds by side and by cause."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from rlreport.run.spans import IDLE_CAUSES, Activity, IdleCause

AccountBasis = Literal["spans", "metrics"]
AccountSide = Literal["trainer", "rollout"]
Owner = Literal["trainer", "rollout", "neither", "unknown"]

#: Causes for which a side idles because the other one is slower.
WAITS_FOR_OTHER: Mapping[AccountSide, tuple[IdleCause, ...]] = {
    "trainer": ("samples",),
    "rollout": ("quota", "queue_full"),
}
#: Up to this share of untold time an idle share is told as a number: it is then right within one point.
MOST_UNTOLD = 0.02
#: A side owns the bubble when it waits for the other side in this much more of its time than the other way round.
OWNER_MARGIN = 0.05


@dataclass(frozen=True, slots=True)
class SideAccount:
    """The device time of one side over a stretch of time.

    `weight` is the number of devices, of lanes where `devices` is None. `busy` and `idle` are device-seconds (or
    lane-seconds) by activity and by cause; `untold_s` those of which it is not known whether the devices worked. With an
    account from spans nothing is untold. `at_least` and `at_most` bound the idle share where it is not known itself.
    """

    side: AccountSide
    devices: float | None
    weight: float
    wall_s: float
    busy: Mapping[Activity, float]
    idle: Mapping[IdleCause, float]
    untold_s: float = 0.0
    source: str = ""
    at_least: float | None = None
    at_most: float | None = None

    @property
    def total_s(self) -> float:
        """Wall time times devices."""
        return self.wall_s * self.weight

    @property
    def busy_s(self) -> float:
        """Device-seconds of work."""
        return sum(self.busy.values())

    @property
    def idle_s(self) -> float:
        """Device-seconds without work."""
        return sum(self.idle.values())

    @property
    def residual(self) -> float:
        """How far busy + idle + untold is from wall x devices, as a share of it: the identity that must hold."""
        return (self.busy_s + self.idle_s + self.untold_s) / self.total_s - 1 if self.total_s else 0.0

    @property
    def idle_fraction(self) -> float | None:
        """Idle share of the device time, the middle of its bounds; None where these are more than two points apart."""
        if not self.total_s or self.untold_s > MOST_UNTOLD * self.total_s:
            return None
        return (self.idle_s + self.untold_s / 2) / self.total_s

    def share(self, *causes: IdleCause) -> float:
        """Share of the device time that is idle for some causes."""
        return sum(self.idle.get(cause, 0.0) for cause in causes) / self.total_s if self.total_s else 0.0

    @property
    def shares(self) -> dict[IdleCause, float]:
        """The share of every cause that there is, the largest first."""
        found = {cause: self.share(cause) for cause in IDLE_CAUSES if self.idle.get(cause)}
        return dict(sorted(found.items(), key=lambda item: (-item[1], IDLE_CAUSES.index(item[0]))))

    @property
    def largest(self) -> tuple[IdleCause, float] | None:
        """The cause with the largest share."""
        return next(iter(self.shares.items()), None)


@dataclass(frozen=True, slots=True)
class DeviceAccount:
    """Both sides over one stretch of time, in seconds from the begin of the trace (or of the window, from metrics alone).

    A side is None where nothing is known of it; `missing` says why.
    """

    basis: AccountBasis
    start_s: float
    end_s: float
    trainer: SideAccount | None
    rollout: SideAccount | None
    missing: Mapping[AccountSide, str]

    def side(self, name: AccountSide) -> SideAccount | None:
        """The account of one side."""
        return self.trainer if name == "trainer" else self.rollout

    @property
    def residual(self) -> float:
        """The largest deviation from busy + idle = wall x devices, as a share."""
        return max((abs(side.residual) for side in (self.trainer, self.rollout) if side is not None), default=0.0)


@dataclass(frozen=True, slots=True)
class CycleAccount:
    """The account of one cycle: the steps trained in it and the version at its end, None where they are not known."""

    account: DeviceAccount
    first_step: int | None
    last_step: int | None
    version: int | None


def bubble_owner(account: DeviceAccount, *, separated: bool) -> Owner:
    """Which side waits for the other: the one that does so in clearly more of its time.

    Time in which both stop (weight sync) or that nobody could fill by moving devices (long tail) says nothing of it. What is
    not told, and idle time whose cause is not known, may be such waiting: the owner must be the same whatever it was. A
    log's timer of the Trainer's waiting holds all of it.
    """
    if not separated:
        return "neither"
    if account.trainer is None or account.rollout is None:
        return "unknown"
    trainer, rollout = account.trainer, account.rollout
    waits = trainer.share(*WAITS_FOR_OTHER["trainer"]), rollout.share(*WAITS_FOR_OTHER["rollout"])
    doubts = [side.share("unknown") + side.untold_s / side.total_s for side in (trainer, rollout)]
    if account.basis == "metrics" and "samples" in trainer.idle:
        doubts[0] = 0.0
    most = [wait + doubt for wait, doubt in zip(waits, doubts, strict=True)]
    if waits[0] - most[1] >= OWNER_MARGIN:
        return "trainer"
    if waits[1] - most[0] >= OWNER_MARGIN:
        return "rollout"
    return "neither" if max(most[0] - waits[1], most[1] - waits[0]) < OWNER_MARGIN else "unknown"

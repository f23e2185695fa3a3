"""Doubts about what the two arms are, whatever their configurations say: the same file twice, device counts at odds."""

from __future__ import annotations

from rlreport.run.format import number
from rlreport.run.model import Run

#: Relative distance between a device count and the one that the log implies, beyond which they contradict each other.
DEVICE_TOLERANCE = 0.01


def doubts(baseline: Run, variant: Run) -> tuple[str, ...]:
    """Why the two runs cannot stand against each other, as the ends of a sentence; empty when there is no such doubt."""
    found: list[str] = []
    shared = sorted(_contents(baseline) & _contents(variant))
    if shared:
        found.append("both arms read the same file, so they are one run and not two")
    if baseline.devices.total != variant.devices.total:
        found += [words for run in (baseline, variant) if (words := _device_doubt(run)) is not None]
    return tuple(found)


def _contents(run: Run) -> set[str]:
    """The digests of the run's sources that hold steps."""
    return {source.sha256 for source in run.sources if source.n_steps and source.sha256}


def _device_doubt(run: Run) -> str | None:
    """Where totals differ, the ratio per device hangs on them: a count that the log contradicts is not to be trusted.

    verl divides its throughput by all devices or, in some versions, by the Trainer's alone; both are no contradiction.
    """
    devices = run.devices
    if devices.implied is None or devices.total is None:
        return None
    possible = [count for count in (devices.total, devices.trainer) if count]
    if any(abs(devices.implied - count) <= DEVICE_TOLERANCE * count for count in possible):
        return None
    implied = number(devices.implied)
    return f"the device count of {run.label} is doubtful: {devices.total} are counted, its log implies {implied}"

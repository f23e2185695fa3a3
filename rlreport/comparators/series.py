"""Series for figures: plain tuples taken from a run, so that no data frame crosses into the report."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from rlreport.run.model import Run

Clock = Literal["wall clock", "sum of step times"]


@dataclass(frozen=True, slots=True)
class StepSeries:
    """One value a step; None where the step does not have it."""

    steps: tuple[int, ...]
    values: tuple[float | None, ...]
    unit: str


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a run was after each of its logged steps: prompts trained, hours passed, device-hours spent.

    `prompts` is None when the prompts of a step are not known; `device_hours` when the devices are not. `clock` says whether
    hours are wall clock (validation and checkpoints included) or the sum of step times, which leaves gaps out.
    """

    steps: tuple[int, ...]
    prompts: tuple[float, ...] | None
    hours: tuple[float, ...]
    device_hours: tuple[float, ...] | None
    clock: Clock


def metric_series(run: Run, metric: str, unit: str) -> StepSeries | None:
    """A canonical metric of every logged step, or None when the run never logs it."""
    column = run.metric(metric)
    if column is None or not bool(column.notna().any()):
        return None
    return StepSeries(tuple(int(step) for step in column.index), tuple(_number(value) for value in column), unit)


def throughput_series(run: Run, *, per_device: bool) -> StepSeries | None:
    """Tokens a second of every step that has a time, over all devices or per device; None when it cannot be computed."""
    frame = run.trained_steps
    if "work.tokens" not in frame.columns or not bool(frame["work.tokens"].notna().any()):
        return None
    devices = run.devices.total if per_device else 1
    if not devices:
        return None
    rate = frame["work.tokens"] / frame["time.step_s"] / devices
    unit = "tokens/s/device" if per_device else "tokens/s"
    return StepSeries(tuple(int(step) for step in rate.index), tuple(_number(value) for value in rate), unit)


def progress(run: Run) -> Progress | None:
    """Prompts, hours and device-hours by step, or None for a run without step times."""
    frame = run.trained_steps
    if frame.empty:
        return None
    clock: Clock = "sum of step times"
    seconds = frame["time.step_s"].cumsum()
    wall = run.metric("clock.wall_s")
    if wall is not None and bool(wall.loc[frame.index].notna().all()) and wall.loc[frame.index].is_monotonic_increasing:
        clock = "wall clock"
        first = float(wall.loc[frame.index].iloc[0]) - float(frame["time.step_s"].iloc[0])
        seconds = wall.loc[frame.index] - first
    prompts = None
    if "work.prompts" in frame.columns and bool(frame["work.prompts"].notna().all()):
        prompts = tuple(float(value) for value in frame["work.prompts"].cumsum())
    hours = tuple(float(value) / 3600 for value in seconds)
    devices = run.devices.total
    device_hours = tuple(value * devices for value in hours) if devices else None
    return Progress(tuple(int(step) for step in frame.index), prompts, hours, device_hours, clock)


def smooth(values: tuple[float | None, ...], width: int) -> tuple[float | None, ...]:
    """Centred moving average over `width` values, for display only: tests use the raw values. Missing values are skipped."""
    half = width // 2
    smoothed: list[float | None] = []
    for i in range(len(values)):
        around = [value for value in values[max(0, i - half) : i + half + 1] if value is not None]
        smoothed.append(math.fsum(around) / len(around) if around else None)
    return tuple(smoothed)


def _number(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None

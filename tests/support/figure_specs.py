"""Figure specifications made by arithmetic: what reports hold, and what no report should be broken by."""

from __future__ import annotations

import math
from typing import Any

from rlreport.report.figures import (
    CurveFigure,
    CurvePanel,
    CurveSeries,
    FigureSpec,
    IntervalFigure,
    IntervalRow,
    RatioFigure,
    ThroughputFigure,
    ThroughputSeries,
    TimeSplitBar,
    TimeSplitFigure,
    TimeSplitPart,
)
from rlreport.run.metrics import METRICS, PHASES, phase_key

LONG_LABELS = (
    "model-30b-a3b-separate-async-48-rollout-nodes-seed-17-rerun-after-restart",
    "基线 48 个节点 <b>&amp;</b> $x_1$",
    "32 Rollout nodes",
    "28 Rollout nodes, staleness 0.5, partial rollout on",
    "a" * 90,
    "r6",
)


def words(figure_id: str) -> dict[str, str]:
    """The texts around a figure."""
    return {
        "id": figure_id,
        "title": f"Title of <{figure_id}> & more",
        "caption": "What to see.",
        "how_to_read": "How it is made.",
        "alt": 'A full sentence with 1 < 2 & "quotes" -- and --> dashes.',
    }


def wave(n: int, seed: float) -> list[float]:
    """A bounded series without a pattern that a figure could hide behind."""
    return [math.sin(seed + 1.7 * i) * 0.6 + math.sin(seed * 3 + 0.31 * i) * 0.4 for i in range(n)]


def throughput_series(
    label: str,
    role: int,
    level: float = 412.0,
    n: int = 120,
    *,
    every: int = 20,
    warm_up: int = 6,
    outliers: dict[int, float] | None = None,
    window: bool = True,
) -> ThroughputSeries:
    """A run with a warm-up, a validation every some steps, and steps multiplied by `outliers` (excluded as checkpoints)."""
    steps = tuple(range(1, n + 1))
    values = [level * (1 + 0.04 * w) for w in wave(n, role + 0.5)]
    causes: dict[int, str] = {}
    for step in steps:
        if step <= warm_up:
            values[step - 1] *= 1.15
            causes[step] = "warm-up"
        elif step % every == 0:
            values[step - 1] *= 0.72
            causes[step] = "validation"
        if step in (outliers or {}):
            values[step - 1] *= (outliers or {})[step]
            causes[step] = "checkpoint"
    kept = tuple(window and step not in causes for step in steps)
    inside = [value for value, keep in zip(values, kept, strict=True) if keep]
    mean = sum(inside) / len(inside) if inside else None
    return ThroughputSeries(
        label=label,
        role=role,
        steps=steps,
        values=tuple(values),
        kept=kept,
        exclusions=tuple(causes.items()),
        window=(warm_up + 1, n) if inside else None,
        mean=mean,
        ci_low=None if mean is None else mean * 0.985,
        ci_high=None if mean is None else mean * 1.015,
        mean_text="no steady state" if mean is None else f"{mean:.0f} ± {0.015 * mean:.0f} tokens/s per device",
    )


def throughput(*series: ThroughputSeries, **more: Any) -> ThroughputFigure:
    """A throughput figure of some runs."""
    texts = {"unit": "tokens/s per device", "x_label": "step (one sync cycle of 512 prompts)", "y_label": "throughput"}
    return ThroughputFigure(**words("throughput"), series=series, **(texts | more))


def row(
    label: str, role: int, estimate: float | None, half: float | None, text: str, *, headline: bool = False
) -> IntervalRow:
    """A row with a symmetric interval, or without one."""
    known = estimate is not None and half is not None
    low, high = (estimate - half, estimate + half) if known else (None, None)
    return IntervalRow(label=label, role=role, estimate=estimate, ci_low=low, ci_high=high, text=text, headline=headline)


def ratio(*rows: IntervalRow, **more: Any) -> RatioFigure:
    """A ratio figure with a margin of 5 %."""
    texts = {"margin": (0.95, 1.05), "margin_text": "differences that do not matter: ±5 %"}
    return RatioFigure(**words("ratio"), rows=rows, **(texts | more))


def split_bar(label: str, role: int, seconds: dict[str, float], step_s: float) -> TimeSplitBar:
    """A bar of the phases of the metric catalogue."""
    parts = tuple(
        TimeSplitPart(label=METRICS[phase].label, key=phase_key(phase), fraction=seconds[key] / step_s, seconds=seconds[key])
        for phase in PHASES
        if (key := phase_key(phase)) in seconds
    )
    return TimeSplitBar(label=label, role=role, parts=parts, total_text=f"{step_s:.0f} s a step")


def curve(
    label: str, role: int, n: int = 120, *, scale: float = 1.0, smoothed: bool = True, points: bool = False
) -> CurveSeries:
    """A reward that rises and levels off."""
    trend = [0.3 + 0.28 * (1 - math.exp(-i / (n / 3))) for i in range(n)]
    y = tuple(t + 0.02 * w for t, w in zip(trend, wave(n, role + 0.5), strict=True))
    x = tuple(scale * i for i in range(n))
    return CurveSeries(label=label, role=role, x=x, y=y, smoothed=tuple(trend) if smoothed else None, points_only=points)


def reward_figure(*labels: str, n: int = 120) -> CurveFigure:
    """Reward against samples and against time."""
    panels = tuple(
        CurvePanel(
            x_label=x_label,
            y_label="reward, mean of a batch",
            title=title,
            series=tuple(curve(label, role, n, scale=scale * (1 - 0.1 * role)) for role, label in enumerate(labels)),
        )
        for x_label, title, scale in (
            ("thousand prompts trained", "at equal samples: equivalent (±0.02)", 0.5),
            ("device-hours", "at equal device-hours: the variant is ahead", 16.0),
        )
    )
    return CurveFigure(**words("reward"), panels=panels)


ALL_PHASES_S = {phase_key(phase): 3.0 + 4.0 * (i % 5) for i, phase in enumerate(PHASES)}


def realistic() -> dict[str, FigureSpec]:
    """One figure of each kind as a report has them."""
    two = ("48 Rollout nodes", "32 Rollout nodes")
    split = {"wait": 55.2, "weight_sync": 63.7, "update_actor": 27.4, "other": 0.4}
    return {
        "throughput": throughput(throughput_series(two[0], 0), throughput_series(two[1], 1, 515.0)),
        "ratio": ratio(
            row("tokens/s per device", 1, 1.251, 0.012, "1.25×  1.24 to 1.26", headline=True),
            row("tokens/s per device, length-adjusted", 0, 1.247, 0.014, "1.25×  1.23 to 1.26"),
            row("tokens/s, all devices", 0, 1.001, 0.01, "1.001×  0.991 to 1.011"),
        ),
        "interval": IntervalFigure(
            **words("interval"),
            rows=tuple(
                row(f"{48 - 4 * i} nodes", i, 412.0 + 20 * i, 12.0, f"{412 + 20 * i} ± 12 tokens/s") for i in range(6)
            ),
            x_label="tokens/s, with 95 % interval",
            reference=412.0,
            reference_text="baseline",
        ),
        "time-split": TimeSplitFigure(**words("time-split"), bars=(split_bar("separate async, 1 + 1", 1, split, 146.7),)),
        "curve": reward_figure(*two),
    }


def hostile() -> dict[str, FigureSpec]:
    """Figures that must be drawn all the same: long labels, one run or many, nothing known, outliers, one step."""
    nothing = ThroughputSeries(
        label="nothing", role=0, steps=(1, 2, 3), values=(None, math.nan, math.inf), kept=(False, False, False)
    )
    bars = [split_bar(label, role, ALL_PHASES_S, sum(ALL_PHASES_S.values())) for role, label in enumerate(LONG_LABELS)]
    unnamed = tuple(TimeSplitPart(label=f"plugin <{k}>", key=k, fraction=0.3, seconds=None) for k in ("zz", "zy", "zx"))
    length = [900.0 + 5 * w for w in wave(60, 1.0)]
    length[20] = 81_000.0
    return {
        "six runs": throughput(*(throughput_series(label, i, 400.0 + 12 * i, 300) for i, label in enumerate(LONG_LABELS))),
        "six equal runs": throughput(*(throughput_series(label, i, 400.0 + 0.1 * i) for i, label in enumerate(LONG_LABELS))),
        "one run": throughput(throughput_series("one run", 1)),
        "one step": throughput(throughput_series("one step", 0, n=1, warm_up=0)),
        "nothing known": throughput(nothing),
        "no series": throughput(),
        "no window": throughput(throughput_series("drifts", 0, window=False), throughput_series("steady", 1, 515.0)),
        "outliers": throughput(
            throughput_series("slow steps", 0, n=200, every=5, outliers={160: 1 / 90, 100: 0.1, 41: 0.1, 43: 0.12}),
            throughput_series("fast step", 1, 515.0, 106, every=5, outliers={77: 90.0}),
        ),
        "long labels everywhere": throughput(
            throughput_series(LONG_LABELS[0], 0), unit="tokens/s " * 30, x_label="x" * 300, y_label="y " * 200
        ),
        "ratios": ratio(
            row("wide", 1, 3.4, 3.2, "3.40× (0.20 to 6.60)", headline=True),
            row("unknown", 2, None, None, "no steady state"),
            row("no interval <b>&", 3, 0.93, None, "0.930×"),
            row(LONG_LABELS[1], 4, 1.01, 0.02, "1.010×  0.990 to 1.030"),
            row("a very long name of a metric " * 8, 5, 0.5, 0.05, "0.50× (0.45 to 0.55), " * 6),
            row("zero", 1, 0.0, 0.0, "0×"),
            row("infinite", 1, math.inf, math.inf, "∞"),
        ),
        "no ratio": ratio(row("tokens/s per device", 1, None, None, "insufficient data")),
        "no rows": ratio(),
        "no estimate": IntervalFigure(**words("none"), rows=(row("r", 0, None, None, ""),), x_label="tokens/s"),
        "all phases": TimeSplitFigure(**words("split"), bars=tuple(bars), basis="seconds", x_label="seconds a step"),
        "unnamed phases": TimeSplitFigure(**words("split"), bars=(TimeSplitBar(label="r", role=0, parts=unnamed),)),
        "no phases": TimeSplitFigure(
            **words("split"),
            bars=(
                TimeSplitBar(
                    label="r", role=0, parts=(TimeSplitPart(label="w", key="wait", fraction=None),), total_text="–"
                ),
            ),
        ),
        "six curves": reward_figure(*LONG_LABELS, n=1119),
        "one panel": CurveFigure(
            **words("length"),
            panels=(
                CurvePanel(
                    x_label="step",
                    y_label="response length, mean (tokens)",
                    unit="tokens",
                    series=(
                        CurveSeries(label="outlier", role=1, x=tuple(map(float, range(60))), y=tuple(length)),
                        CurveSeries(label="unknown", role=2, x=(0.0, 1.0), y=(None, None)),
                    ),
                ),
            ),
        ),
        "three panels": CurveFigure(
            **words("three"),
            panels=(
                *reward_figure("a", "b").panels,
                CurvePanel(x_label="step", y_label="accuracy", series=(curve("a", 0, 8, smoothed=False, points=True),)),
            ),
        ),
        "empty panel": CurveFigure(**words("empty"), panels=(CurvePanel(x_label="x", y_label="y", series=()),) * 2),
    }

"""Throughput and time: how fast, in which window, where the time goes, who waits."""

from __future__ import annotations

from rlreport.comparators.analysis import Analysis
from rlreport.comparators.results import RatioComparison
from rlreport.report.figure_data import ratio_figure, throughput_figure, time_split_figure
from rlreport.report.model import Block, Column, Figure, Paragraph, Row, Section, Table, Text, add_figure
from rlreport.report.words import STEADY_WORDS, metric_words, shown_estimate
from rlreport.run import format as fmt
from rlreport.run.metrics import METRICS, PHASES


def throughput_section(analysis: Analysis) -> Section:
    """Throughput over steps, the comparison with intervals, the windows and what they leave out."""
    blocks: list[Block] = []
    add_figure(blocks, throughput_figure(analysis))
    if analysis.comparisons:
        add_figure(blocks, ratio_figure(analysis))
        blocks.append(_ratio_table(analysis))
    blocks.append(_window_table(analysis))
    excluded = _excluded_table(analysis)
    if excluded is not None:
        blocks.append(excluded)
    return Section("throughput", "Steady-state throughput", tuple(blocks))


def _ratio_table(analysis: Analysis) -> Table:
    columns = (
        Column("Throughput"),
        Column("Baseline", numeric=True),
        Column("Variant", numeric=True),
        Column("Ratio", numeric=True),
        Column("95 % interval", numeric=True),
        Column("Smallest visible", numeric=True),
        Column("Verdict"),
    )
    rows: list[Row] = []
    for comparison in analysis.comparisons:
        prefix = f"{analysis.runs[comparison.variant_id].run.label}: " if len(analysis.comparisons) > 1 else ""
        for ratio in (comparison.throughput.headline, *comparison.throughput.others):
            rows.append(_ratio_row(prefix, ratio, headline=ratio is comparison.throughput.headline))
    note = (
        "Numbers are sums over the common window. The interval holds step-to-step noise, by the effective number of "
        "independent steps; the smallest visible effect is what these series would show with 80 % power."
    )
    return Table("ratios", "The comparison", columns, tuple(rows), (note,))


def _ratio_row(prefix: str, ratio: RatioComparison, *, headline: bool) -> Row:
    detectable = ratio.minimum_detectable_ratio
    return Row(
        (
            (f"{prefix}{metric_words(ratio.metric)}",),
            (fmt.estimate(shown_estimate(ratio.metric, ratio.baseline)),),
            (fmt.estimate(shown_estimate(ratio.metric, ratio.variant)),),
            (fmt.ratio(ratio.ratio, ratio.ci_low, ratio.ci_high),),
            (fmt.ratio_interval(ratio.ci_low, ratio.ci_high),),
            (fmt.UNKNOWN if detectable is None else f"±{fmt.percent(detectable - 1)}",),
            (ratio.verdict,),
        ),
        marked=headline,
    )


def _window_table(analysis: Analysis) -> Table:
    columns = (
        Column("Run"),
        Column("Window"),
        Column("Class"),
        Column("Steps used", numeric=True),
        Column("Effective", numeric=True),
        Column("Tokens/s per device", numeric=True),
        Column("Tokens/s", numeric=True),
        Column("Steps/h", numeric=True),
    )
    rows = []
    for result in analysis.runs.values():
        steady, rate = result.steady_state, result.throughput
        window = "none" if steady.n == 0 else f"{steady.first_step} to {steady.last_step}"
        rows.append(
            Row(
                (
                    (result.run.label,),
                    (f"{window}{' (declared)' if steady.declared else ''}",),
                    (STEADY_WORDS[steady.steady_class],),
                    (fmt.count(steady.n),),
                    (fmt.number(steady.n_effective),),
                    (fmt.estimate(rate.tokens_per_s_per_device),),
                    (fmt.estimate(rate.tokens_per_s),),
                    (fmt.estimate(rate.steps_per_h),),
                )
            )
        )
    note = (
        "± is half of the 95 % interval; a number without it has too few independent steps for one. Effective: the number "
        "of independent steps that the tokens/s series is worth."
    )
    return Table("windows", "The windows", columns, tuple(rows), (note,))


def _excluded_table(analysis: Analysis) -> Table | None:
    rows: list[Row] = []
    for result in analysis.runs.values():
        causes: dict[str, list[int]] = {}
        details: dict[str, str] = {}
        for exclusion in result.steady_state.excluded:
            causes.setdefault(exclusion.reason, []).append(exclusion.step)
            details.setdefault(exclusion.reason, exclusion.detail)
        rows.extend(
            Row(((result.run.label,), (cause,), (fmt.count(len(steps)),), (fmt.steps(steps),), (details[cause],)))
            for cause, steps in causes.items()
        )
    if not rows:
        return None
    columns = (
        Column("Run"),
        Column("Cause"),
        Column("Steps", numeric=True),
        Column("Which"),
        Column("What was seen (first of them)"),
    )
    return Table("excluded-steps", "What the windows leave out", columns, tuple(rows))


def time_section(analysis: Analysis) -> Section:
    """Where the time of a step goes, and who waits for whom as far as the log tells."""
    blocks: list[Block] = []
    figure = time_split_figure(analysis)
    if figure is None:
        empty = all(result.steady_state.n == 0 for result in analysis.runs.values())
        reason = "No step is in a window" if empty else "No timer within a step is logged"
        blocks.append(Paragraph((f"{reason}, so where the time goes is unknown.",)))
    else:
        blocks.append(Figure(figure))
        blocks.append(_time_table(analysis))
    blocks.append(_idle_table(analysis))
    return Section("time", "Where the time goes", tuple(blocks))


def _time_table(analysis: Analysis) -> Table:
    shown = [phase for phase in PHASES if any(phase in r.time_split.fractions for r in analysis.runs.values())]
    columns: list[Column] = [Column("Phase")]
    for result in analysis.runs.values():
        label = f"{result.run.label}: " if len(analysis.runs) > 1 else ""
        columns += [Column(f"{label}s a step", numeric=True), Column("share", numeric=True)]
    rows = []
    for phase in shown:
        cells: list[Text] = [(METRICS[phase].label,)]
        for result in analysis.runs.values():
            cells.append((fmt.number(result.time_split.seconds.get(phase)),))
            cells.append((fmt.percent(result.time_split.fractions.get(phase)),))
        rows.append(Row(tuple(cells)))
    cells = [("step",)]
    for result in analysis.runs.values():
        cells += [(fmt.number(result.time_split.step_s),), ("",)]
    rows.append(Row(tuple(cells)))
    semantics = next(iter(analysis.runs.values())).run.semantics
    inside = [METRICS[phase].label for phase in semantics.contains if phase in ("time.validate_s", "time.checkpoint_s")]
    outside = [METRICS[phase].label for phase in semantics.excludes if phase in METRICS]
    note = (
        f"The step's time {'contains ' + fmt.join_words(inside) if inside else 'is training only'}"
        f"{'; outside of it: ' + fmt.join_words(outside) if outside else ''} ({semantics.source})."
    )
    return Table("time-table", "Mean seconds a step by phase", tuple(columns), tuple(rows), (note,))


def _idle_table(analysis: Analysis) -> Table:
    columns = (
        Column("Run"),
        Column("Trainer idle", numeric=True),
        Column("Rollouters idle", numeric=True),
        Column("Owner of the bubble"),
        Column("How it is known"),
    )
    rows = []
    for result in analysis.runs.values():
        idle = result.idle
        known = (
            idle.trainer.source
            if idle.trainer.source == idle.rollout.source
            else f"{idle.trainer.source}; {idle.rollout.source}"
        )
        rows.append(
            Row(
                (
                    (result.run.label,),
                    (_idle(idle.trainer.fraction, idle.owner, "" if result.traced else "waiting "),),
                    (_idle(idle.rollout.fraction, idle.owner, "" if result.traced else "logged "),),
                    (idle.owner,),
                    (known,),
                )
            )
        )
    return Table("idle", "Who waits for whom", columns, tuple(rows))


def _idle(fraction: float | None, owner: str, what: str) -> str:
    if fraction is None:
        return "same devices" if owner == "neither" else "unknown"
    return f"{what}{fmt.percent(fraction)}"

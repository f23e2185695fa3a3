"""The sections of a page, in reading order: what changed, how fast, where time goes, quality, what next, doubts."""

from __future__ import annotations

from collections.abc import Iterable

from rlreport.comparators.analysis import Analysis, ComparisonResult, RunResult
from rlreport.comparators.results import ABSENT, KnobDifference, RatioComparison
from rlreport.findings.model import Finding
from rlreport.report.figure_data import curve_figure, length_figure, ratio_figure, throughput_figure, time_split_figure
from rlreport.report.figures import FigureSpec
from rlreport.report.model import (
    Block,
    Bullets,
    Code,
    Column,
    Figure,
    FindingBlock,
    Inline,
    Link,
    Paragraph,
    Row,
    Section,
    Table,
    Text,
)
from rlreport.report.words import CHANGE_BADGES, MODE_WORDS, QUALITY_WORDS, STEADY_WORDS, metric_words
from rlreport.run import format as fmt
from rlreport.run.diagnostics import Notice
from rlreport.run.knobs import KNOB_CLASSES, TIERS
from rlreport.run.metrics import METRICS, PHASES

#: Rows of a table on the page; what is beyond stands in report.json, and the table says so.
MOST_ROWS = 24
#: Rows of knobs that stayed the same, for orientation.
MOST_HELD = 10


def change_section(analysis: Analysis) -> Section | None:
    """What differs between the arms, most important first, and what was held."""
    if not analysis.comparisons:
        return None
    blocks: list[Block] = []
    for index, comparison in enumerate(analysis.comparisons):
        blocks.append(Paragraph(_change_sentence(analysis, comparison)))
        blocks.extend(_change_tables(analysis, comparison, index))
    return Section("change", "What changed", tuple(blocks))


def _change_sentence(analysis: Analysis, comparison: ComparisonResult) -> Text:
    change = comparison.change
    baseline, variant = (analysis.runs[i].run.label for i in (comparison.baseline_id, comparison.variant_id))
    declared = analysis.request.changes
    parts: list[Inline] = [f"From {baseline} to {variant}: {CHANGE_BADGES[change.verdict][0]}"]
    if change.classes:
        parts.append(f" ({fmt.join_words(change.classes)})")
    parts.append(f"; declared was {fmt.join_words(declared)}." if declared else "; no change was declared.")
    counts = [f"{fmt.plural(change.n_equal, 'key is equal', 'keys are equal')}", f"{change.n_differing:,} differ"]
    folded = sum(len(fold.keys) for fold in change.folded)
    details = []
    if folded:
        details.append(f"{folded:,} exist for one alternative only")
    if change.identity:
        details.append(f"{len(change.identity):,} only name things (names, paths, loggers)")
    parts.append(f" {fmt.join_words(counts)}{', of which ' + fmt.join_words(details) if details else ''}.")
    return tuple(parts)


def _change_tables(analysis: Analysis, comparison: ComparisonResult, index: int) -> Iterable[Block]:
    change = comparison.change
    suffix = "" if index == 0 else f"-{index + 1}"
    columns = (Column("Knob"), Column("Class"), Column("Baseline"), Column("Variant"), Column("Why it is here"))
    rows = [_difference_row(difference) for difference in change.short_list]
    rows += [
        Row(((fold.title,), (fold.knob_class,), (), (), (f"{fmt.plural(len(fold.keys), 'key')}: {fold.cause}",)))
        for fold in change.folded
    ]
    held = _held_rows(analysis, comparison)
    if rows or held:
        yield Table(f"changed{suffix}", "What moved, and what was held", columns, tuple(rows + held))
    short = {difference.key for difference in change.short_list}
    rest = [difference for difference in change.differences if difference.key not in short]
    if rest:
        more = len(rest) - MOST_ROWS
        yield Table(
            f"also-changed{suffix}",
            "Also different",
            columns,
            tuple(_difference_row(difference) for difference in rest[:MOST_ROWS]),
            (f"{more:,} more stand in report.json.",) if more > 0 else (),
        )


def _difference_row(difference: KnobDifference) -> Row:
    label: Text = (
        (Code(difference.key),) if difference.label == difference.key else (difference.label, " ", Code(difference.key))
    )
    return Row(
        (
            label,
            (difference.knob_class,),
            (_side(difference.baseline),),
            (_side(difference.variant),),
            (_reason(difference),),
        ),
        marked=difference.waived is None and difference.coupled_by is None,
    )


def _side(value: object) -> str:
    return "not set" if value is ABSENT else fmt.config_value(value)


def _reason(difference: KnobDifference) -> str:
    if difference.waived is not None:
        return f"waived: {difference.waived}"
    if difference.coupled_by is not None:
        return f"follows from {difference.coupled_by}"
    return "declared" if difference.declared else "not declared"


def _held_rows(analysis: Analysis, comparison: ComparisonResult) -> list[Row]:
    """Knobs that a reader looks for and that are equal on both sides, in the guide's order of classes."""
    baseline, variant = (analysis.runs[i].run for i in (comparison.baseline_id, comparison.variant_id))
    differing = {difference.key for difference in comparison.change.differences}
    tuned = [name for name in KNOB_CLASSES if TIERS[name] is not None]
    held = [
        knob
        for name in tuned
        for key, knob in baseline.knobs.items()
        if knob.knob_class == name
        and knob.label != key
        and key in variant.knobs
        and key not in differing
        and baseline.value(key) is not None
    ]
    return [
        Row(
            (
                (knob.label, " ", Code(knob.key)),
                (knob.knob_class,),
                (fmt.config_value(baseline.value(knob.key)),),
                (fmt.config_value(variant.value(knob.key)),),
                ("held",),
            )
        )
        for knob in held[:MOST_HELD]
    ]


def throughput_section(analysis: Analysis) -> Section:
    """Throughput over steps, the comparison with intervals, the windows and what they leave out."""
    blocks: list[Block] = []
    _add(blocks, throughput_figure(analysis))
    if analysis.comparisons:
        _add(blocks, ratio_figure(analysis))
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
            (fmt.estimate(ratio.baseline),),
            (fmt.estimate(ratio.variant),),
            (fmt.ratio(ratio.ratio),),
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
    note = "± is half of the 95 % interval. Steps are counted as the framework logs them."
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
        blocks.append(Paragraph(("No timer within a step is logged, so where the time goes is unknown.",)))
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
                    (_idle(idle.trainer.fraction),),
                    (_idle(idle.rollout.fraction),),
                    (idle.owner,),
                    (known,),
                )
            )
        )
    return Table("idle", "Who waits for whom", columns, tuple(rows))


def _idle(fraction: float | None) -> str:
    return "unknown" if fraction is None else fmt.percent(fraction)


def quality_section(analysis: Analysis) -> Section:
    """Reward, accuracy and response length: what the speed costs, and what moves the speed."""
    blocks: list[Block] = []
    captions = {
        quality: _quality_caption(analysis, quality)
        for quality in ("quality.reward_mean", "quality.accuracy", "length.response_mean")
    }
    _add(
        blocks,
        curve_figure(analysis, "quality.reward_mean", id="reward", title="Reward", caption=captions["quality.reward_mean"]),
    )
    _add(
        blocks,
        curve_figure(
            analysis,
            "quality.accuracy",
            id="accuracy",
            title="Validation accuracy",
            caption=captions["quality.accuracy"],
            points=True,
        ),
    )
    _add(blocks, length_figure(analysis, captions["length.response_mean"]))
    table = _quality_table(analysis)
    if table is not None:
        blocks.append(table)
    if not blocks:
        blocks.append(Paragraph(("Neither reward, accuracy nor response length is logged.",)))
    return Section("quality", "Training quality", tuple(blocks))


def _quality_caption(analysis: Analysis, metric: str) -> str:
    words = METRICS[metric].label.split(",", maxsplit=1)[0]
    told = []
    for comparison in analysis.comparisons:
        for quality in comparison.quality:
            if quality.metric == metric and quality.difference is not None:
                who = f"{analysis.runs[comparison.variant_id].run.label}: " if len(analysis.comparisons) > 1 else ""
                told.append(
                    f"{who}{QUALITY_WORDS[quality.verdict]}, difference {fmt.number(quality.difference)} "
                    f"(95 % interval {fmt.interval(quality.ci_low, quality.ci_high)})"
                )
    title = f"{words[0].upper()}{words[1:]}"
    return f"{title} over the window: {'; '.join(told)}." if told else f"{title} of each logged step."


def _quality_table(analysis: Analysis) -> Table | None:
    columns = (
        Column("Quality over the window"),
        Column("Baseline", numeric=True),
        Column("Variant", numeric=True),
        Column("Difference", numeric=True),
        Column("95 % interval", numeric=True),
        Column("Margin", numeric=True),
        Column("Volatility ratio", numeric=True),
        Column("Verdict"),
    )
    rows = []
    for comparison in analysis.comparisons:
        prefix = f"{analysis.runs[comparison.variant_id].run.label}: " if len(analysis.comparisons) > 1 else ""
        for quality in comparison.quality:
            rows.append(
                Row(
                    (
                        (f"{prefix}{METRICS[quality.metric].label}",),
                        (fmt.estimate(quality.baseline),),
                        (fmt.estimate(quality.variant),),
                        (fmt.number(quality.difference),),
                        (fmt.interval(quality.ci_low, quality.ci_high),),
                        (fmt.UNKNOWN if quality.margin is None else f"±{fmt.number(quality.margin, 2)}",),
                        (fmt.ratio(quality.volatility_ratio),),
                        (QUALITY_WORDS[quality.verdict],),
                    )
                )
            )
    return Table("qualities", "Quality beside speed", columns, tuple(rows)) if rows else None


def findings_section(findings: tuple[Finding, ...], analysis: Analysis) -> Section:
    """What to try next, ranked; an empty list is said, not left out."""
    if not findings:
        return Section("next", "What to try next", (Paragraph(("No rule found anything worth acting on in these logs.",)),))
    return Section(
        "next", "What to try next", tuple(_finding(rank, finding, analysis) for rank, finding in enumerate(findings, 1))
    )


def _finding(rank: int, finding: Finding, analysis: Analysis) -> FindingBlock:
    action, meta = finding.action, []
    text: Text = ()
    if action is not None:
        bound = f" Upper bound of the gain: {fmt.ratio(action.gain_bound)} throughput." if action.gain_bound else ""
        text = (f"Next: {action.text}{bound}",)
        meta.append(f"Tier {action.tier}. ")
    links: list[Inline] = []
    for evidence in finding.evidence:
        links += [Link(evidence.replace("-", " "), evidence), " "]
    run = analysis.runs[finding.run_id].run.label
    refuted = f"Refuted if {action.refuted_by}." if action is not None and action.refuted_by else ""
    return FindingBlock(rank, finding.title, (f"{run}: {finding.body}",), text, (*meta, "Evidence: ", *links, refuted))


def threats_section(analysis: Analysis) -> Section:
    """What could be wrong, made from the warnings that the results carry."""
    items: dict[Text, None] = {}
    for comparison in analysis.comparisons:
        found = (
            *comparison.change.notices,
            *comparison.throughput.notices,
            *(n for q in comparison.quality for n in q.notices),
        )
        items.update(dict.fromkeys(_notice("", notice) for notice in found))
    by_message: dict[Notice, list[str]] = {}
    for result in analysis.runs.values():
        for notice in result.notices:
            by_message.setdefault(notice, []).append(result.run.label)
    for notice, labels in by_message.items():
        who = (
            ""
            if len(analysis.runs) == 1
            else f"{fmt.join_words(labels)}: "
            if len(labels) < len(analysis.runs)
            else "All runs: "
        )
        items[_notice(who, notice)] = None
    if not items:
        return Section("threats", "What could be wrong", (Paragraph(("The logs and the comparison gave no warning.",)),))
    return Section("threats", "What could be wrong", (Bullets(tuple(items)),))


def _notice(who: str, notice: Notice) -> Text:
    message = notice.message if who else f"{notice.message[0].upper()}{notice.message[1:]}"
    text = message if message.endswith((".", "!", "?")) else f"{message}."
    place: Text = () if notice.where is None else (" ", Code(notice.where))
    return (f"{who}{text}", *place)


def runs_section(analysis: Analysis) -> Section:
    """The runs and their sources: where every number comes from."""
    blocks: list[Block] = [_runs_table(analysis), _sources_table(analysis)]
    return Section("sources", "Runs and sources", tuple(blocks))


def _runs_table(analysis: Analysis) -> Table:
    columns = (Column("Run"), Column("Framework"), Column("Mode"), Column("Status"), Column("Devices"), Column("Steps"))
    rows = []
    for result in analysis.runs.values():
        run = result.run
        index = run.steps.index
        steps = f"{index[0]} to {index[-1]} ({len(index):,})" if len(index) else "none"
        version = f" {run.framework_version}" if run.framework_version else ""
        rows.append(
            Row(
                (
                    (run.label,),
                    (f"{run.framework}{version}",),
                    (MODE_WORDS[run.mode],),
                    (f"{run.status}: {run.status_reason}" if run.status_reason else run.status,),
                    (_devices(result),),
                    (steps,),
                )
            )
        )
    return Table("runs", "Runs", columns, tuple(rows))


def _devices(result: RunResult) -> str:
    devices = result.run.devices
    if devices.total is None:
        implied = f"; the logged throughput implies {fmt.number(devices.implied)}" if devices.implied is not None else ""
        return f"unknown{implied}"
    if devices.rollout:
        words = f"{devices.trainer:,} Trainer + {devices.rollout:,} Rollouter"
    else:
        words = f"{devices.total:,} shared"
    return f"{words}; implied {fmt.number(devices.implied)}" if devices.implied is not None else words


def _sources_table(analysis: Analysis) -> Table:
    columns = (
        Column("Source"),
        Column("Run"),
        Column("Format"),
        Column("Steps"),
        Column("Size", numeric=True),
        Column("SHA-256"),
    )
    rows = []
    for result in analysis.runs.values():
        for source in result.run.sources:
            steps = (
                "none" if source.first_step is None else f"{source.first_step} to {source.last_step} ({source.n_steps:,})"
            )
            rows.append(
                Row(
                    (
                        (Code(source.path),),
                        (result.run.label,),
                        (source.format,),
                        (steps,),
                        (fmt.byte_size(source.size_bytes),),
                        (Code(source.sha256[:12]),) if source.sha256 else (fmt.UNKNOWN,),
                    )
                )
            )
    return Table(
        "source-files", "Sources", columns, tuple(rows), ("The full configuration of every run stands in report.json.",)
    )


def _add(blocks: list[Block], figure: FigureSpec | None) -> None:
    if figure is not None:
        blocks.append(Figure(figure))

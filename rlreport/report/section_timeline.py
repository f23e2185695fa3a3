"""The timeline section: who owns the bubble and why, the lanes, the account of device time, and bubbles with a period."""

from __future__ import annotations

from collections.abc import Sequence

from rlreport.comparators.analysis import Analysis
from rlreport.comparators.bubble_lead import known_lead
from rlreport.comparators.bubble_results import SideAccount
from rlreport.comparators.lead import Lead
from rlreport.comparators.lengths import StalenessDistribution, length_bias, responses_of_a_prompt, staleness_distribution
from rlreport.report.figure_data import roles
from rlreport.report.figure_data_bubbles import device_figure, lead_figure, length_ecdf_figure, staleness_figure
from rlreport.report.figure_data_timeline import median_figure, occupancy_figure, special_figure
from rlreport.report.model import (
    Block,
    Bullets,
    Code,
    Column,
    FileLink,
    Inline,
    Paragraph,
    Row,
    Section,
    Strong,
    Table,
    Text,
    add_figure,
)
from rlreport.report.timeline_facts import run_facts
from rlreport.report.timeline_words import (
    SIDE_WORDS,
    ShownRun,
    cause_label,
    causes_text,
    idle_text,
    is_shared,
)
from rlreport.run import format as fmt
from rlreport.run.model import SEPARATED_MODES, Run
from rlreport.run.spans import IDLE_CAUSES


def timeline_section(analysis: Analysis) -> Section | None:
    """The section of the runs that have a timeline; None where none has.

    Timers alone say nothing of idle time where training and generation share their devices: such runs need a trace.
    """
    look = roles(analysis)
    results = [
        result
        for result in analysis.runs.values()
        if result.timeline is not None and (result.timeline.trace is not None or result.run.mode in SEPARATED_MODES)
    ]
    files = trace_files(analysis)
    shown = [
        ShownRun(
            r.run.run_id,
            r.run.label,
            look[r.run.run_id],
            r.timeline,
            r.run.samples,
            r.run.mode,
            known_lead(r.run, r.steady_state, r.timeline.lead),
            files.get(r.run.run_id, ""),
        )
        for r in results
        if r.timeline is not None
    ]
    return shown_section(shown, [result.run for result in results])


def trace_files(analysis: Analysis) -> dict[str, str]:
    """The files beside the page that hold the runs' traces: run id -> name, numbered where there are several."""
    traced = [result.run.run_id for result in analysis.runs.values() if result.traced]
    if len(traced) == 1:
        return {traced[0]: "timeline.json.gz"}
    return {run_id: f"timeline-{number}.json.gz" for number, run_id in enumerate(traced, 1)}


def shown_section(runs: Sequence[ShownRun], measured: Sequence[Run]) -> Section | None:
    """The section of some runs with their timelines; `measured` are the same runs as they were read, in the same order."""
    if not runs:
        return None
    blocks: list[Block] = [Bullets(tuple(_owner(run) for run in runs))]
    add_figure(blocks, median_figure(runs))
    add_figure(blocks, occupancy_figure(runs))
    add_figure(blocks, special_figure(runs))
    blocks += _file_line(runs)
    if any(run.timeline.trace for run in runs):
        add_figure(blocks, device_figure(runs))
    blocks.append(_account_table(runs))
    reported = _reported_table(runs)
    if reported is not None:
        blocks.append(reported)
    facts = tuple(fact for run in runs for fact in run_facts(run, many=len(runs) > 1))
    if facts:
        blocks.append(Bullets(facts))
    blocks += _lead_table(runs)
    add_figure(blocks, lead_figure(runs))
    blocks += _sample_blocks(runs, measured)
    if not any(run.timeline.trace for run in runs):
        blocks.append(Paragraph((_NO_TRACE,)))
    return Section("timeline", "Timeline and bubbles", tuple(blocks))


_NO_TRACE = (
    "There is no trace, so what is told here comes from timers. A trace of generation and training (RL-Insight's summary "
    "events, a profile, a Chrome trace) would show the lanes and what the Rollouters do."
)


def _work_text(side: SideAccount) -> str:
    """The share of work; unknown where nothing of it is told."""
    if not side.total_s or (not side.busy and side.untold_s):
        return fmt.UNKNOWN
    return fmt.percent(side.busy_s / side.total_s)


def _owner(run: ShownRun) -> Text:
    """Who owns the bubble, in a sentence with both sides."""
    timeline = run.timeline
    words = {
        "trainer": "The Trainer waits for the Rollouters",
        "rollout": "The Rollouters wait for the Trainer",
        "neither": "Neither side waits much longer for the other than the other way round",
        "unknown": "Which side waits for the other is not known",
    }[timeline.owner]
    if is_shared(run):
        words = "Training and generation share their devices, so neither waits for the other"
    told = []
    for name in ("trainer", "rollout"):
        side = timeline.window.side(name)
        if side is not None:
            causes = causes_text(side, run.causes)
            told.append(f"{SIDE_WORDS[name]} idle {idle_text(side)}{f' ({causes})' if causes else ''}")
        elif name in timeline.window.missing and not is_shared(run):
            told.append(f"what the {SIDE_WORDS[name]} do is unknown: {timeline.window.missing[name]}")
    return (Strong(f"{run.label}."), f" {words}. {fmt.join_words(told)}.")


def _file_line(runs: Sequence[ShownRun]) -> list[Block]:
    """Where the traces lie, and what opens them."""
    parts: list[Inline] = []
    for run in runs:
        if run.trace_file:
            parts += [", " if parts else "", FileLink(run.trace_file), f" ({run.label})" if len(runs) > 1 else ""]
    if not parts:
        return []
    return [Paragraph(("All lanes, to zoom into: ", *parts, " beside this page, for ", Code("ui.perfetto.dev"), "."))]


def _lead_table(runs: Sequence[ShownRun]) -> list[Block]:
    """The lead of every run whose sides have devices of their own, as well as it is known."""
    leads = [(run, run.lead) for run in runs if run.lead is not None]
    if not leads:
        return []
    sources = list(dict.fromkeys(lead.source for _, lead in leads))
    columns = [Column("Run"), Column("Mini-batches ready", numeric=True), Column("Range", numeric=True)]
    rows: list[list[Text]] = [[(run.label,), (_ready_words(lead),), (_range_words(lead),)] for run, lead in leads]
    note = (
        "Finished mini-batches that the Trainer finds when it asks for samples, on average; 1 is just in time. Range: the "
        "95 % interval of the mean, or the bounds that staleness gives."
    )
    if len(sources) > 1:
        columns.append(Column("How it is known"))
        for row, (_, lead) in zip(rows, leads, strict=True):
            row.append((_capital(lead.source),))
    else:
        note += f" Known from: {sources[0]}."
    table_rows = tuple(Row(tuple(row)) for row in rows)
    return [Table("lead-table", "The lead of the Rollouters", tuple(columns), table_rows, (note,))]


def _ready_words(lead: Lead) -> str:
    if lead.mini_batches is None:
        return "unknown"
    return f"about {fmt.number(lead.mini_batches, 2)}" if lead.basis == "staleness" else fmt.number(lead.mini_batches)


def _range_words(lead: Lead) -> str:
    if lead.low is None or lead.high is None:
        return fmt.UNKNOWN
    digits = 2 if lead.basis == "staleness" else 3
    return f"{fmt.number(lead.low, digits)} to {fmt.number(lead.high, digits)}"


def _capital(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}"


def _account_table(runs: Sequence[ShownRun]) -> Table:
    """Device time by side and cause: shares, and device-hours of the window."""
    causes = [cause for cause in IDLE_CAUSES if any(_has(run, cause) for run in runs)]
    untold = any(side.untold_s > 1e-3 * side.total_s for run in runs for side in _sides(run))
    columns = [
        Column("Run"),
        Column("Side"),
        Column("Devices", numeric=True),
        Column("Device-hours", numeric=True),
        Column("Work", numeric=True),
        *(Column(_capital(cause_label(runs, cause)), numeric=True) for cause in causes),
        *([Column("Not known", numeric=True)] if untold else []),
    ]
    rows = []
    for run in runs:
        for side in _sides(run):
            lanes = 0 if run.timeline.trace is None else sum(s.seat.side == side.side for s in run.timeline.trace.seats)
            cells: list[Text] = [
                (run.label,),
                (SIDE_WORDS[side.side],),
                (fmt.count(side.devices) if side.devices is not None else fmt.plural(lanes, "lane"),),
                (fmt.number(side.total_s / 3600) if side.devices is not None else fmt.UNKNOWN,),
                (_work_text(side),),
                *((fmt.percent(side.share(cause)) if side.idle.get(cause) else "0",) for cause in causes),
            ]
            if untold:
                cells.append((fmt.percent(side.untold_s / side.total_s if side.total_s else None),))
            rows.append(Row(tuple(cells), marked=run.timeline.owner == side.side))
    residual = max((run.timeline.window.residual for run in runs), default=0.0)
    bases = list(dict.fromkeys(run.timeline.basis for run in runs))
    if len(bases) > 1:
        bases = [f"{run.label}: {run.timeline.basis}" for run in runs]
    told = "; ".join(bases)
    note: Text = (
        f"Shares of a side's device time in the window. Work + idle + not known = wall time x devices within "
        f"{fmt.percent(max(residual, 1e-4), 2)}. Bold: the side that owns the bubble. {_capital(told)}.",
    )
    return Table("bubbles", "Where device time goes", tuple(columns), tuple(rows), note)


def _sides(run: ShownRun) -> list[SideAccount]:
    return [side for side in (run.timeline.window.trainer, run.timeline.window.rollout) if side is not None]


def _has(run: ShownRun, cause: str) -> bool:
    return any(side.idle.get(cause, 0.0) > 1e-4 * side.total_s for side in _sides(run))  # type: ignore[call-overload]


def _reported_table(runs: Sequence[ShownRun]) -> Table | None:
    """What the framework logs beside what the account shows, and what makes the difference."""
    rows = []
    for run in runs:
        for found in run.timeline.reported:
            parts = [f"{words} {fmt.signed_percent(share)}" for words, share in found.parts if abs(share) >= 0.0005]
            rest = f"not explained {fmt.signed_percent(found.rest)}" if abs(found.rest) >= 0.0005 else ""
            rows.append(
                Row(
                    (
                        (run.label,),
                        (SIDE_WORDS[found.side],),
                        (fmt.percent(found.reported),),
                        (fmt.percent(found.reconstructed),),
                        (fmt.join_words([*parts, *([rest] if rest else [])]) or "nothing",),
                    )
                )
            )
    if not rows:
        return None
    columns = (
        Column("Run"),
        Column("Side"),
        Column("Logged", numeric=True),
        Column("Reconstructed", numeric=True),
        Column("What makes the difference"),
    )
    note = (
        "Logged: the Trainer's is waiting for samples over step time; the Rollouters' is the time from the last drain of a "
        "version to the next one. Differences are in points of the side's device time."
    )
    return Table("idle-reported", "Idle time as logged and as reconstructed", columns, tuple(rows), (note,))


def _sample_blocks(runs: Sequence[ShownRun], measured: Sequence[Run]) -> list[Block]:
    blocks: list[Block] = []
    add_figure(blocks, length_ecdf_figure(runs))
    for run, one in zip(runs, measured, strict=True):
        bias = length_bias(run.samples, responses_of_a_prompt(one))
        if bias is not None:
            words = "more than" if bias.distance > bias.critical else "no more than"
            chance = fmt.percent(bias.critical)
            blocks.append(
                Paragraph(
                    (
                        f"{run.label}: the distributions of trained and of left-over lengths are at most "
                        f"{fmt.percent(bias.distance)} apart, {words} what chance alone may give ({chance}); "
                        f"trained responses have {fmt.ratio(bias.mean_ratio)} the mean length of all.",
                    )
                )
            )
    stale = _staleness(runs, measured, of_samples=True)
    if len({found.unit for _, found in stale}) > 1:
        stale = _staleness(runs, measured, of_samples=False)
    add_figure(blocks, staleness_figure(stale))
    return blocks


def _staleness(
    runs: Sequence[ShownRun], measured: Sequence[Run], *, of_samples: bool
) -> list[tuple[ShownRun, StalenessDistribution]]:
    """How stale what each run trains is: of single samples, or by step, so that all runs of a figure count the same."""
    found = [
        (run, staleness_distribution(one, run.samples if of_samples else ()))
        for run, one in zip(runs, measured, strict=True)
    ]
    return [(run, shares) for run, shares in found if shares is not None]

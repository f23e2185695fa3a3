"""A ladder of changes: what each rung brought, what all of them brought together, and what cannot be told apart."""

from __future__ import annotations

from rlreport.comparators.analysis import Analysis
from rlreport.comparators.chain import is_decided
from rlreport.comparators.change_values import count_word
from rlreport.comparators.ladder import Ladder
from rlreport.comparators.results import RatioComparison
from rlreport.report.figure_data_series import ladder_figure
from rlreport.report.model import (
    Block,
    Bullets,
    Callout,
    Column,
    Figure,
    Inline,
    Paragraph,
    Row,
    Section,
    Snippet,
    Strong,
    Table,
    Text,
)
from rlreport.report.series_words import (
    capital,
    has_steps,
    label_of,
    ladder_of,
    lead_words,
    manifest_fragment,
    memory_words,
    missing_words,
    ratio_words,
    rung_moves,
)
from rlreport.report.words import CHANGE_BADGES, THROUGHPUT_BADGES, metric_words
from rlreport.run import format as fmt


def ladder_section(analysis: Analysis) -> Section | None:
    """Every rung against the one before and against the first; None for a report that is no ladder of measured runs."""
    if analysis.request.kind != "ladder" or not has_steps(analysis):
        return None
    ladder = ladder_of(analysis)
    blocks: list[Block] = [Paragraph(_summary(analysis, ladder))]
    figure = ladder_figure(analysis, ladder)
    if figure is not None:
        blocks.append(Figure(figure))
    blocks.append(_rung_table(analysis, ladder))
    blocks += _missing_blocks(analysis, ladder)
    blocks.append(_lead_table(analysis, ladder))
    blocks.append(Paragraph(budget_words(analysis, ladder)))
    if ladder.notices:
        blocks.append(Bullets(tuple((f"{capital(notice.message)}.",) for notice in ladder.notices)))
    return Section("ladder", "The ladder, rung by rung", tuple(blocks))


def _summary(analysis: Analysis, ladder: Ladder) -> Text:
    """Which rung brought most, among those whose ratio can be laid to one class of knobs."""
    words = metric_words(ladder.metric) if ladder.metric else "throughput"
    known = [
        (rung.ratio.ratio, rung)
        for rung in ladder.changes
        if rung.attributable and rung.ratio is not None and rung.ratio.ratio is not None and is_decided(rung.ratio)
    ]
    largest = max(known, key=lambda item: item[0], default=None)
    if largest is None:
        return (f"No rung can be laid to one class of knobs, so nothing is known of what moved {words}.",)
    ratio, rung = largest
    moved = fmt.join_words(rung_moves(rung))
    if ratio <= 1:
        return (f"No rung that can be laid to one class of knobs raised {words}.",)
    return (
        "Of the rungs that can be laid to one class of knobs, ",
        Strong(f"rung {rung.number} brought most"),
        f": {ratio_words(rung.ratio)} {words} with {moved or 'no known change'}.",
    )


def _rung_table(analysis: Analysis, ladder: Ladder) -> Table:
    columns = (
        Column("Rung", width=17),
        Column("What moved", width=27),
        Column("Change", width=18),
        Column("To the rung before", width=19),
        Column("To rung 1", width=19),
    )
    rows: list[Row] = []
    for rung in ladder.rungs:
        label = f"{rung.number}. {label_of(analysis, rung.run_id)}"
        if rung.comparison is None or rung.ratio is None:
            rows.append(Row(((label,), ("the ladder starts here",), (), (), ("1",))))
            continue
        classes = fmt.join_words(rung.classes)
        verdict = CHANGE_BADGES[rung.comparison.change.verdict][0]
        change = "not comparable" if rung.attribution == "not-comparable" else verdict
        rows.append(
            Row(
                (
                    (label,),
                    (fmt.join_words(rung_moves(rung)) or "nothing that is known",),
                    (f"{change}: {classes}" if classes else change,),
                    (_judged(rung.ratio),),
                    (_judged(rung.cumulative),),
                ),
                marked=not rung.attributable,
            )
        )
    windows = [
        f"rung {rung.number} over steps {rung.window[0]} to {rung.window[1]}" for rung in ladder.changes if rung.window
    ]
    words = metric_words(ladder.metric) if ladder.metric else "the first metric that both runs have"
    note = (
        f"Ratios of {words}, with 95 % intervals, each pair over its common window; to rung 1: {fmt.join_words(windows)}. "
        "Marked: a rung that cannot be laid to one class of knobs."
    )
    return Table("ladder-table", "Each rung against the one before, and against the first", columns, tuple(rows), (note,))


def _judged(ratio: RatioComparison | None) -> str:
    """A ratio with its interval and what it was judged to be."""
    if ratio is None:
        return fmt.UNKNOWN
    judged = THROUGHPUT_BADGES[ratio.verdict][0]
    return judged if ratio.ratio is None else f"{ratio_words(ratio)} {judged}"


def _missing_blocks(analysis: Analysis, ladder: Ladder) -> list[Block]:
    """For each rung that moved several classes, which run is missing; then the manifest's lines for all of them."""
    blocks: list[Block] = []
    for rung in ladder.changes:
        if not rung.missing or rung.previous_id is None:
            continue
        items: list[Text] = []
        for before, missing in zip((None, *rung.missing), rung.missing, strict=False):
            items.append(("Missing: " if before is None else "Then ", *missing_words(analysis, missing, before), "."))
        first, last = rung.missing[0], rung.missing[-1]
        rest = fmt.join_words([c for c in rung.classes if c not in last.classes])
        ends = ("it", "it") if first is last else ("the first of them", "the last of them")
        steps = (
            f"From {label_of(analysis, rung.previous_id)} to {ends[0]}, {first.adds} would be the only class that moves; "
            f"from {ends[1]} to {label_of(analysis, rung.run_id)}, {rest} would be."
        )
        moved = f"{count_word(len(rung.classes))} classes ({fmt.join_words(rung.classes)})"
        title = f"Rung {rung.number} moves {moved}: it cannot be attributed"
        blocks.append(Callout(title, "warn", (*items, (steps,))))
    if blocks:
        caption = "The manifest's lines with the missing runs in their places:"
        blocks.append(Snippet(manifest_fragment(analysis, ladder), caption))
    return blocks


def _lead_table(analysis: Analysis, ladder: Ladder) -> Table:
    columns = (
        Column("Rung"),
        Column("Lead, mini-batches", numeric=True),
        Column("Trainer waits", numeric=True),
        Column("Memory reserved", numeric=True),
        Column("Free", numeric=True),
        Column("Token budget", numeric=True),
    )
    rows: list[Row] = []
    for rung in ladder.rungs:
        headroom = rung.headroom
        wait = analysis.runs[rung.run_id].time_split.fractions.get("time.wait_s")
        reserved = "unknown" if headroom.reserved_gb is None else f"{fmt.number(headroom.reserved_gb)} GB"
        rows.append(
            Row(
                (
                    (f"{rung.number}. {label_of(analysis, rung.run_id)}",),
                    (lead_words(rung.lead),),
                    ("unknown" if wait is None else fmt.percent(wait),),
                    (reserved,),
                    (memory_words(headroom),),
                    (fmt.UNKNOWN if headroom.budget_tokens is None else fmt.count(headroom.budget_tokens),),
                ),
                marked=headroom.within_margin is False,
            )
        )
    return Table("ladder-lead", "The Rollouters' lead and the Trainer's memory", columns, tuple(rows), _lead_note(ladder))


def _lead_note(ladder: Ladder) -> Text:
    sources = tuple(dict.fromkeys(rung.lead.source for rung in ladder.rungs))
    margin = fmt.percent(ladder.rungs[0].headroom.margin, 0)
    return (
        f"Lead: finished mini-batches that wait for the Trainer ({'; '.join(sources)}). Memory: the largest that a device "
        f"reserved in any logged step. Marked: less free than the safety margin of {margin}.",
    )


def budget_words(analysis: Analysis, ladder: Ladder) -> Text:
    """How far the token budget may be raised, with the safety margin; or why nothing is said about it."""
    last, advice = ladder.rungs[-1], ladder.budget
    margin = fmt.percent(last.headroom.margin, 0)
    if advice.tokens is None or last.headroom.budget_tokens is None:
        hint: Text = (" Give it in the manifest, as ", "config: {devices.memory_gb: 64}", " for each run.")
        return (f"No token budget is recommended: {advice.basis}.", *(hint if last.headroom.device_gb is None else ()))
    parts: list[Inline] = [f"With a safety margin of {margin} of the memory, the token budget of rung {last.number} "]
    if advice.tokens > last.headroom.budget_tokens:
        parts.append(Strong(f"may be raised to {fmt.count(advice.tokens)} tokens at most"))
    elif last.headroom.within_margin is False:
        parts.append(Strong(f"should be lowered to {fmt.count(advice.tokens)} tokens"))
    else:
        parts.append(Strong("has no room left to be raised"))
    parts.append(f" ({fmt.count(last.headroom.budget_tokens)} now; {advice.basis}). Watch the memory of the first steps.")
    return tuple(parts)

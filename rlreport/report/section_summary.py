"""Published numbers on the page: what they are, speed-ups by horizon and window, where they mislead, what is missing."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from rlreport.comparators.summary import REASON, PublishedRun, SummaryComparison, SummaryStudy
from rlreport.report.figure_data_summary import ratio_figure, speed_up_figure
from rlreport.report.model import Block, Bullets, Callout, Column, Paragraph, Row, Section, Strong, Table, Text, add_figure
from rlreport.run import format as fmt
from rlreport.run.metrics import METRICS
from rlreport.run.summary import ELAPSED, QUANTITIES, Summary

#: The order of rows: by the catalogue, so that all tables of results read alike.
_ORDER = {name: place for place, name in enumerate(QUANTITIES)}


def published_section(study: SummaryStudy, roles: Mapping[str, int]) -> Section:
    """The numbers: speed-ups by horizon and by window, and everything that was published of each run."""
    blocks: list[Block] = [Paragraph(_introduction(study))]
    figure = speed_up_figure(study, roles) or ratio_figure(study, roles)
    add_figure(blocks, figure)
    table = _speed_up_table(study)
    if table is not None:
        blocks.append(table)
    blocks.append(_number_table(tuple(study.runs.values())))
    return Section("published", "Published numbers", tuple(blocks))


def published_traps_section(study: SummaryStudy) -> Section | None:
    """Where the numbers mislead, each case with its evidence; None when they agree with each other."""
    if not study.traps:
        return None
    blocks = [
        Callout(trap.title, "warn", ((trap.why,), *((sentence,) for sentence in trap.evidence))) for trap in study.traps
    ]
    return Section("traps", "Where these numbers mislead", tuple(blocks))


def published_next_section(study: SummaryStudy) -> Section:
    """What it would take to know more: the traps' remedies, and step data in any case."""
    items: list[Text] = [
        (
            Strong("Step data of both runs"),
            ": a console log or a metrics file over the same steps gives an interval, a steady state and the split of time.",
        ),
        (Strong("A second seed of each run"), ": the difference between two single runs holds the luck of both."),
    ]
    items += [(Strong(trap.title), f": {trap.remedy}.") for trap in study.traps]
    return Section("next", "What it would take to know more", (Bullets(tuple(items)),))


def _introduction(study: SummaryStudy) -> Text:
    numbers = sum(len(run.run.summaries) for run in study.runs.values())
    behind = "No log stands behind these runs" if study.alone else "Of these runs only results are known"
    return (
        f"{behind}: {fmt.plural(numbers, 'number')} of {fmt.plural(len(study.runs), 'run')}, as their authors give them. ",
        Strong(f"{REASON[0].upper()}{REASON[1:]}."),
        " A ratio of two such numbers describes these two runs over these steps and says nothing about the next run.",
    )


def _speed_up_table(study: SummaryStudy) -> Table | None:
    rows = [row for pair in study.comparisons for row in _speed_up_rows(study, pair)]
    if not rows:
        return None
    columns = (
        Column("Pair and horizon", width=34),
        Column("Baseline", numeric=True, width=15),
        Column("Variant", numeric=True, width=15),
        Column("Speed-up", numeric=True, width=11),
        Column("Window", numeric=True, width=13),
        Column("In the window", numeric=True, width=12),
    )
    note = (
        "Total times from the start, and the baseline's over the variant's. A window is the difference of two totals. No "
        "number here has an interval."
    )
    return Table("published-speed-ups", "Speed-up by horizon and by window", columns, tuple(rows), (note,))


def _speed_up_rows(study: SummaryStudy, pair: SummaryComparison) -> list[Row]:
    windows = {found.to_step: found for found in pair.windows}
    rows = []
    for found in pair.cumulative:
        window = windows.get(found.to_step)
        horizon = "horizon not told" if found.to_step is None else f"to step {fmt.count(found.to_step)}"
        steps = fmt.UNKNOWN if window is None else f"{fmt.count(window.from_step)} to {fmt.count(window.to_step)}"
        rows.append(
            Row(
                (
                    (f"{pair_label(study, pair)}, {horizon}",),
                    (fmt.duration(found.baseline_s),),
                    (fmt.duration(found.variant_s),),
                    (fmt.ratio(found.ratio),),
                    (steps,),
                    (fmt.ratio(None if window is None else window.ratio),),
                )
            )
        )
    return rows


def pair_label(study: SummaryStudy, pair: SummaryComparison) -> str:
    """The variant's label; with the baseline's where the pairs of a report do not share it."""
    shared = len({other.baseline.run.run_id for other in study.comparisons}) == 1
    return pair.variant.label if shared else f"{pair.variant.label} against {pair.baseline.label}"


def _number_table(runs: Sequence[PublishedRun]) -> Table:
    """One row a quantity and its steps, one column a run; what follows from the numbers stands below them."""
    keys = list(dict.fromkeys(_key(result) for run in runs for result in run.run.summaries))
    keys.sort(key=lambda key: (_ORDER[key[0]], key[2] or 0, key[1] or 0))
    cells = [{_key(result): result for result in run.run.summaries} for run in runs]
    rows = [Row(((_words(key),), *((_shown(found.get(key)),) for found in cells))) for key in keys]
    rows += _implied_rows(runs)
    columns = (Column("Quantity"), *(Column(run.label, numeric=True) for run in runs))
    sources = [f"{run.label}: {fmt.join_words(_sources(run))}" for run in runs]
    note = f"A dash is what the author does not give. Sources: {'; '.join(sources)}."
    return Table("published-numbers", "The numbers as published", columns, tuple(rows), (note,))


def _key(result: Summary) -> tuple[str, int | None, int | None]:
    return (result.quantity, result.from_step, result.to_step)


def _words(key: tuple[str, int | None, int | None]) -> str:
    """A quantity with its unit and the steps that it is about."""
    quantity, first, last = key
    found = QUANTITIES[quantity]
    told = quantity == ELAPSED or not found.unit or found.unit in re.split(r"[ ,]+", found.label)
    unit = "" if told else f" ({found.unit})"
    label = "total time" if quantity == ELAPSED else found.label
    if last is None:
        return f"{label}{unit}"
    steps = f"step {fmt.count(last)}" if first == last else f"steps {fmt.count(first or 1)} to {fmt.count(last)}"
    return f"{label}{unit}, {steps}"


def _shown(result: Summary | None) -> str:
    if result is None:
        return fmt.UNKNOWN
    if result.quantity == ELAPSED:
        return fmt.duration(result.value)
    return fmt.as_given(result.value, result.resolution)


def _implied_rows(runs: Sequence[PublishedRun]) -> list[Row]:
    """What the numbers of each run imply, where at least one run gives enough."""
    step = METRICS["time.step_s"].label
    implied = (
        ("implied: share of the step spent waiting for samples", [fmt.percent(run.wait_share) for run in runs]),
        (f"implied by the total time: {step} (s)", [fmt.number(run.implied_step_s, 4) for run in runs]),
        ("implied by tokens/s × total time: tokens", [fmt.scaled(run.implied_tokens) for run in runs]),
        ("implied by tokens and rate per device: devices", [fmt.number(run.implied_devices) for run in runs]),
    )
    return [Row(((words,), *((value,) for value in values))) for words, values in implied if set(values) != {fmt.UNKNOWN}]


def _sources(run: PublishedRun) -> list[str]:
    return list(dict.fromkeys(result.source or "not given" for result in run.run.summaries))

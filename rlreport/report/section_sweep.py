"""Doses of one knob: the response, where it levels off, the candidate, and what it costs."""

from __future__ import annotations

from collections.abc import Sequence

from rlreport.comparators.analysis import Analysis
from rlreport.comparators.sweep import REWARD, Dose, Sweep
from rlreport.report.figure_data_series import dose_figure
from rlreport.report.model import Block, Bullets, Callout, Column, Figure, Paragraph, Row, Section, Strong, Table, Text
from rlreport.report.series_words import (
    STANDING_WORDS,
    capital,
    dose_words,
    has_steps,
    label_of,
    ratio_words,
    shape_words,
    sweep_of,
    value_words,
)
from rlreport.report.words import QUALITY_WORDS, metric_words, shown_estimate
from rlreport.run import format as fmt

COURSE_WORDS = {"rising": "still rising", "falling": "falling", "no-trend": "no trend shown", "unknown": fmt.UNKNOWN}


def sweep_section(analysis: Analysis) -> Section | None:
    """The responses to the doses, the candidate and its price; None for a report that is no sweep of measured runs."""
    if analysis.request.kind != "sweep" or not has_steps(analysis):
        return None
    sweep = sweep_of(analysis)
    blocks: list[Block] = []
    if sweep.knob.problems:
        title = "Not a sweep" if sweep.knob.label is None else f"Not a sweep of {sweep.knob.label}"
        reasons = tuple((f"{capital(problem)}.",) for problem in sweep.knob.problems)
        told = ("The responses below are those of the runs, not of the dose: no candidate is named.",)
        blocks.append(Callout(title, "warn", (*reasons, told)))
    else:
        blocks.append(Paragraph(response_words(sweep)))
        blocks.append(Paragraph(cost_words(sweep)))
    figure = dose_figure(analysis, sweep)
    if figure is not None:
        blocks.append(Figure(figure))
    blocks += [_speed_table(analysis, sweep), _quality_table(analysis, sweep)]
    if sweep.notices:
        blocks.append(Bullets(tuple((f"{capital(notice.message)}.",) for notice in sweep.notices)))
    return Section("sweep", "The doses and their responses", tuple(blocks))


def response_words(sweep: Sweep) -> Text:
    """How throughput and waiting go with the dose, and which dose is the candidate."""
    words = f"Throughput ({metric_words(sweep.metric)})" if sweep.metric else "Throughput"
    knob = f"{words} {shape_words(sweep)}."
    candidate, best = sweep.dose(sweep.candidate_id), sweep.dose(sweep.best_id)
    margin = fmt.percent(sweep.margin, 0)
    if candidate is None or best is None:
        return (f"{knob} No candidate can be named.",)
    waiting = _waiting_words(sweep)
    return (
        f"{knob} The smallest dose that is shown not to be worse than the best by more than {margin} is ",
        Strong(dose_words(candidate)),
        f" ({_standing_of_candidate(sweep, candidate, best)}): the candidate, to be validated on your workload.{waiting}",
    )


def _standing_of_candidate(sweep: Sweep, candidate: Dose, best: Dose) -> str:
    """Why the candidate is the smallest: its ratio to the best dose, or what is known of the next smaller dose."""
    if candidate is not best:
        return f"{ratio_words(candidate.to_best)} of the best, {dose_words(best)}"
    place = sweep.doses.index(best)
    if place == 0:
        return "the best dose, and the smallest"
    below = sweep.doses[place - 1]
    if below.standing == "worse":
        return f"the best dose; {dose_words(below)} is worse, {ratio_words(below.to_best)}"
    return f"the best dose; whether {dose_words(below)} is worse, {ratio_words(below.to_best)}, is not decided"


def _waiting_words(sweep: Sweep) -> str:
    level, first = sweep.dose(sweep.wait_levels_off), sweep.doses[0]
    if level is None:
        return ""
    seconds = f"{fmt.number(first.wait_s.estimate)} to {fmt.number(level.wait_s.estimate)} s a step"
    return f" Waiting falls from {seconds} at {dose_words(level)}, and no further."


def cost_words(sweep: Sweep) -> Text:
    """What reward and accuracy do over the doses, by interval; what is not known is said."""
    last, first = sweep.doses[-1], sweep.doses[0]
    ratio = last.volatility_ratio
    if ratio.estimate is None:
        volatility = f"{volatility_words(sweep)}."
    else:
        volatility = (
            f"{volatility_words(sweep)}: {fmt.ratio(ratio.estimate, ratio.ci_low, ratio.ci_high)} from "
            f"{dose_words(first)} to {dose_words(last)} (95 % interval {fmt.ratio_interval(ratio.ci_low, ratio.ci_high)})."
        )
    return (f"{volatility} {_accuracy_words(sweep.doses)}",)


def volatility_words(sweep: Sweep) -> str:
    """Whether the reward gets rougher from the first dose to the last, by interval; without a full stop."""
    ratio = sweep.doses[-1].volatility_ratio
    if ratio.estimate is None:
        return "The reward's volatility is not known at both ends of the sweep"
    if ratio.ci_low is not None and ratio.ci_low > 1:
        change = "grows with the dose"
    elif ratio.ci_high is not None and ratio.ci_high < 1:
        change = "falls with the dose"
    else:
        change = "is not shown to depend on the dose"
    return f"The reward's step-to-step volatility {change}"


def _accuracy_words(doses: Sequence[Dose]) -> str:
    by_course: dict[str, list[str]] = {}
    for dose in doses:
        by_course.setdefault(dose.accuracy_course, []).append(dose_words(dose))
    if set(by_course) == {"unknown"}:
        return "Too few evaluations are logged to tell whether accuracy still changes."
    if set(by_course) == {"rising"}:
        return "Accuracy still rises at the end of every run."
    told = [
        f"{COURSE_WORDS[course] if course != 'unknown' else 'not known'} at {fmt.join_words(names)}"
        for course, names in by_course.items()
    ]
    return f"Accuracy late in training: {', '.join(told)}."


def _speed_table(analysis: Analysis, sweep: Sweep) -> Table:
    words = metric_words(sweep.metric) if sweep.metric else "Throughput"
    columns = (
        Column("Dose"),
        Column("Run"),
        Column("Steps", numeric=True),
        Column(capital(words), numeric=True),
        Column("To the best", numeric=True),
        Column("Verdict"),
        Column("Waiting, share", numeric=True),
        Column("Waiting, s a step", numeric=True),
    )
    rows = [
        Row(
            (
                (dose_words(dose) if sweep.knob.key is not None else fmt.UNKNOWN,),
                (label_of(analysis, dose.run_id),),
                (fmt.count(dose.window.n),),
                (fmt.estimate(shown_estimate(sweep.metric or "", dose.throughput)),),
                ("1" if dose.standing == "best" else ratio_words(dose.to_best),),
                (_standing_words(sweep, dose),),
                (fmt.percent(dose.wait_share.estimate),),
                (fmt.estimate(dose.wait_s),),
            ),
            marked=dose.run_id == sweep.candidate_id,
        )
        for dose in sweep.doses
    ]
    margin = fmt.percent(sweep.margin, 0)
    note = (
        f"Not worse: the 95 % interval of the ratio to the best dose lies above 1 / (1 + {margin}); worse: below it; "
        "undecided: it holds that limit. Marked: the candidate."
    )
    return Table("sweep-speed", "Throughput and waiting by dose", columns, tuple(rows), (note,))


def _standing_words(sweep: Sweep, dose: Dose) -> str:
    word = STANDING_WORDS[dose.standing]
    return f"{word}: candidate" if dose.run_id == sweep.candidate_id else word


def _quality_table(analysis: Analysis, sweep: Sweep) -> Table:
    columns = (
        Column("Dose"),
        Column("Reward, to the first dose", numeric=True),
        Column("Volatility", numeric=True),
        Column("To the first dose", numeric=True),
        Column("Accuracy", numeric=True),
        Column("Against the first"),
        Column("Late in training"),
    )
    rows = []
    for dose in sweep.doses:
        first = dose is sweep.doses[0]
        ratio = dose.volatility_ratio
        accuracy = next((quality for quality in dose.qualities if quality.metric == "quality.accuracy"), None)
        spread = fmt.ratio(ratio.estimate, ratio.ci_low, ratio.ci_high)
        interval = "" if ratio.ci_low is None else f" ({fmt.ratio_interval(ratio.ci_low, ratio.ci_high)})"
        rows.append(
            Row(
                (
                    (value_words(dose.value) if sweep.knob.key is not None else label_of(analysis, dose.run_id),),
                    ("0" if first else _difference_words(dose),),
                    (fmt.estimate(dose.volatility),),
                    ("1" if first else f"{spread}{interval}",),
                    (fmt.estimate(dose.accuracy),),
                    (fmt.UNKNOWN if accuracy is None else QUALITY_WORDS[accuracy.verdict],),
                    (COURSE_WORDS[dose.accuracy_course],),
                ),
                marked=dose.run_id == sweep.candidate_id,
            )
        )
    note = (
        "Reward: difference at equal training, with its 95 % interval. Volatility with a 95 % bootstrap interval. Accuracy: "
        "mean of the last evaluations of the window; late in training: the trend of the second half of the evaluations."
    )
    return Table("sweep-quality", "What the dose costs", columns, tuple(rows), (note,))


def _difference_words(dose: Dose) -> str:
    """The mean reward minus that of the first dose, with its interval."""
    quality = next((quality for quality in dose.qualities if quality.metric == REWARD), None)
    if quality is None or quality.difference is None:
        return fmt.UNKNOWN
    interval = "" if quality.ci_low is None else f" ({fmt.interval(quality.ci_low, quality.ci_high)})"
    return f"{fmt.number(quality.difference, 2)}{interval}"

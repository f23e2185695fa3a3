"""Small self-contained tables for notebooks: the verdict first, every text escaped, no script and no request.

Colours are the notebook's own, so that the tables read on light and on dark ground.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import TYPE_CHECKING

from rlreport.run import format as fmt

if TYPE_CHECKING:
    from rlreport.comparators.analysis import Analysis, ComparisonResult
    from rlreport.comparators.results import QualityComparison, RatioComparison
    from rlreport.report.model import Text
    from rlreport.run.model import Run

_TABLE = "border-collapse:collapse;margin:.4em 0"
_CELL = "text-align:left;padding:.1em .8em .1em 0;vertical-align:top"


def comparison_html(pair: Analysis) -> str:
    """An analysis of one pair: verdict, what kept it from being compared, throughput, quality, what changed."""
    from rlreport.report.verdict import verdict_sentence

    comparison = pair.comparisons[0]
    names = [_name(pair.runs[i].run) for i in (comparison.baseline_id, comparison.variant_id)]
    parts = [_verdict(verdict_sentence(pair)), _paragraph(f"{names[1]} against {names[0]}; {_change_words(comparison)}")]
    if comparison.change.blocking:
        parts.append(_list(comparison.change.blocking))
    throughput = comparison.throughput
    rows = [_ratio_row(one) for one in (throughput.headline, *throughput.others)]
    rows += [_quality_row(one) for one in comparison.quality]
    parts.append(_table(("", "baseline", "variant", "ratio or difference", "95 % interval", "verdict"), rows))
    parts.append(_knobs(comparison))
    return _box(parts)


def report_html(analysis: Analysis, title: str) -> str:
    """A report: its verdict, and one row a pair."""
    from rlreport.report.verdict import verdict_sentence
    from rlreport.report.words import metric_words

    rows = []
    for comparison in analysis.comparisons:
        headline = comparison.throughput.headline
        rows.append(
            (
                f"{_name(analysis.runs[comparison.variant_id].run)} against "
                f"{_name(analysis.runs[comparison.baseline_id].run)}",
                metric_words(headline.metric),
                fmt.ratio(headline.ratio, headline.ci_low, headline.ci_high),
                fmt.ratio_interval(headline.ci_low, headline.ci_high),
                headline.verdict,
                _change_words(comparison),
            )
        )
    heads = ("", "throughput in", "ratio", "95 % interval", "verdict", "change")
    return _box([_verdict(verdict_sentence(analysis)), _paragraph(title), _table(heads, rows)])


def run_html(run: Run, warnings: int) -> str:
    """A run: what it is, over which devices, and how much of it there is."""
    index, devices = run.steps.index, run.devices
    version = f" {run.framework_version}" if run.framework_version else ""
    rows = [
        ("framework", f"{run.framework}{version}"),
        ("mode", run.mode),
        ("status", f"{run.status}: {run.status_reason}"),
        (
            "devices",
            f"{fmt.count(devices.total)} (Trainer {fmt.count(devices.trainer)}, Rollouter {fmt.count(devices.rollout)})",
        ),
        ("steps", f"{index[0]} to {index[-1]} ({len(index):,})" if len(index) else "none"),
        ("a step is", run.semantics.step_is),
        ("knobs", f"{len(run.knobs):,}"),
        ("warnings", f"{warnings:,}"),
    ]
    return _box([f"<p><strong>{_text(_name(run))}</strong></p>", _table((), rows)])


def project_html(title: str, runs: Iterable[tuple[str, str]], reports: Iterable[tuple[str, str, str]]) -> str:
    """A manifest: its runs as (id, label) and its reports as (id, kind, title)."""
    return _box(
        [
            f"<p><strong>{_text(title)}</strong></p>",
            _table(("run", "label"), list(runs)),
            _table(("report", "kind", "title"), list(reports)),
        ]
    )


def _ratio_row(one: RatioComparison) -> tuple[str, ...]:
    from rlreport.report.words import metric_words, shown_estimate

    sides = [fmt.scaled(shown_estimate(one.metric, side).estimate) for side in (one.baseline, one.variant)]
    ratio, interval = fmt.ratio(one.ratio, one.ci_low, one.ci_high), fmt.ratio_interval(one.ci_low, one.ci_high)
    return (metric_words(one.metric), *sides, ratio, interval, one.verdict)


def _quality_row(one: QualityComparison) -> tuple[str, ...]:
    from rlreport.run.metrics import METRICS

    metric = METRICS.get(one.metric)
    sides = (fmt.number(one.baseline.estimate), fmt.number(one.variant.estimate))
    interval = fmt.interval(one.ci_low, one.ci_high)
    return (one.metric if metric is None else metric.label, *sides, fmt.number(one.difference), interval, one.verdict)


def _change_words(comparison: ComparisonResult) -> str:
    from rlreport.report.words import CHANGE_BADGES

    change = comparison.change
    classes = f" ({fmt.join_words(change.classes)})" if change.classes else ""
    return f"{CHANGE_BADGES[change.verdict][0]}{classes}"


def _knobs(comparison: ComparisonResult) -> str:
    from rlreport.pipeline.diff_values import value_texts

    rows = [
        (one.key, one.knob_class, *value_texts(one.baseline, one.variant), "declared" if one.declared else "not declared")
        for one in comparison.change.short_list
    ]
    return _table(("what moved", "class", "baseline", "variant", ""), rows)


def _name(run: Run) -> str:
    return run.run_id if run.label == run.run_id else f"{run.run_id} ({run.label})"


def _text(text: str) -> str:
    """Text for HTML: no markup, and no character that steers or hides."""
    from rlreport.pipeline.diff_values import escaped

    return escape(escaped(text))


def _verdict(text: Text) -> str:
    told = "".join(_text(part) if isinstance(part, str) else f"<strong>{_text(part.text)}</strong>" for part in text)
    return f"<p>{told}</p>"


def _paragraph(text: str) -> str:
    return f"<p>{_text(text)}</p>"


def _list(items: Iterable[str]) -> str:
    return f"<ul>{''.join(f'<li>{_text(item)}</li>' for item in items)}</ul>"


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table whose first column names the row; nothing without rows."""
    if not rows:
        return ""
    head = "".join(f'<th scope="col" style="{_CELL}">{_text(text)}</th>' for text in heads)
    body = "".join(
        f'<tr><th scope="row" style="{_CELL}">{_text(row[0])}</th>'
        f"{''.join(f'<td style={chr(34)}{_CELL}{chr(34)}>{_text(cell)}</td>' for cell in row[1:])}</tr>"
        for row in rows
    )
    return f'<table style="{_TABLE}">{f"<thead><tr>{head}</tr></thead>" if heads else ""}<tbody>{body}</tbody></table>'


def _box(parts: Iterable[str]) -> str:
    return f"<div>{''.join(parts)}</div>"

from __future__ import annotations

import pytest

from rlreport.run.metrics import METRICS
from rlreport.run.summary import QUANTITIES, Summary, summary_line


def result(first: int | None, last: int | None, source: str = "a table") -> Summary:
    return Summary("r", "time.step_s", 294.77, "s", first, last, source, "t.csv:2", 0.01)


def test_every_metric_is_a_quantity_and_keeps_its_unit() -> None:
    assert all(QUANTITIES[name].unit == metric.unit for name, metric in METRICS.items())
    assert set(QUANTITIES) - set(METRICS) == {
        "rate.tokens_per_s",
        "quality.accuracy_best",
        "quality.accuracy_last",
        "claim.speedup",
    }


@pytest.mark.parametrize(("first", "expected"), [(None, True), (0, True), (1, True), (2, False), (101, False)])
def test_steps_count_from_the_start_unless_the_table_says_otherwise(first: int | None, expected: bool) -> None:
    assert result(first, 200).from_start is expected


def test_a_line_has_value_unit_steps_and_source() -> None:
    assert " ".join(summary_line(result(1, 400)).split()) == "r time.step_s 294.77 s, steps 1 to 400 (a table)"
    assert summary_line(result(None, None, "")).endswith("294.77 s, steps not told (no source)")

from __future__ import annotations

import dataclasses
import json
import math

import pytest
from support.figure_specs import hostile, realistic, throughput, throughput_series, words

from rlreport.report import figures
from rlreport.report.figures import (
    CurveFigure,
    CurveSeries,
    FigureSpec,
    RatioFigure,
    ThroughputSeries,
    figure_json,
    figure_texts,
)

SPECS = {**realistic(), **hostile()}


@pytest.mark.parametrize("spec", SPECS.values(), ids=SPECS.keys())
def test_specifications_are_strict_json(spec: FigureSpec) -> None:
    data = json.loads(json.dumps(figure_json(spec), allow_nan=False))
    assert data["kind"] == type(spec).kind
    assert set(data) == {"kind", *(field.name for field in dataclasses.fields(spec))}


def test_kinds_are_named_and_differ() -> None:
    classes = {found for found in vars(figures).values() if isinstance(found, type) and issubclass(found, FigureSpec)}
    kinds = [cls.kind for cls in classes - {FigureSpec}]
    assert all(kinds)
    assert len(set(kinds)) == len(kinds)


def test_nested_data_keep_their_values_and_lose_what_json_cannot_say() -> None:
    series = ThroughputSeries(
        label="r",
        role=1,
        steps=(1, 2),
        values=(1.5, math.nan),
        kept=(True, False),
        exclusions=((2, "stall"),),
        window=(1, 1),
    )
    (data,) = figure_json(throughput(series))["series"]
    assert data["values"] == [1.5, None]
    assert data["kept"] == [True, False]
    assert data["exclusions"] == [[2, "stall"]]
    assert data["window"] == [1, 1]
    assert data["mean"] is None


def test_specifications_cannot_be_changed() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        realistic()["ratio"].title = "other"  # type: ignore[misc]


@pytest.mark.parametrize(
    ("values", "kept"), [((1.0,), (True, True)), ((1.0, 2.0, 3.0), (True, True)), ((1.0, 2.0), (True,))]
)
def test_columns_of_different_length_are_refused(values: tuple[float, ...], kept: tuple[bool, ...]) -> None:
    with pytest.raises(ValueError, match="same length, not 2, "):
        ThroughputSeries(label="r", role=0, steps=(1, 2), values=values, kept=kept)


def test_curves_of_different_length_are_refused() -> None:
    with pytest.raises(ValueError, match="x and y must have the same length, not 2, 1"):
        CurveSeries(label="r", role=0, x=(1.0, 2.0), y=(1.0,))
    with pytest.raises(ValueError, match="x and smoothed"):
        CurveSeries(label="r", role=0, x=(1.0,), y=(1.0,), smoothed=())


def test_a_curve_figure_without_panels_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one panel"):
        CurveFigure(**words("empty"), panels=())


def test_texts_are_those_within_the_figure() -> None:
    texts = figure_texts(throughput(throughput_series("48 nodes", 0)))
    assert {"48 nodes", "validation", "warm-up", "tokens/s per device", "throughput"} <= set(texts)
    assert len(set(texts)) == len(texts)
    assert "What to see." not in texts
    assert figure_texts(RatioFigure(**words("r"), rows=(), lower_text="", higher_text="")) == (
        "",
        "ratio to baseline, with 95 % interval",
    )

from __future__ import annotations

import dataclasses
import hashlib
import io
import os
import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import matplotlib
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from PIL import Image
from support.figure_specs import (
    LONG_LABELS,
    hostile,
    ratio,
    realistic,
    reward_figure,
    row,
    throughput,
    throughput_series,
    words,
)

from rlreport.plotters import fonts
from rlreport.plotters.draw import DRAWINGS, draw, drawing_notices
from rlreport.plotters.style import SMALL_PT, house_style
from rlreport.report import figures
from rlreport.report.figures import FigureSpec

SPECS = {**realistic(), **hostile()}
SVG = "{http://www.w3.org/2000/svg}"
KINDS = {found for found in vars(figures).values() if isinstance(found, type) and issubclass(found, FigureSpec)} - {
    FigureSpec
}
every_spec = pytest.mark.parametrize("spec", SPECS.values(), ids=SPECS.keys())


def drawn_texts(spec: FigureSpec) -> list[tuple[str, float, float, float, float]]:
    """Every text of a figure with its box in pixels of 100 dpi."""
    with house_style():
        figure = DRAWINGS[type(spec)](spec)
        canvas = FigureCanvasAgg(figure)
        canvas.draw()
        texts = [*figure.texts, *(t for axes in figure.axes for t in (*axes.get_xticklabels(), *axes.get_yticklabels()))]
        boxes = [(t.get_text(), t.get_window_extent(canvas.get_renderer())) for t in texts if t.get_text().strip()]
    return [(text, box.x0, box.y0, box.x1, box.y1) for text, box in boxes]


def overlaps(texts: list[tuple[str, float, float, float, float]]) -> list[tuple[str, str]]:
    """Pairs of texts that overlap by more than the room below their base lines."""
    return [
        (one[0], other[0])
        for i, one in enumerate(texts)
        for other in texts[:i]
        if min(one[3], other[3]) - max(one[1], other[1]) > 1 and min(one[4], other[4]) - max(one[2], other[2]) > 2.5
    ]


def test_every_kind_of_figure_is_drawn() -> None:
    assert set(DRAWINGS) >= KINDS == {type(spec) for spec in realistic().values()}


def test_an_unknown_kind_is_refused() -> None:
    with pytest.raises(TypeError, match="no drawing is registered for FigureSpec"):
        draw(FigureSpec(**words("plain")), format="svg")


@every_spec
def test_svg_is_well_formed_and_alone(spec: FigureSpec) -> None:
    svg = draw(spec, format="svg")
    root = ElementTree.fromstring(svg)
    assert root.tag == f"{SVG}svg"
    assert root.get("role") == "img"
    ids = {element.get("id") for element in root.iter()}
    for element in root.iter():
        assert element.tag.startswith(SVG), "no foreign elements"
        assert element.tag not in {f"{SVG}{name}" for name in ("script", "image", "text", "metadata")}
        for name, value in element.attrib.items():
            if name.endswith("href"):
                assert value.startswith("#")
                assert value[1:] in ids
            assert set(re.findall(r"url\((.*?)\)", value)) <= {f"#{known}" for known in ids}
            if name in {"d", "x", "y", "transform"}:
                assert not re.search("nan|inf", value)
    addresses = set(re.findall(rb"https?://[^\"<\s]+", svg))
    assert addresses == {b"http://www.w3.org/2000/svg", b"http://www.w3.org/1999/xlink"}


@every_spec
def test_svg_carries_title_and_alternative_text(spec: FigureSpec) -> None:
    root = ElementTree.fromstring(draw(spec, format="svg"))
    assert root.findtext(f"{SVG}title") == spec.title
    assert root.findtext(f"{SVG}desc") == spec.alt


@every_spec
def test_no_text_overlaps_another_or_leaves_the_page(spec: FigureSpec) -> None:
    texts = drawn_texts(spec)
    assert overlaps(texts) == []
    height = max(box[4] for box in texts) if texts else 0
    assert all(box[1] >= -1 and box[3] <= 741 and box[2] >= -1 for box in texts)
    with house_style():
        assert height <= DRAWINGS[type(spec)](spec).get_size_inches()[1] * 100 + 1


def test_overlapping_texts_would_be_noticed() -> None:
    figure = Figure()
    figure.text(0.5, 0.5, "one text")
    figure.text(0.52, 0.505, "another")
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    boxes = [(t.get_text(), *t.get_window_extent(canvas.get_renderer()).extents) for t in figure.texts]
    assert overlaps(boxes) == [("another", "one text")]


@every_spec
def test_no_text_is_smaller_than_7_points_in_print(spec: FigureSpec) -> None:
    with house_style():
        figure = DRAWINGS[type(spec)](spec)
        sizes = [
            text.get_fontsize() for text in figure.findobj(lambda artist: hasattr(artist, "get_fontsize")) if text.get_text()
        ]
    print_scale = 7.0 / figure.get_size_inches()[0]  # A4 with margins of 16 mm is 7.0 inches wide
    assert min(sizes, default=SMALL_PT) * print_scale >= 7.0


@pytest.mark.parametrize("format_", ["svg", "png"])
def test_drawn_twice_the_bytes_are_equal(format_: str) -> None:
    for spec in realistic().values():
        assert draw(spec, format=format_) == draw(dataclasses.replace(spec), format=format_)  # type: ignore[arg-type]


def test_a_fresh_process_draws_the_same_bytes() -> None:
    code = (
        "import hashlib; from support.figure_specs import realistic; from rlreport.plotters.draw import draw\n"
        "for spec in realistic().values():\n"
        "    for kind in ('svg', 'png'): print(hashlib.sha256(draw(spec, format=kind)).hexdigest())"
    )
    tests = Path(__file__).parents[1]
    path = os.pathsep.join([str(tests), str(tests.parent)])
    environment = os.environ | {"PYTHONPATH": path, "PYTHONHASHSEED": "4711", "SOURCE_DATE_EPOCH": "1"}
    run = subprocess.run([sys.executable, "-c", code], env=environment, check=True, capture_output=True, text=True)
    here = [hashlib.sha256(draw(spec, format=f)).hexdigest() for spec in realistic().values() for f in ("svg", "png")]
    assert run.stdout.split() == here
    assert run.stderr == ""


def test_settings_of_the_user_do_not_change_a_figure() -> None:
    spec = realistic()["throughput"]
    plain = draw(spec, format="svg")
    with matplotlib.rc_context({"lines.linewidth": 7, "font.size": 20, "svg.fonttype": "none", "axes.grid": True}):
        assert draw(spec, format="svg") == plain
        assert matplotlib.rcParams["font.size"] == 20


def test_pyplot_is_not_needed() -> None:
    code = (
        "import sys; from support.figure_specs import realistic; from rlreport.plotters.draw import draw\n"
        "assert 'matplotlib' not in sys.modules, 'the import must be light'\n"
        "draw(realistic()['ratio'], format='svg'); assert 'matplotlib.pyplot' not in sys.modules"
    )
    tests = Path(__file__).parents[1]
    path = os.pathsep.join([str(tests), str(tests.parent)])
    subprocess.run([sys.executable, "-c", code], env=os.environ | {"PYTHONPATH": path}, check=True)


def test_figures_stay_small() -> None:
    report = [spec for name, spec in realistic().items() if name != "interval"]
    assert sum(len(draw(spec, format="svg")) for spec in report) < 400_000
    long = throughput(*(throughput_series(label, role, 400 + 40 * role, 1119) for role, label in enumerate("abcdef")))
    assert len(draw(long, format="svg")) < 120_000
    assert len(draw(reward_figure(*LONG_LABELS, n=1119), format="svg")) < 120_000


def test_png_has_the_asked_size_and_a_white_ground() -> None:
    spec = realistic()["throughput"]
    image = Image.open(io.BytesIO(draw(spec, format="png", dpi=100)))
    with house_style():
        height = DRAWINGS[type(spec)](spec).get_size_inches()[1] * 100
    assert image.width == 740
    assert abs(image.height - height) <= 1
    assert np.asarray(image.convert("RGBA"))[0, 0].tolist() == [255, 255, 255, 255]
    assert Image.open(io.BytesIO(draw(spec, format="png"))).width == 1110


def test_missing_glyphs_are_told_and_not_drawn_as_boxes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fonts, "_can_draw", lambda character: ord(character) < 0x2E80)
    spec = throughput(throughput_series("基线 48 nodes", 0), throughput_series("变体", 1))
    (notice,) = drawing_notices((spec,))
    assert notice.code == "RR501"
    assert "4 of the characters (基线变体)" in notice.message
    texts = [text for text, *_box in drawn_texts(spec)]
    assert "baseline: \ufffd 48 nodes" in " ".join(texts)
    assert "variant 1: \ufffd" in texts


def test_no_notice_when_all_can_be_drawn() -> None:
    assert drawing_notices(tuple(realistic().values())) == ()


@settings(max_examples=25, deadline=None)
@given(st.text(max_size=30), st.floats(-1e300, 1e300), st.integers(0, 20))
def test_any_name_value_and_role_is_drawn(name: str, value: float, role: int) -> None:
    # Matplotlib warns of a glyph that it cannot draw, and here a warning is an error.
    series = dataclasses.replace(throughput_series(name, role, n=9), values=(value,) * 9, mean=value, mean_text=name)
    ElementTree.fromstring(draw(throughput(series, unit=name), format="svg"))
    ElementTree.fromstring(draw(ratio(row(name, role, value, abs(value), name)), format="svg"))


def test_a_dollar_sign_is_a_dollar_sign() -> None:
    texts = [text for text, *_box in drawn_texts(throughput(throughput_series("$x_1$ \\frac", 0)))]
    assert "$x_1$ \\frac" in texts

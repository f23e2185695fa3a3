from __future__ import annotations

import re

import pytest

from rlreport.plotters.svg import finish_svg

HEAD = (
    '<?xml version="1.0" encoding="utf-8" standalone="no"?>\n'
    '<!DOCTYPE svg PUBLIC "-//W3C//DTD SVG 1.1//EN"\n  "http://www.w3.org/Graphics/SVG/1.1/DTD/svg11.dtd">\n'
    '<svg width="10pt" xmlns="http://www.w3.org/2000/svg">\n '
)


def finished(body: str) -> str:
    return finish_svg(f"{HEAD}{body}\n</svg>\n", "a title", "a description")


def points(path: str) -> list[tuple[float, float]]:
    """Where a path of lines goes, read by the rules of SVG for M, L and l."""
    found: list[tuple[float, float]] = []
    for command, numbers in re.findall(r"([MLl])([^MLlz]*)", path):
        values = [float(n) for n in re.findall(r"-?[\d.]+", numbers)]
        for x, y in zip(values[::2], values[1::2], strict=True):
            base = found[-1] if command == "l" else (0.0, 0.0)
            found.append((base[0] + x, base[1] + y))
    return found


def test_the_document_type_goes_and_words_come() -> None:
    svg = finished('<g id="a">\n  <!-- a comment -->\n  <path d="M 0 0 \nL 1 1 \n"/>\n </g>')
    assert svg.startswith('<svg width="10pt" xmlns="http://www.w3.org/2000/svg" role="img"><title>a title</title>')
    assert "DTD" not in svg
    assert "comment" not in svg
    assert svg.endswith("</svg>\n")


def test_words_are_escaped() -> None:
    svg = finish_svg(f"{HEAD}</svg>", "a < b", "</desc><script>")
    assert "<title>a &lt; b</title><desc>&lt;/desc&gt;&lt;script&gt;</desc>" in svg


def test_a_line_keeps_its_points() -> None:
    given = [(12.345678, 100.0), (13.0, 99.994), (13.5, -2.25), (400.126, 0.004)]
    path = "M " + " \nL ".join(f"{x} {y}" for x, y in given) + " \n"
    (found,) = re.findall(r'd="([^"]*)"', finished(f'<path d="{path}"/>'))
    assert len(found) < len(path) * 0.75
    assert points(found) == [pytest.approx(point, abs=0.006) for point in given]


def test_a_long_line_does_not_drift() -> None:
    given = [(0.333 * i, (i * 7919 % 101) * 1.01) for i in range(1000)]
    path = "M " + " \nL ".join(f"{x:.6f} {y:.6f}" for x, y in given) + " \n"
    (found,) = re.findall(r'd="([^"]*)"', finished(f'<path d="{path}"/>'))
    assert points(found) == [pytest.approx(point, abs=0.051) for point in given]


def test_gaps_and_closed_shapes_are_kept() -> None:
    (found,) = re.findall(r'd="([^"]*)"', finished('<path d="M 0 0 \nL 4 0 \nL 4 2 \nz\nM 10 10 \nL 11 12 \n"/>'))
    assert found.count("M") == 2
    assert found.count("z") == 1
    assert points(found) == [(0, 0), (4, 0), (4, 2), (10, 10), (11, 12)]


def test_curves_are_rounded_only() -> None:
    (found,) = re.findall(r'd="([^"]*)"', finished('<path d="M 0 0.123456 \nC 1 2 3.999999 4 5 6 \nz\n"/>'))
    assert found == "M 0 0.12 C 1 2 4 4 5 6 z"


def test_the_scale_of_glyphs_is_not_rounded() -> None:
    svg = finished('<g transform="translate(5.682188 152.207091) scale(0.075 -0.075)">\n</g>')
    assert 'transform="translate(5.68 152.21) scale(0.075 -0.075)"' in svg


def test_glyphs_get_short_names_where_they_are_made_and_used() -> None:
    svg = finished(
        '<defs>\n<path id="Inter-Regular-50f" d="M 0 0 \nL 1 1 \n" transform="scale(0.015625)"/>\n</defs>\n'
        '<use xlink:href="#Inter-Regular-50f"/>\n<use xlink:href="#Inter-Regular-50f" transform="translate(62.503125 0)"/>'
    )
    assert '<path id="g0" ' in svg
    assert '<use xlink:href="#g0"/><use xlink:href="#g0" x="62.5"/>' in svg


def test_markers_of_one_style_share_it() -> None:
    use = '<use xlink:href="#m1" x="{}" y="2" style="fill: none; stroke: #0072b2"/>'
    svg = finished(f'<g clip-path="url(#p)">\n {use.format(1)}\n {use.format(2)}\n</g>')
    assert svg.count("stroke: #0072b2") == 1
    assert '<g clip-path="url(#p)" style="fill: none; stroke: #0072b2"><use xlink:href="#m1" x="1" y="2"/>' in svg


def test_markers_of_two_styles_keep_theirs() -> None:
    svg = finished(
        '<g>\n<use xlink:href="#m" x="1" style="fill: red"/>\n<use xlink:href="#m" x="2" style="fill: blue"/>\n</g>'
    )
    assert svg.count("style=") == 2

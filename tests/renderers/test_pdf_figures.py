from __future__ import annotations

import base64
import io
import re
from typing import Any
from xml.etree import ElementTree

import pytest
from support.made_reports import make_report

from rlreport.plotters.svg import finish_svg
from rlreport.renderers.html import render_html
from rlreport.renderers.pdf import render_pdf
from rlreport.renderers.pdf_figures import path_operators, take_texts

HEAD = (
    '<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" width="40pt" height="20pt" {more}>'
)
#: A square of 64 units, which is one unit of the text, and a space, which has no path.
GLYPHS = (
    '<defs><path id="g0" d="M0 0l64 0 0 64 -64 0z" transform="scale(0.015625)"/>'
    '<path id="g1" transform="scale(0.015625)"/></defs>'
)
TEXT = (
    '<g style="fill: #102030" transform="translate(5 9) scale(0.5 -0.5)">'
    f'{GLYPHS}<use xlink:href="#g0"/><use xlink:href="#g1" x="2"/><use xlink:href="#g0" x="3.5" y="0.25"/></g>'
)


def svg_of(body: str) -> str:
    return f"{HEAD.format(more='')}{body}</svg>"


def texts_of(body: str) -> tuple[ElementTree.Element, list[bytes]]:
    tree = ElementTree.fromstring(svg_of(body))
    return tree, take_texts(tree)


def squares(run: bytes) -> list[tuple[float, float]]:
    """Where the sub-paths of a run begin, with the shifts before them added up."""
    x = y = 0.0
    found = []
    for line in run.decode().splitlines():
        *numbers, operator = line.split()
        if operator == "cm":
            assert numbers[:4] == ["1", "0", "0", "1"]
            x, y = x + float(numbers[4]), y + float(numbers[5])
        elif operator == "m":
            found.append((x + float(numbers[0]), y + float(numbers[1])))
    return found


def test_a_text_is_one_run_of_its_glyphs_where_it_placed_them() -> None:
    tree, runs = texts_of(TEXT)
    (run,) = runs
    assert squares(run) == [(0, 0), (3.5 * 64, 0.25 * 64)]
    (group,) = tree.iter("{http://www.w3.org/2000/svg}g")
    assert group.get("transform") == "translate(5 9) scale(0.00781250 -0.00781250)"  # 0.5 / 64
    assert not list(tree.iter("{http://www.w3.org/2000/svg}use"))


@pytest.mark.parametrize(
    "changed",
    [
        TEXT.replace('"#g1"', '"#other"'),
        TEXT.replace('x="2"', 'x="2" style="fill: red"'),
        TEXT.replace("fill: #102030", "fill: #102030; opacity: 0.5"),
        TEXT.replace("translate(5 9) scale", "translate(5 9) rotate(-90) scale"),
        TEXT.replace("<g style", '<g clip-path="url(#c)" style'),
        TEXT.replace("l64 0", "a64 64 0 0 0 3 3"),
    ],
)
def test_a_text_of_another_form_is_left_as_it_is(changed: str) -> None:
    assert changed != TEXT
    tree, runs = texts_of(changed)
    assert runs == []
    assert len(list(tree.iter("{http://www.w3.org/2000/svg}use"))) == 3


def test_paths_become_operators() -> None:
    assert path_operators("M1 2l3 4 -1 0zM10 10l1 1") == b"1 2 m\n4 6 l\n3 6 l\nh\n10 10 m\n11 11 l\nf"
    assert path_operators("M 0 0 L 5 0.5 C 1 2 3 4 5 6 z") == b"0 0 m\n5 0.5 l\n1 2 3 4 5 6 c\nh\nf"
    # The cubic curve of a quadratic one: control points two thirds of the way to (3, 6).
    assert path_operators("M 0 0 Q 3 6 9 0") == b"0 0 m\n2 4 5 4 9 0 c\nf"
    assert path_operators("M 0 0 H 5") is None
    assert path_operators("M 0 0 C 1 2 3") is None
    assert path_operators("") == b""


def printed(svg: str) -> Any:
    from pypdf import PdfReader

    data = render_pdf(render_html(make_report(), {"reward": svg.encode()}), b"{}")
    return PdfReader(io.BytesIO(data)).pages


def content(svg: str) -> str:
    return "\n".join(page.get_contents().get_data().decode("latin-1") for page in printed(svg))


def test_the_page_has_the_run_in_its_place_and_colour() -> None:
    text = content(svg_of(TEXT))
    assert re.search(r"1 0 0 1 224 16 cm\n0 0 m\n64 0 l\n64 64 l\n0 64 l\nh\nf", text)
    assert re.search(r"0\.0627\d* 0\.1254\d* 0\.1882\d* rg", text)  # 16, 32 and 48 of 255


def test_an_image_inside_of_a_figure_is_printed() -> None:
    from PIL import Image

    out = io.BytesIO()
    Image.new("RGB", (3, 2), "red").save(out, "png")
    uri = f"data:image/png;base64,{base64.b64encode(out.getvalue()).decode()}"
    pages = printed(svg_of(f'<image xlink:href="{uri}" width="30" height="20"/>'))
    assert {image.image.size for page in pages for image in page.images if image.image} == {(3, 2)}


def test_every_text_that_matplotlib_draws_is_taken() -> None:
    from matplotlib.figure import Figure

    from rlreport.plotters.style import house_style

    out = io.StringIO()
    with house_style():
        figure = Figure((3, 2))
        figure.text(0.1, 0.5, "Rollouters idle: 12 %")
        figure.add_axes((0.1, 0.1, 0.8, 0.3)).plot([0, 1], [2, 5])
        figure.savefig(out, format="svg")
    tree = ElementTree.fromstring(finish_svg(out.getvalue(), "A title", "A text"))
    glyphs = {e.get("id") for e in tree.iter("{http://www.w3.org/2000/svg}path") if e.get("transform") == "scale(0.015625)"}
    assert len(take_texts(tree)) >= 5
    uses = [use.get("{http://www.w3.org/1999/xlink}href", "")[1:] for use in tree.iter("{http://www.w3.org/2000/svg}use")]
    assert glyphs
    assert not glyphs.intersection(uses)

from __future__ import annotations

from markdown_it import MarkdownIt
from support.made_reports import make_report, with_file

from rlreport.renderers.markdown import render_markdown


def parsed() -> str:
    return MarkdownIt("commonmark").enable("table").render(render_markdown(make_report()))


def test_hostile_text_is_text() -> None:
    assert "<script>" not in parsed()
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in parsed()


def test_tables_keep_their_columns() -> None:
    html = parsed()
    table = html[html.index("<th>Knob</th>") :]
    first_row = table[table.index("<tbody>") : table.index("</tr>", table.index("<tbody>"))]
    assert first_row.count("<td") == 2
    assert "1|2" in first_row


def test_blocks_survive() -> None:
    html = parsed()
    assert '<img src="figures/reward.svg"' in html
    assert "<h2>Every block</h2>" in html
    assert "<h3>1. A finding</h3>" in html
    assert "<h3>Head</h3>" in html
    assert "<li>two * three</li>" in html
    assert "runs:\n  r1: {}" in html


def test_the_warning_comes_before_any_number() -> None:
    text = render_markdown(make_report())
    assert text.index("the dataset changed") < text.index("1 → 2")


def test_a_file_beside_the_page_is_linked() -> None:
    assert "see [timeline-1.json.gz](timeline-1.json.gz)" in render_markdown(with_file(make_report()))

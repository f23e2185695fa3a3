from __future__ import annotations

import io

import pytest
from support.made_reports import make_report, with_file

from rlreport.renderers.html import render_html
from rlreport.renderers.pdf import render_pdf

SVG = b'<svg xmlns="http://www.w3.org/2000/svg" width="10" height="10"><rect width="10" height="10"/></svg>'


@pytest.fixture(scope="module")
def pdf() -> bytes:
    return render_pdf(render_html(make_report(), {"reward": SVG}), b'{"schema_version": 1}')


def test_it_is_tagged_and_has_bookmarks_and_the_data(pdf: bytes) -> None:
    from pypdf import PdfReader

    reader = PdfReader(io.BytesIO(pdf))
    root = reader.trailer["/Root"]
    assert root["/MarkInfo"]["/Marked"]
    assert root["/Lang"] == "en"
    assert "/StructTreeRoot" in root
    titles = [item.title for level in reader.outline for item in (level if isinstance(level, list) else [level])]
    assert "Every block" in titles
    assert reader.attachments["report.json"] == [b'{"schema_version": 1}']


def test_the_same_page_gives_the_same_bytes(pdf: bytes) -> None:
    assert render_pdf(render_html(make_report(), {"reward": SVG}), b'{"schema_version": 1}') == pdf


def test_a_file_beside_the_page_is_named_and_not_linked() -> None:
    from pypdf import PdfReader

    reader = PdfReader(io.BytesIO(render_pdf(render_html(with_file(make_report()), {"reward": SVG}), b"{}")))
    assert sum(page.extract_text().count("timeline-1.json.gz") for page in reader.pages) == 1
    links = [a.get_object() for page in reader.pages for a in page.get("/Annots", [])]
    assert not [link for link in links if "timeline" in str(link.get("/A", ""))]

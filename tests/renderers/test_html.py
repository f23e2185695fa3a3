from __future__ import annotations

import re
from html.parser import HTMLParser

import pytest
from support.made_reports import make_report, with_file

from rlreport.renderers.html import narrative_html, render_html


class Outline(HTMLParser):
    """The tags of a page, with attributes; fails on a tag that is closed out of order."""

    VOID = frozenset({"meta", "img", "br", "hr", "link", "input", "wbr"})

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


@pytest.fixture(scope="module")
def page() -> str:
    return render_html(make_report(), {"reward": b"<svg/>"})


@pytest.fixture(scope="module")
def outline(page: str) -> Outline:
    found = Outline()
    found.feed(page)
    return found


def test_the_page_is_well_formed(outline: Outline) -> None:
    assert outline.open == []


def test_hostile_text_is_text(page: str, outline: Outline) -> None:
    assert "<script" not in page
    assert "script" not in {tag for tag, _ in outline.tags}
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page


def test_nothing_is_fetched(outline: Outline) -> None:
    loaded = [attrs[name] for tag, attrs in outline.tags for name in ("src", "href") if name in attrs and tag != "a"]
    assert loaded
    assert all(str(address).startswith("data:") for address in loaded)
    away = [attrs for tag, attrs in outline.tags if tag == "a" and not str(attrs["href"]).startswith("#")]
    assert [attrs["rel"] for attrs in away] == ["noopener noreferrer"]


def test_it_can_be_read_without_seeing_it(page: str, outline: Outline) -> None:
    assert page.startswith("<!doctype html>")
    tags = outline.tags
    assert [attrs.get("lang") for tag, attrs in tags if tag == "html"] == ["en"]
    assert all(attrs.get("alt") for tag, attrs in tags if tag == "img")
    assert all(attrs.get("scope") in ("col", "row") for tag, attrs in tags if tag == "th")
    levels = [int(tag[1]) for tag, _ in tags if re.fullmatch(r"h[1-6]", tag)]
    assert levels[0] == 1
    assert levels.count(1) == 1


def test_every_link_within_the_page_has_its_target(outline: Outline) -> None:
    ids = [attrs["id"] for _, attrs in outline.tags if attrs.get("id")]
    assert len(ids) == len(set(ids))
    targets = {attrs["href"] for tag, attrs in outline.tags if tag == "a" and "rel" not in attrs}
    assert targets <= {f"#{name}" for name in ids}


def test_the_warning_comes_before_any_number(page: str) -> None:
    assert page.index("the dataset changed") < page.index("1 → 2")


def test_a_narrative_is_untrusted() -> None:
    html = narrative_html("# Head\n\n<b>raw</b> [x](javascript:alert(1)) ![i](http://example.invalid/i.png)")
    assert "<h3>Head</h3>" in html
    assert "<b>" not in html
    assert 'href="javascript' not in html
    assert "<img" not in html


def test_a_file_beside_the_page_is_linked_on_screen_and_named_on_paper() -> None:
    page = render_html(with_file(make_report()), {"reward": b"<svg/>"})
    assert 'see <a class="file" href="timeline-1.json.gz">timeline-1.json.gz</a><span class="paper">' in page
    screen, paper = (page.split(f'<style media="{media}">')[1].split("</style>")[0] for media in ("screen", "print"))
    assert ".paper { display: none; }" in screen and "a.file { display: none; }" in paper

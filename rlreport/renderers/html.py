"""Report to one self-contained HTML page: styles and figures are inside, no request leaves it."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import TYPE_CHECKING

from rlreport import __version__
from rlreport.renderers.templates import environment, style_sheets
from rlreport.report.model import Report

if TYPE_CHECKING:
    from markupsafe import Markup


def render_html(report: Report, figures: Mapping[str, bytes]) -> str:
    """The page of a report. `figures` holds the SVG of every figure by its id; scripts and remote content cannot run in it.

    Everything that comes from a log, a configuration or a narrative is escaped.
    """
    return (
        environment()
        .get_template("report.html.j2")
        .render(
            report=report,
            figures={name: svg_data_uri(svg) for name, svg in figures.items()},
            narrative=narrative_html,
            css=style_sheets(),
            version=__version__,
        )
    )


def svg_data_uri(svg: bytes) -> str:
    """An SVG as a data URI. An image cannot run scripts or fetch anything, and carries its alternative text."""
    return f"data:image/svg+xml;base64,{base64.b64encode(svg).decode('ascii')}"


def narrative_html(markdown: str) -> Markup:
    """An author's Markdown as HTML: raw HTML in it is shown as text, images become links, headings start at level 3."""
    from markdown_it import MarkdownIt
    from markupsafe import Markup

    parser = MarkdownIt("commonmark", {"html": False}).enable("table").disable("image")
    tokens = parser.parse(markdown)
    for token in tokens:
        if token.type in ("heading_open", "heading_close"):
            token.tag = f"h{min(int(token.tag[1]) + 2, 6)}"
        for child in token.children or ():
            if child.type == "link_open":
                child.attrSet("rel", "noopener noreferrer")
    return Markup(parser.renderer.render(tokens, parser.options, {}))

"""A report made by hand that uses every kind of block, with hostile text in it."""

from __future__ import annotations

from dataclasses import replace

from rlreport.report.figures import CurveFigure, CurvePanel, CurveSeries
from rlreport.report.model import (
    Badge,
    Bullets,
    Callout,
    Code,
    Column,
    Fact,
    Figure,
    FileLink,
    FindingBlock,
    Link,
    Narrative,
    Paragraph,
    Report,
    Row,
    Section,
    Snippet,
    Strong,
    Table,
)

HOSTILE = "<script>alert(1)</script>"

FIGURE = CurveFigure(
    id="reward",
    title="Reward",
    caption=f"Reward {HOSTILE}.",
    how_to_read="Mean of a step.",
    alt=f'Reward "rises" {HOSTILE}.',
    panels=(
        CurvePanel(x_label="step", y_label="reward", series=(CurveSeries(label="run", role=1, x=(1.0, 2.0), y=(0.1, 0.2)),)),
    ),
)


def make_report(**more: object) -> Report:
    """One report with every block."""
    blocks = (
        Paragraph(("Plain ", Strong("strong"), " ", Code("a.b|c"), " ", Link("there", "table"), f" {HOSTILE}")),
        Callout("Read this", "bad", ((f"first {HOSTILE}",),)),
        Bullets((("one",), ("two * three",))),
        Table(
            "table",
            "A table",
            (Column("Knob"), Column("Value", numeric=True)),
            (Row(((Code("x|y"),), ("1|2",)), marked=True), Row(((HOSTILE,), ("3",)))),
            ("A note.",),
        ),
        Figure(FIGURE),
        FindingBlock(1, "A finding", ("body",), ("Next: do it.",), ("Tier 1.",)),
        Snippet("runs:\n  r1: {}", "A fragment"),
        Narrative(f"# Head\n\nProse with *stress* {HOSTILE} ![x](http://example.invalid/x.png)\n"),
    )
    fields: dict[str, object] = {
        "id": "r",
        "title": f"Title {HOSTILE}",
        "kind": "ab",
        "kind_label": "Tuning report",
        "question": "Is it?",
        "verdict": ("It is ", Strong("1.25×"), "."),
        "verdict_tone": "good",
        "badges": (Badge("▲ faster", "good"),),
        "warning": Callout("Before any number", "bad", (("the dataset changed",),)),
        "facts": (Fact("Throughput", "1 → 2", "n 3"),),
        "sections": (Section("all", "Every block", blocks),),
        "provenance": ("rlreport · ", Code("rlreport build")),
        "data": {"schema_version": 1, "x": float("nan")},
    }
    return Report(**{**fields, **more})  # type: ignore[arg-type]


def with_file(report: Report) -> Report:
    """The report with a line that names a file beside the page."""
    line = Section("files", "Files", (Paragraph(("see ", FileLink("timeline-1.json.gz"))),))
    return replace(report, sections=(*report.sections, line))

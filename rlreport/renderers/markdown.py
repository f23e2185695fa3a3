"""Report to Markdown, for wikis that take it: plain tables, figures as files beside it."""

from __future__ import annotations

import re
from collections.abc import Sequence

from rlreport.report.model import (
    Block,
    Bullets,
    Callout,
    Code,
    Figure,
    FileLink,
    FindingBlock,
    Narrative,
    Paragraph,
    Report,
    Row,
    Snippet,
    Strong,
    Table,
    Text,
)

_SPECIAL = re.compile(r"([\\`*_\[\]<>|#])")


def render_markdown(report: Report) -> str:
    """The report as Markdown (CommonMark and pipe tables). Figures are referred to as figures/<id>.svg."""
    parts = [f"# {_escape(report.title)}"]
    if report.question:
        parts.append(f"*{_escape(report.question)}*")
    parts.append(f"**{_escape(''.join(_plain(report.verdict)))}**")
    parts.append(" · ".join(_escape(badge.text) for badge in report.badges))
    if report.warning:
        parts.append(_callout(report.warning))
    if report.facts:
        parts.append(
            _pipe_table(
                ("", "", ""),
                (False, False, False),
                [(_escape(f.label), f"**{_escape(f.value)}**", _escape(f.note)) for f in report.facts],
            )
        )
    for section in report.sections:
        parts.append(f"## {_escape(section.title)}")
        parts.extend(_block(block) for block in section.blocks)
    parts.append("---")
    parts.append(_text(report.provenance))
    return "\n\n".join(part for part in parts if part) + "\n"


def _block(block: Block) -> str:
    match block:
        case Paragraph(text):
            return _text(text)
        case Callout():
            return _callout(block)
        case Bullets(items):
            return "\n".join(f"- {_text(item)}" for item in items)
        case Table():
            return _table(block)
        case Figure(spec):
            return f"![{_escape(spec.alt)}](figures/{spec.id}.svg)\n\n{_escape(spec.caption)} *{_escape(spec.how_to_read)}*"
        case FindingBlock(rank, title, body, action, meta):
            lines = [f"### {rank}. {_escape(title)}", _text(body)]
            lines += [f"**{_escape(''.join(_plain(action)))}**"] if action else []
            lines += [_text(meta)] if meta else []
            return "\n\n".join(lines)
        case Snippet(text, caption):
            fence = "```" if "```" not in text else "````"
            return "\n\n".join(part for part in (_escape(caption), f"{fence}\n{text}\n{fence}") if part)
        case Narrative(markdown):
            return re.sub(r"^(#{1,4}) ", r"##\1 ", markdown.strip().replace("<", "&lt;"), flags=re.MULTILINE)


def _callout(block: Callout) -> str:
    lines = [f"> **{_escape(block.title)}**", ">"]
    lines += [f"> - {_text(item)}" for item in block.items]
    return "\n".join(lines)


def _table(block: Table) -> str:
    heads = tuple(_escape(column.title) for column in block.columns)
    numeric = tuple(column.numeric for column in block.columns)
    table = _pipe_table(heads, numeric, [_cells(row) for row in block.rows])
    parts = [f"**{_escape(block.caption)}**", table]
    if block.note:
        parts.append(_text(block.note))
    return "\n\n".join(parts)


def _cells(row: Row) -> tuple[str, ...]:
    cells = tuple(_text(cell) for cell in row.cells)
    return (f"**{cells[0]}**", *cells[1:]) if row.marked and cells[0] else cells


def _pipe_table(heads: Sequence[str], numeric: Sequence[bool], rows: Sequence[Sequence[str]]) -> str:
    lines = [f"| {' | '.join(heads)} |", f"| {' | '.join('---:' if n else '---' for n in numeric)} |"]
    lines += [f"| {' | '.join(row)} |" for row in rows]
    return "\n".join(lines)


def _text(text: Text) -> str:
    parts: list[str] = []
    for part in text:
        match part:
            case str():
                parts.append(_escape(part))
            case Strong():
                parts.append(f"**{_escape(part.text)}**")
            case Code():
                fence = "``" if "`" in part.text else "`"
                parts.append(f"{fence}{part.text.replace('|', chr(92) + '|')}{fence}")
            case FileLink():
                parts.append(f"[{_escape(part.name)}]({part.name})")
            case _:
                parts.append(f"[{_escape(part.text)}](#{part.target})")
    return "".join(parts)


def _plain(text: Text) -> list[str]:
    return [part if isinstance(part, str) else part.text for part in text]


def _escape(text: str) -> str:
    return _SPECIAL.sub(r"\\\1", " ".join(text.split("\n")))

"""The report as data: what stands on the page, in order. Renderers lay it out and compute nothing.

Text is a tuple of inline parts: plain strings, `Strong` and `Code`. Nothing in it is markup, so every renderer escapes it in
its own way. Numbers in it are already formatted (`run.format`).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from rlreport.report.figures import FigureSpec


@dataclass(frozen=True, slots=True)
class Strong:
    """Emphasised text."""

    text: str


@dataclass(frozen=True, slots=True)
class Code:
    """A key, a path, a command."""

    text: str


@dataclass(frozen=True, slots=True)
class Link:
    """A reference to a section or figure of the same page by its id."""

    text: str
    target: str


@dataclass(frozen=True, slots=True)
class FileLink:
    """A reference to a file that is written beside the page; on paper its name alone."""

    name: str

    @property
    def text(self) -> str:
        """The name, as it is read."""
        return self.name


Inline = str | Strong | Code | Link | FileLink
Text = tuple[Inline, ...]
Tone = Literal["good", "bad", "warn", "plain"]


def plain(text: Text) -> str:
    """The text without emphasis."""
    return "".join(part if isinstance(part, str) else part.text for part in text)


@dataclass(frozen=True, slots=True)
class Badge:
    """A short judgement; the tone is never told by colour alone, the text says it."""

    text: str
    tone: Tone = "plain"


@dataclass(frozen=True, slots=True)
class Fact:
    """One cell of the strip under the verdict."""

    label: str
    value: str
    note: str


@dataclass(frozen=True, slots=True)
class Paragraph:
    """One paragraph."""

    text: Text


@dataclass(frozen=True, slots=True)
class Callout:
    """A boxed statement that must be read before what follows, with a list of reasons."""

    title: str
    tone: Tone
    items: tuple[Text, ...]


@dataclass(frozen=True, slots=True)
class Bullets:
    """A list."""

    items: tuple[Text, ...]


@dataclass(frozen=True, slots=True)
class Column:
    """A column's head; numbers are right-aligned. `width` is a percentage; a table whose columns all have one is fixed."""

    title: str
    numeric: bool = False
    width: int | None = None


@dataclass(frozen=True, slots=True)
class Row:
    """A table's row; `marked` rows are what changed."""

    cells: tuple[Text, ...]
    marked: bool = False


@dataclass(frozen=True, slots=True)
class Table:
    """A table with a caption; the first column names the row."""

    id: str
    caption: str
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    note: Text = ()

    @property
    def fixed(self) -> bool:
        """Whether the widths are given, so that long keys and values cannot move the columns."""
        return all(column.width is not None for column in self.columns)


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure: the specification holds caption, reading aid and alternative text."""

    spec: FigureSpec


@dataclass(frozen=True, slots=True)
class FindingBlock:
    """A ranked finding with its evidence and what to do."""

    rank: int
    title: str
    body: Text
    action: Text
    meta: Text


@dataclass(frozen=True, slots=True)
class Snippet:
    """Preformatted text: a manifest fragment, a command."""

    text: str
    caption: str = ""


@dataclass(frozen=True, slots=True)
class Narrative:
    """The author's own prose, in Markdown; renderers must treat it as untrusted."""

    markdown: str


Block = Paragraph | Callout | Bullets | Table | Figure | FindingBlock | Snippet | Narrative


def add_figure(blocks: list[Block], spec: FigureSpec | None) -> None:
    """Append a figure to a section's blocks, when there is one."""
    if spec is not None:
        blocks.append(Figure(spec))


@dataclass(frozen=True, slots=True)
class Section:
    """A section with an anchor."""

    id: str
    title: str
    blocks: tuple[Block, ...]


@dataclass(frozen=True, slots=True)
class Report:
    """One report page. `data` is what report.json holds, `files` what else is written beside it, by name."""

    id: str
    title: str
    kind: str
    kind_label: str
    question: str
    verdict: Text
    verdict_tone: Tone
    badges: tuple[Badge, ...]
    warning: Callout | None
    facts: tuple[Fact, ...]
    sections: tuple[Section, ...]
    provenance: Text
    data: dict[str, Any] = field(default_factory=dict)
    files: dict[str, bytes] = field(default_factory=dict)

    @property
    def figures(self) -> tuple[FigureSpec, ...]:
        """The figure specifications in the order of the page."""
        return tuple(block.spec for section in self.sections for block in section.blocks if isinstance(block, Figure))

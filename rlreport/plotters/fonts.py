"""Which fonts figures use, and which characters they can draw.

Only installed families are ever named to matplotlib, because it prints a line for each text whose family it does not find.
DejaVu Sans comes with matplotlib and closes every list, so there is always a font. Characters that no font of the list has
are replaced by a visible sign and can be reported; matplotlib alone would draw an empty box.
"""

from __future__ import annotations

import unicodedata
from functools import cache, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.ft2font import FT2Font

#: Text families, the first installed one wins.
TEXT_FAMILIES: tuple[str, ...] = ("Inter", "Noto Sans", "Liberation Sans", "Arial", "DejaVu Sans")

#: Families with Chinese, Japanese and Korean characters, the first installed one wins.
CJK_FAMILIES: tuple[str, ...] = (
    "Noto Sans CJK SC",
    "Noto Sans CJK TC",
    "Noto Sans CJK JP",
    "Noto Sans CJK KR",
    "Noto Sans SC",
    "Source Han Sans SC",
    "Source Han Sans CN",
    "WenQuanYi Micro Hei",
    "WenQuanYi Zen Hei",
    "Droid Sans Fallback",
    "PingFang SC",
    "Hiragino Sans GB",
    "Microsoft YaHei",
    "SimHei",
    "Arial Unicode MS",
)
_CJK_FILE_MARKS = ("cjk", "notosanssc", "sourcehansans", "wqy", "droidsansfallback", "msyh", "simhei", "pingfang")

LAST_FAMILY = "DejaVu Sans"
MISSING = "\ufffd"  # DejaVu Sans has it: a question mark in a diamond, read as "cannot be shown" everywhere


@cache
def font_families() -> tuple[str, ...]:
    """The families to use, in the order in which a character is looked up: text, CJK if there is one, DejaVu Sans.

    Matplotlib keeps its list of fonts in a cache file, which does not notice fonts installed later; font files that look
    like CJK fonts and are not in the list are added first, so that installing one helps at once.
    """
    from matplotlib import font_manager

    installed = {entry.name for entry in font_manager.fontManager.ttflist}
    if not installed.intersection(CJK_FAMILIES):
        _add_new_cjk_fonts()
        installed = {entry.name for entry in font_manager.fontManager.ttflist}
    chosen = [next((name for name in names if name in installed), None) for names in (TEXT_FAMILIES, CJK_FAMILIES)]
    return tuple(dict.fromkeys([name for name in chosen if name] + [LAST_FAMILY]))


def missing_characters(text: str) -> tuple[str, ...]:
    """The characters of the text that no font of `font_families` has, each once, in order."""
    lost = (c for cluster in _clusters(clean(text)) if not _can_draw(cluster) for c in cluster if not _can_draw(c))
    return tuple(dict.fromkeys(lost))


def clean(text: str) -> str:
    """The text on one line: white space folded, and what has no form (control and format characters) removed."""
    folded = " ".join(text.split())
    return "".join(c for c in folded if unicodedata.category(c) not in {"Cc", "Cf", "Cs", "Co", "Cn"})


def drawable(text: str) -> str:
    """The text with every run of characters that cannot be drawn replaced by one visible sign.

    A letter and its combining marks must come from one font; where none has them all, the marks are left out.
    """
    out: list[str] = []
    for cluster in _clusters(clean(text)):
        shown = next((part for part in (cluster, cluster[0]) if _can_draw(part)), MISSING)
        if shown != MISSING or not out or out[-1] != MISSING:
            out.append(shown)
    return "".join(out)


def _clusters(text: str) -> list[str]:
    """Letters with the combining marks that follow them."""
    clusters: list[str] = []
    for character in unicodedata.normalize("NFC", text):
        if clusters and unicodedata.category(character) in {"Mn", "Mc", "Me"}:
            clusters[-1] += character
        else:
            clusters.append(character)
    return clusters


@lru_cache(maxsize=16_384)
def _can_draw(cluster: str) -> bool:
    return any(all(font.get_char_index(ord(character)) for character in cluster) for font in _fonts())


@cache
def _fonts() -> tuple[FT2Font, ...]:
    from matplotlib import font_manager

    return tuple(
        font_manager.get_font(font_manager.findfont(font_manager.FontProperties(family=family)))
        for family in font_families()
    )


def _add_new_cjk_fonts() -> None:
    from matplotlib import font_manager

    known = {entry.fname for entry in font_manager.fontManager.ttflist}
    for path in sorted(font_manager.findSystemFonts()):
        if path not in known and any(mark in Path(path).name.lower().replace("-", "") for mark in _CJK_FILE_MARKS):
            font_manager.fontManager.addfont(path)

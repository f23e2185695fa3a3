from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from matplotlib import font_manager

from rlreport.plotters import fonts


@pytest.fixture(autouse=True)
def _fresh_caches() -> Iterator[None]:
    caches = (fonts.font_families, fonts._fonts, fonts._can_draw)
    for cached in caches:
        cached.cache_clear()
    yield
    for cached in caches:
        cached.cache_clear()


def test_only_installed_families_are_named() -> None:
    installed = {entry.name for entry in font_manager.fontManager.ttflist}
    assert set(fonts.font_families()) <= installed
    assert fonts.font_families()[-1] == "DejaVu Sans"


def test_the_last_family_is_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fonts, "TEXT_FAMILIES", ("No Such Family",))
    monkeypatch.setattr(fonts, "CJK_FAMILIES", ("No Such Family CJK",))
    assert fonts.font_families() == ("DejaVu Sans",)


def test_the_replacement_sign_can_always_be_drawn() -> None:
    only = font_manager.get_font(font_manager.findfont("DejaVu Sans"))
    assert only.get_char_index(ord(fonts.MISSING)) > 0


def test_missing_characters_are_found_once_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fonts, "CJK_FAMILIES", ())
    monkeypatch.setattr(fonts, "_CJK_FILE_MARKS", ())
    assert fonts.missing_characters("48 节点 a 节") == ("节", "点")
    assert fonts.missing_characters("48 nodes ± × ≥ ▲ ▼ ≈ – … →") == ()


def test_each_run_of_missing_characters_becomes_one_sign(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fonts, "CJK_FAMILIES", ())
    monkeypatch.setattr(fonts, "_CJK_FILE_MARKS", ())
    assert fonts.drawable("基线 48 节点") == "\ufffd 48 \ufffd"


def test_a_font_installed_after_matplotlibs_cache_is_used(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    # A copy of an installed font under a name that looks like a CJK font stands for one that was just installed.
    new = tmp_path / "NotoSansCJK-Regular.ttf"
    new.write_bytes(Path(font_manager.findfont("DejaVu Sans Mono")).read_bytes())
    manager = font_manager.fontManager
    monkeypatch.setattr(manager, "ttflist", list(manager.ttflist))
    monkeypatch.setattr(font_manager, "findSystemFonts", lambda: [str(new)])
    monkeypatch.setattr(fonts, "CJK_FAMILIES", ("Not Installed",))
    fonts.font_families()
    assert str(new) in {entry.fname for entry in manager.ttflist}


def test_clean_folds_white_space_and_drops_what_has_no_form() -> None:
    assert fonts.clean(" a\t\nb  c\x00\x1b[0m\u200d\ud800 ") == "a b c[0m"


def test_a_letter_and_its_marks_come_from_one_font(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fonts, "_can_draw", lambda cluster: cluster in {"a", "x", "x\u0303", "\u0327"})
    assert fonts.drawable("a\u0327") == "a"  # the mark exists, but in no font that has the letter
    assert fonts.drawable("x\u0303") == "x\u0303"
    assert fonts.drawable("z\u0303") == fonts.MISSING
    assert fonts.missing_characters("a\u0327x\u0303z\u0303") == ("z", "\u0303")

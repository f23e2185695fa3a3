from __future__ import annotations

import pytest

from rlreport.plotters import style
from rlreport.plotters.text import ELLIPSIS, by_items, line_height_in, role_name, run_label, width_in, wrap


@pytest.fixture(autouse=True)
def _settings() -> object:
    with style.house_style():
        yield


def test_widths_scale_with_the_size() -> None:
    assert width_in("tokens/s", 16.0) == pytest.approx(2 * width_in("tokens/s", 8.0))
    assert width_in("", 8.0) == 0.0
    assert width_in("WW", 8.0) > width_in("ii", 8.0)


def test_bold_is_measured_as_bold() -> None:
    assert width_in("tokens/s per device", 8.0, "bold") > width_in("tokens/s per device", 8.0)


def test_lines_of_text_do_not_touch() -> None:
    assert line_height_in(72.0) == pytest.approx(1.28)


def test_a_short_text_stays_on_one_line() -> None:
    assert wrap("48 Rollout nodes", 3.0, 8.0) == ("48 Rollout nodes",)


def test_a_text_breaks_at_white_space_and_after_the_signs_of_names() -> None:
    narrow = width_in("qwen3-30b-", 8.0) + 0.01
    assert wrap("qwen3-30b-a3b", narrow, 8.0) == ("qwen3-30b-", "a3b")
    assert wrap("48 nodes", width_in("nodes", 8.0) + 0.01, 8.0) == ("48", "nodes")


@pytest.mark.parametrize("text", ["x" * 300, "a b " * 100, "name-" * 60 + "end", "基" * 200])
@pytest.mark.parametrize("most_lines", [1, 2, 3])
def test_wrapped_lines_keep_to_their_width_and_number(text: str, most_lines: int) -> None:
    lines = wrap(text, 1.2, 8.0, most_lines=most_lines)
    assert 1 <= len(lines) <= most_lines
    assert all(width_in(line, 8.0) <= 1.2 for line in lines)


def test_a_long_name_is_cut_in_its_middle() -> None:
    name = "experiment-with-a-long-common-beginning-" + "x" * 60 + "-seed-17"
    cut = "".join(wrap(name, 1.5, 8.0))
    assert cut.startswith("experiment-")
    assert cut.endswith("-17")
    assert cut.count(ELLIPSIS) == 1


def test_nothing_is_one_empty_line() -> None:
    assert wrap(" \n", 1.0, 8.0) == ("",)


def test_a_label_that_cannot_be_drawn_is_led_by_its_role(monkeypatch: pytest.MonkeyPatch) -> None:
    assert run_label("48 nodes", 0) == "48 nodes"
    assert run_label("  ", 2) == "variant 2"
    private = "\U000f0000"  # no form at all: removed, not replaced
    assert run_label(f"a{private}", 0) == f"a{private}"
    assert run_label("\u13a0\ufffd", 1).startswith("variant 1: ")


def test_roles_are_named() -> None:
    assert [role_name(role) for role in (0, 1, 2)] == ["baseline", "variant 1", "variant 2"]


def test_a_number_is_never_broken() -> None:
    for text in ("weight sync 3.5 %", "waiting 1,234.5", "version 2.7.1, late"):
        narrow = max(width_in(part, 8.0) for part in ("3.5 %", "1,234.5", "2.7.1,", "weight", "waiting", "version")) + 0.01
        pieces = wrap(text, narrow, 8.0, most_lines=9)
        assert len(pieces) > 1
        assert any(piece in ("3.5 %", "sync 3.5 %", "1,234.5", "2.7.1,") for piece in pieces), pieces


def test_items_stay_whole() -> None:
    text = "Trainer idle 4.0 %: weight sync 3.6 %, waiting for samples 0.5 %. Rollouters idle 1.0 %."
    lines = by_items(text, width_in("weight sync 3.6 %, waiting for samples 0.5 %.", 8.0) + 0.01, 8.0, most_lines=4)
    assert lines[0] == "Trainer idle 4.0 %: weight sync 3.6 %," and " ".join(lines) == text
    assert all(line[-1] in ",.:" for line in lines)
    assert by_items("", 1.0, 8.0) == ("",)
    long = by_items("one item that is far too long for a line of this width", 1.0, 8.0)
    assert len(long) == 2 and all(width_in(line, 8.0) <= 1.0 for line in long)

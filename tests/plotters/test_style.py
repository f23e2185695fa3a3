from __future__ import annotations

import itertools
import logging
import typing

import matplotlib
import pytest
from support.colours import as_deuteranope, difference, wcag_contrast

from rlreport.comparators import results
from rlreport.plotters import style
from rlreport.run.metrics import PHASES, phase_key

DARK_PAGE = "#14171a"


def test_contrast_against_known_pairs() -> None:
    assert style.contrast("#000000", "#ffffff") == pytest.approx(21.0)
    assert style.contrast("#ffffff", "#ffffff") == pytest.approx(1.0)
    # 4.54 is the published contrast of the lightest grey that passes for text on white
    assert style.contrast("#767676", "#ffffff") == pytest.approx(4.54, abs=0.005)


@pytest.mark.parametrize("look", style.RUN_STYLES)
def test_lines_of_runs_are_seen_on_white(look: style.RunStyle) -> None:
    assert wcag_contrast(look.colour, "#ffffff") >= 3


def test_runs_differ_without_colour_and_by_colour() -> None:
    for one, other in itertools.combinations(style.RUN_STYLES, 2):
        assert one.dashes != other.dashes
        assert one.marker != other.marker
        assert difference(one.colour, other.colour) > 25
        assert difference(as_deuteranope(one.colour), as_deuteranope(other.colour)) > 10


def test_the_baseline_is_the_only_solid_line() -> None:
    assert [role for role in range(12) if not style.run_style(role).dashes] == [0]


def test_runs_beyond_the_table_still_differ() -> None:
    looks = [style.run_style(role) for role in range(16)]
    assert len({(look.colour, look.dashes) for look in looks}) == 16


def test_texts_are_readable() -> None:
    assert wcag_contrast(style.INK, "#ffffff") >= 7
    assert wcag_contrast(style.MUTED, "#ffffff") >= 4.5
    assert wcag_contrast(style.MUTED, style.WASH) >= 4.5


def test_axes_are_seen_on_white_and_on_a_dark_page() -> None:
    assert wcag_contrast(style.AXIS, "#ffffff") >= 3
    assert wcag_contrast(style.AXIS, DARK_PAGE) >= 3


def test_every_phase_has_a_look_of_its_own() -> None:
    assert set(style.PHASE_STYLES) == {phase_key(phase) for phase in PHASES}
    fills = [look.colour for look in style.PHASE_STYLES.values()] + [style.phase_style("x", i).colour for i in range(5)]
    for one, other in itertools.combinations(fills, 2):
        assert difference(one, other) > 10, (one, other)


def test_only_waiting_is_idle() -> None:
    assert [key for key, look in style.PHASE_STYLES.items() if look.idle] == ["wait"]


@pytest.mark.parametrize("fill", [look.colour for look in style.PHASE_STYLES.values()])
def test_text_on_a_phase_is_readable(fill: str) -> None:
    assert wcag_contrast(style.text_on(fill), fill) >= 4.5


def test_pale_fills_are_those_that_vanish_on_white() -> None:
    assert style.is_pale("#d3d8de")
    assert not style.is_pale("#7fb2d9")


def test_every_cause_of_an_exclusion_has_a_marker() -> None:
    documented = typing.cast(str, results.Exclusion.__doc__).split("Causes:")[1]
    causes = documented.split('"')[1::2]
    assert set(causes) == set(style.CAUSE_MARKERS)
    markers = [*style.CAUSE_MARKERS.values(), style.UNKNOWN_CAUSE_MARKER]
    assert len(set(markers)) == len(markers)


def test_the_settings_hold_within_the_block_only() -> None:
    with matplotlib.rc_context({"lines.linewidth": 9.0, "svg.hashsalt": "mine"}):
        with style.house_style():
            assert matplotlib.rcParams["lines.linewidth"] == matplotlib.rcParamsDefault["lines.linewidth"]
            assert matplotlib.rcParams["svg.hashsalt"] == "rlreport"
        assert matplotlib.rcParams["lines.linewidth"] == 9.0
        assert matplotlib.rcParams["svg.hashsalt"] == "mine"


def test_matplotlib_does_not_log_about_fonts_within_the_block(caplog: pytest.LogCaptureFixture) -> None:
    logger = logging.getLogger("matplotlib.font_manager")
    with style.house_style():
        logger.warning("findfont: not to be seen")
    logger.warning("findfont: seen again")
    assert [record.message for record in caplog.records] == ["findfont: seen again"]

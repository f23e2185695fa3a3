from __future__ import annotations

import pytest

from rlreport.dialects.verl_versions import CodeDate, bound_by_evidence, date_of_version


@pytest.mark.parametrize(
    ("version", "earliest", "latest"),
    [
        ("2026-08-22", "2026-08-22", "2026-08-22"),
        ("v0.7.0", "2026-01-05", "2026-01-05"),
        ("0.7", "2026-01-05", "2026-03-16"),
        ("0.6.1", "2025-11-14", "2025-11-14"),
        ("0.8.0.dev0", "2026-03-16", "2026-06-01"),
        ("afd759789", "2025-08-19", "2025-08-19"),
        ("32bb33d7c0ffee", "2026-07-20", "2026-07-20"),
        ("1dda039", "2026-08-22", "2026-08-22"),
    ],
)
def test_a_version_is_read_as_a_period(version: str, earliest: str, latest: str) -> None:
    date, notices = date_of_version(version)
    assert (date.earliest, date.latest, date.declared) == (earliest, latest, True)
    assert notices == ()


@pytest.mark.parametrize("version", ["deadbeef1", "nightly", "0.5.7"])
def test_an_unknown_version_is_open_and_told(version: str) -> None:
    date, notices = date_of_version(version)
    assert (date.earliest, date.latest) == (None, None)
    assert [notice.code for notice in notices] == ["RR306"]
    assert version in notices[0].message


def test_a_version_newer_than_the_table_is_at_least_as_new_as_its_last_release() -> None:
    date, notices = date_of_version("1.4")
    assert (date.earliest, date.latest) == ("2026-09-20", None)
    assert len(notices) == 1


def test_no_version_says_nothing() -> None:
    assert date_of_version(None) == (CodeDate(), ())


def test_periods_are_half_open() -> None:
    day = CodeDate("2025-08-19", "2025-08-19")
    assert day.overlaps("2025-08-19", None)
    assert not day.overlaps(None, "2025-08-19")
    assert CodeDate(None, "2025-08-18").overlaps(None, "2025-08-19")
    assert not CodeDate(None, "2025-08-18").overlaps("2025-08-19", None)
    assert CodeDate().overlaps("2030-01-01", None)


def test_the_log_bounds_from_above_and_new_keys_from_below() -> None:
    date, notices = bound_by_evidence(
        CodeDate(), keys=["timing_s/step"], config=[], hints=["actor:TaskRunnerV1"], started_at="2026-07-29T17:10:03"
    )
    assert (date.earliest, date.latest, date.declared) == ("2026-06-12", "2026-07-29", False)
    assert [notice.code for notice in notices] == ["RR305"]
    assert "at most" in notices[0].message


def test_the_newest_mark_counts() -> None:
    date, _ = bound_by_evidence(
        CodeDate(), keys=["separate_async/switch/idle"], config=["trainer.v1.trainer_mode"], hints=[], started_at=None
    )
    assert (date.earliest, date.latest) == ("2026-08-21", None)


def test_a_log_older_than_its_keys_is_not_believed() -> None:
    date, notices = bound_by_evidence(
        CodeDate(), keys=[], config=["trainer.v1.trainer_mode"], hints=[], started_at="2020-01-01"
    )
    assert (date.earliest, date.latest) == ("2026-06-12", None)
    assert notices == ()


def test_a_declared_version_is_left_alone() -> None:
    declared, _ = date_of_version("0.6.0")
    assert bound_by_evidence(declared, keys=[], config=[], hints=[], started_at="2026-01-01") == (declared, ())

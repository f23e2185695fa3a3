"""When verl code was written: releases, commits that changed a meaning, and marks in the data that bound the date.

A run's code is known as an interval of dates. A declared date or commit is a point, a release is one or a short range, the
date of the log is only an upper bound (code is older than the run), and a key that a commit introduced is a lower bound.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from rlreport.run.diagnostics import Notice
from rlreport.run.knobs import matches


@dataclass(frozen=True, slots=True)
class Release:
    """A release of verl and the day its wheel was built."""

    version: str
    date: str


#: Releases with the newest file date within their wheel.
RELEASES: tuple[Release, ...] = (
    Release("0.3.0", "2025-04-02"),
    Release("0.4.0", "2025-06-08"),
    Release("0.4.1", "2025-06-27"),
    Release("0.5.0", "2025-07-23"),
    Release("0.6.0", "2025-10-16"),
    Release("0.6.1", "2025-11-14"),
    Release("0.7.0", "2026-01-05"),
    Release("0.7.1", "2026-03-16"),
    Release("0.8.0", "2026-06-01"),
    Release("0.9.0", "2026-08-14"),
    Release("0.9.1", "2026-09-20"),
)

#: Commits whose date matters to a row of the mode table, or that other tables cite.
COMMITS: Mapping[str, str] = {
    "18c6ffcf0": "2025-07-04",
    "afd759789": "2025-08-19",
    "df369302b": "2026-01-08",
    "9c75bfe01": "2026-02-26",
    "32bb33d7c": "2026-07-20",
    "1dda039b9": "2026-08-22",
}


@dataclass(frozen=True, slots=True)
class Mark:
    """Something that only code from `since` on writes: a raw key, a configuration key (patterns) or a hint of the log."""

    kind: str
    pattern: str
    since: str
    source: str


MARKS: tuple[Mark, ...] = (
    Mark("hint", "actor:TaskRunnerV1", "2026-06-12", "verl/trainer/main_ppo.py"),
    Mark("config", "trainer.v1.**", "2026-06-12", "verl/trainer/config/ppo_trainer.yaml"),
    Mark("config", "trainer.v1.separate_async.hybrid_rollout.**", "2026-08-21", "verl PR 7373"),
    Mark("key", "separate_async/**", "2026-08-21", "verl PR 7373"),
    Mark("key", "training/off_policy/**", "2026-06-12", "verl/trainer/ppo/v1/trainer_base.py"),
    Mark("config", "actor_rollout_ref.rollout.checkpoint_engine.**", "2026-01-05", "absent from release 0.6.1"),
)


@dataclass(frozen=True, slots=True)
class CodeDate:
    """The interval in which the code of a run was written, both ends included; None where an end is open.

    `declared` says that a person gave the version; `text` describes the interval for a reader.
    """

    earliest: str | None = None
    latest: str | None = None
    declared: bool = False
    text: str = "the version of verl is not known"

    def overlaps(self, since: str | None, until: str | None) -> bool:
        """Whether code of this interval may be of the half-open period [since, until)."""
        begins_in_time = since is None or self.latest is None or since <= self.latest
        ends_late_enough = until is None or self.earliest is None or self.earliest < until
        return begins_in_time and ends_late_enough


def date_of_version(version: str | None) -> tuple[CodeDate, tuple[Notice, ...]]:
    """Read a declared framework version: a date (2026-08-22), a release (0.7, v0.7.0, 0.8.0.dev) or a commit.

    A version that the tables do not know gives an open interval and a notice.
    """
    if version is None:
        return CodeDate(), ()
    text = str(version).strip().lower()
    if re.fullmatch(r"\d{4}-\d{2}-\d{2}.*", text):
        day = text[:10]
        return CodeDate(day, day, True, f"verl of {day}"), ()
    if re.fullmatch(r"v?\d+(\.\d+)*((\.|-|\+)?(dev|rc|post|a|b).*)?", text) and "." in text:
        return _date_of_release(text.removeprefix("v"), version)
    for commit, day in COMMITS.items():
        if len(text) >= 7 and (text.startswith(commit) or commit.startswith(text)):
            return CodeDate(day, day, True, f"verl at commit {commit} of {day}"), ()
    message = f"framework version '{version}' is in no table of verl versions; give a date such as 2026-08-22 to decide by"
    return CodeDate(declared=True, text=f"verl version {version}, whose date is not known"), (Notice("RR306", message),)


def _date_of_release(text: str, version: str) -> tuple[CodeDate, tuple[Notice, ...]]:
    number = re.match(r"\d+(\.\d+)*", text)
    wanted = _numbers(number.group() if number else text)
    ordered = sorted(RELEASES, key=lambda release: _numbers(release.version))
    if re.search(r"(dev|rc|\da\d|\db\d)", text):
        older = [release for release in ordered if _numbers(release.version) < wanted]
        same = [release for release in ordered if _numbers(release.version)[: len(wanted)] == wanted]
        earliest = older[-1].date if older else None
        latest = same[0].date if same else None
        return CodeDate(earliest, latest, True, f"verl before release {'.'.join(map(str, wanted))}"), ()
    same = [release for release in ordered if _numbers(release.version)[: len(wanted)] == wanted]
    if same:
        named = "verl " + " to ".join(dict.fromkeys((same[0].version, same[-1].version)))
        return CodeDate(same[0].date, same[-1].date, True, named), ()
    if wanted > _numbers(ordered[-1].version):
        message = f"verl {version} is newer than every release in the table; its keys are read as those of the newest"
        return CodeDate(ordered[-1].date, None, True, f"verl {version}"), (Notice("RR306", message),)
    message = f"verl release {version} is in no table of verl versions; give a date such as 2026-08-22 to decide by"
    return CodeDate(declared=True, text=f"verl {version}, whose date is not known"), (Notice("RR306", message),)


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))


def bound_by_evidence(
    date: CodeDate, *, keys: Iterable[str], config: Iterable[str], hints: Iterable[str], started_at: str | None
) -> tuple[CodeDate, tuple[Notice, ...]]:
    """Narrow an interval that nobody declared by what the run itself shows: the date of its log, and keys that are newer.

    A declared version is left alone. A bound from the log's date is told in a notice.
    """
    if date.declared and (date.earliest or date.latest):
        return date, ()
    seen = {"key": tuple(keys), "config": tuple(config), "hint": tuple(hints)}
    since = [mark.since for mark in MARKS if any(matches(mark.pattern, name) for name in seen[mark.kind])]
    earliest = max(since, default=None)
    latest = started_at[:10] if started_at and re.match(r"\d{4}-\d{2}-\d{2}", started_at) else None
    if latest is not None and earliest is not None and latest < earliest:
        latest = None
    if earliest is None and latest is None:
        return date, ()
    parts = [f"not older than {earliest}"] if earliest else []
    parts += [f"at most of {latest}, the log's date"] if latest else []
    bounded = replace(date, earliest=earliest, latest=latest, text="verl " + " and ".join(parts))
    notices: tuple[Notice, ...] = ()
    if latest is not None:
        message = f"no framework version is declared; the log begins on {latest}, so its code is at most of that date"
        notices = (Notice("RR305", message),)
    return bounded, notices

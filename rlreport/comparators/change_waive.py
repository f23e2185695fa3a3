"""Which differences were declared, which are waived, and whether a waiver still holds. There is no clock: a day is given."""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Sequence
from difflib import get_close_matches

from rlreport.comparators.change_entries import Comparison, Entry, names_key
from rlreport.comparators.change_results import WaiverState, WaiverUse
from rlreport.run.diagnostics import Notice
from rlreport.run.knobs import KNOB_CLASSES
from rlreport.run.rules import Waiver


def judging_day(as_of: datetime.date | None, started: Iterable[str | None]) -> datetime.date | None:
    """The day on which waivers are judged: the manifest's, else the latest day on which a run is known to have started.

    `started` are ISO dates or times; what is none is passed over.
    """
    if as_of is not None:
        return as_of
    days = []
    for text in started:
        try:
            days.append(datetime.date.fromisoformat((text or "")[:10]))
        except ValueError:
            continue
    return max(days, default=None)


def mark_declared(comparison: Comparison, declared: Sequence[str]) -> list[Notice]:
    """Mark what was declared to change; tell the names that no run has."""
    for entry in comparison.entries.values():
        entry.declared = entry.knob.knob_class in declared or declared_by_name(entry, declared)
    keys = all_keys(comparison)
    return [
        Notice("RR402", f"'{name}' is declared to change, but neither run has such a knob{near_name(name, keys)}")
        for name in declared
        if name not in KNOB_CLASSES and not any(names_key(name, key) for key in keys)
    ]


def declared_by_name(entry: Entry, declared: Sequence[str]) -> bool:
    """Whether an entry was declared by its key, not by its class."""
    return any(name not in KNOB_CLASSES and names_key(name, entry.key) for name in declared)


def mark_waived(
    comparison: Comparison, waivers: Sequence[Waiver], as_of: datetime.date | None
) -> tuple[tuple[WaiverUse, ...], list[Notice]]:
    """Mark what waivers cover on the day `as_of`; gives how each waiver stands, and what a reader must know of it."""
    uses: list[WaiverUse] = []
    notices: list[Notice] = []
    for waiver in waivers:
        keys = tuple(key for key in sorted(comparison.entries) if names_key(waiver.knob, key))
        state = _state(waiver, keys, as_of)
        uses.append(WaiverUse(waiver.knob, waiver.reason, state, waiver.expires, keys))
        if state in ("holds", "not judged"):
            for key in keys:
                comparison.entries[key].waived = waiver.reason
        if state == "meets no difference":
            notices.append(Notice("RR404", f"the waiver of '{waiver.knob}' meets no difference"))
        elif state == "expired":
            message = f"the waiver of '{waiver.knob}' expired on {waiver.expires} and no longer holds (judged as of {as_of})"
            notices.append(Notice("RR418", message))
        elif state == "not judged":
            message = (
                f"the waiver of '{waiver.knob}' expires on {waiver.expires}, which is not judged: no source tells the day "
                "of the runs; give as_of in the manifest"
            )
            notices.append(Notice("RR418", message))
    return tuple(uses), notices


def _state(waiver: Waiver, keys: Sequence[str], as_of: datetime.date | None) -> WaiverState:
    if not keys:
        return "meets no difference"
    if waiver.expires is None:
        return "holds"
    if as_of is None:
        return "not judged"
    return "expired" if as_of > waiver.expires else "holds"


def all_keys(comparison: Comparison) -> list[str]:
    """Every key of either run, and what stands beside the configuration."""
    return sorted({*comparison.baseline.config, *comparison.variant.config, *comparison.entries})


def near_name(name: str, keys: Sequence[str]) -> str:
    """What a name was probably meant to be, as the end of a sentence; empty when nothing is near."""
    ends = {".".join(key.split(".")[-name.count(".") - 1 :]): key for key in keys}
    near = get_close_matches(name, [*KNOB_CLASSES, *ends], n=1)
    return f"; did you mean '{near[0]}'?" if near else ""

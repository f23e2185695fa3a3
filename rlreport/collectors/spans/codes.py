"""The codes of the span collectors with their one-line meanings; they continue `rlreport.collectors.codes`."""

from __future__ import annotations

SPAN_CODES: dict[str, str] = {
    # Errors: the source is of a known format, and there is nothing in it that can be used.
    "RR253": "the trace holds no span",
    "RR254": "the trace cannot be read in its format",
    "RR255": "the profile does not show what the device did",
    "RR256": "the source holds no sample of a quantity over time",
    # Notices: what was damaged, left out or repaired.
    "RR260": "the trace ends early",
    "RR261": "events cannot be read and are left out",
    "RR262": "spans with impossible times are left out",
    "RR263": "durations that reach into the next span are clipped",
    "RR264": "spans have no end or no beginning and are left out",
    "RR265": "neighbouring spans are joined to bound memory",
    "RR266": "spans that belong to no device are left out",
    "RR267": "the interval of a profile is doubtful",
    "RR268": "files of a profile are left out",
    "RR269": "samples of quantities are left out",
    "RR270": "clocks are aligned on shared markers",
    "RR271": "clocks cannot be aligned",
}

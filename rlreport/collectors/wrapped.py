"""Metric lines that were split over several physical lines: by Ray, in the middle of a print, or by a terminal's width.

A line is joined with what follows only when the text shows that it goes on: it ends within a key, or the next text begins
with the rest of a number and more metrics, or with the separator. When that is not certain, the last value is given up.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Literal

from rlreport.collectors.metric_line import SEPARATOR, VALUE, is_item, is_key

Verdict = Literal["yes", "no", "maybe"]

_LEADING_SEPARATOR = re.compile(r" ?- (?=[A-Za-z_])")
_NUMBER_REST = re.compile(r"[0-9eE.+\-]+\)?")
#: The end of a key and its value, as a metric has it: without spaces or capitals.
_PLAIN_REST = re.compile(rf"[a-z0-9_/@.()\-]*:?(?:{VALUE.pattern})")


def goes_on(body: str, complete: bool, following: str, known: Mapping[str, str]) -> Verdict:
    """Whether `following` continues the metric line `body`.

    `complete` says that the body's last item is a whole `key:value`; `known` are the keys seen in whole lines of the source.
    "maybe" means that the last number of the body may have been cut.
    """
    tail = body.rpartition(SEPARATOR)[2]
    first, separator, others = following.partition(SEPARATOR)
    second = others.partition(SEPARATOR)[0]
    more = bool(separator) and (is_item(second) or (is_key(second) and "/" in second))
    if leading := _LEADING_SEPARATOR.match(following):
        ends_well = complete or is_item(tail.rstrip())
        return "yes" if ends_well and is_item(following[leading.end() :].partition(SEPARATOR)[0]) else "no"
    if complete and not tail.rstrip().endswith("-"):
        number = tail.rpartition(":")[2]
        if not _NUMBER_REST.fullmatch(first) or not VALUE.fullmatch(number + first) or number.endswith(")"):
            return "no"
        return "yes" if more else "maybe"
    cut_in_separator = is_item(tail.rstrip(" -"))
    item = first.lstrip() if cut_in_separator else tail + first
    key = item.rpartition(":")[0]
    if not is_item(item):
        return "no"
    return "yes" if more or key in known or ("/" in key and _PLAIN_REST.fullmatch(first)) else "no"


def join(body: str, following: str) -> str:
    """The metric line with its continuation; a space of the separator that the wrapping took is put back."""
    cut_separator = is_item(body.rpartition(SEPARATOR)[2].rstrip(" -"))
    if (
        cut_separator
        and not body.endswith(" ")
        and not following.startswith(" ")
        and (body.endswith(" -") or following.startswith("- "))
    ):
        return f"{body} {following}"
    return body + following
